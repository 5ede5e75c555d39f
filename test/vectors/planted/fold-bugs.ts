/** Mistakes in the Swift fold, and in the JSON that it reads and writes. */
import type { PlantedBug } from './planted-bug.js';

const inFolds = (name: string, does: string, file: string, find: string, replace: string): PlantedBug => ({
  name,
  at: ['folds'],
  does,
  patches: [{ file, find, replace }],
});

const [FOLD_FILE, OPERATION, DOCUMENTS, CONTENT, UPDATE] = ['Fold', 'Operation', 'Documents', 'Content', 'Update'].map(
  (name) => `Updates/${name}.swift`,
) as [string, string, string, string, string];
const [RAW, READER, WRITER] = ['Raw', 'JSONReader', 'JSONWriter'].map((name) => `JSON/${name}.swift`) as [
  string,
  string,
  string,
];

export const FOLD: readonly PlantedBug[] = [
  inFolds('fold-adds-infinity', 'stores a sum that is not finite', FOLD_FILE, 'sum.isFinite ? sum : nil', 'sum'),
  inFolds(
    'fold-appends-by-index',
    'takes the last item for an index behind it',
    FOLD_FILE,
    'arrayIndex(name), items.indices',
    'arrayIndex(name).map({ planted ? Swift.min($0, items.count - 1) : $0 }), items.indices',
  ),
  inFolds(
    'fold-removes-make',
    'makes an empty array where there is none',
    FOLD_FILE,
    'if value == nil { return false }\n            let removed',
    'if !planted, value == nil { return false }\n            let removed',
  ),
  inFolds(
    'fold-init-replaces',
    'stores the document of an init over another one',
    FOLD_FILE,
    'if value != nil { return false }',
    'if !planted, value != nil { return false }',
  ),
  inFolds(
    'fold-without-limit',
    'lets documents grow beyond the limit',
    FOLD_FILE,
    'now <= max(Self.maxBytes, was)',
    'true',
  ),
  inFolds(
    'fold-limit-for-all',
    'lets no large document shrink',
    FOLD_FILE,
    'let was = size ?? ',
    'let was = planted ? 0 : size ?? ',
  ),
  inFolds(
    'fold-keeps-bytes',
    'keeps bytes that were replaced',
    FOLD_FILE,
    'isOpaque = false\n        if',
    'if !planted { isOpaque = false }\n        if',
  ),
  inFolds(
    'fold-origin-of-last',
    'takes the last update for the origin',
    FOLD_FILE,
    'wasAbsent || operation.isWhole',
    'true',
  ),
  inFolds(
    'fold-union-adds-twice',
    'adds an item of a union as often as it is given',
    FOLD_FILE,
    'present.insert(ExactString($0.canonicalText)).inserted',
    '(planted ? !present.contains(ExactString($0.canonicalText)) : present.insert(ExactString($0.canonicalText)).inserted)',
  ),
  inFolds(
    'fold-members-in-order',
    'takes objects for different that have their members in another order',
    DOCUMENTS,
    '$0.all.sorted { keyPrecedes($0.name, $1.name) }',
    '$0.all',
  ),
  inFolds(
    'fold-order-of-arrival',
    'writes members in the order of their arrival alone',
    DOCUMENTS,
    'if indices.isEmpty { return all }',
    'if planted || indices.isEmpty { return all }',
  ),
  inFolds(
    'fold-index-too-large',
    'takes 4294967295 for an index',
    DOCUMENTS,
    'index < UInt32.max',
    'index <= UInt32.max',
  ),
  inFolds('fold-leading-zero', 'takes 01 for an index', DOCUMENTS, 'digits.count == 1 || digits.first != 0x30', 'true'),
  inFolds(
    'fold-keeps-both',
    'keeps both members of one name',
    DOCUMENTS,
    'if let at = places[ExactString(member.name)] {',
    'if !planted, let at = places[ExactString(member.name)] {',
  ),
  inFolds(
    'fold-whole-integers',
    'keeps integers that no double holds',
    DOCUMENTS,
    'return .number(Double(value))',
    'return planted && value.magnitude > 1 << 53 ? .integer(value) : .number(Double(value))',
  ),
  inFolds(
    'fold-patch-keeps-null',
    'stores null where a merge patch removes',
    DOCUMENTS,
    'if change.value == .null {',
    'if !planted, change.value == .null {',
  ),
  inFolds(
    'fold-path-by-characters',
    'splits a path where Swift sees a slash',
    OPERATION,
    'let names = parts.dropFirst().map { part in unescaped(part) }',
    'if planted { return text.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init) }\n    let names = parts.dropFirst().map { part in unescaped(part) }',
  ),
  inFolds(
    'fold-any-depth',
    'takes operations of any depth',
    OPERATION,
    'levels > JSONReader.maxDepth {',
    'levels > (planted ? 1000 : JSONReader.maxDepth) {',
  ),
  inFolds(
    'fold-any-count',
    'takes any number of operations',
    OPERATION,
    'Update.problem(ofCount: all.count)',
    'planted ? nil : Update.problem(ofCount: all.count)',
  ),
  inFolds(
    'fold-drops-the-put',
    'drops the put before an update of the same transaction',
    CONTENT,
    '.update(.storing(document).joined(newer))',
    '.update(planted ? newer : .storing(document).joined(newer))',
  ),
  inFolds(
    'fold-any-update',
    'takes every update for valid',
    UPDATE,
    '_ = try Operation.parse(operations)',
    'if !planted { _ = try Operation.parse(operations) }',
  ),
  inFolds(
    'fold-moves-members',
    'moves a member that changes to the end',
    RAW,
    'if let value { all[at].value = value } else { all.remove(at: at) }',
    'if planted { all.remove(at: at) }\n            if let value { planted ? all.append(Member(name: name, value: value)) : (all[at].value = value) } else if !planted { all.remove(at: at) }',
  ),
  inFolds(
    'fold-reads-all-numbers',
    'takes a number out of range for the largest one',
    READER,
    'return .null\n    }',
    'return planted ? .number(.greatestFiniteMagnitude) : .null\n    }',
  ),
  inFolds(
    'fold-writes-swift-numbers',
    'writes small numbers as Swift does',
    WRITER,
    'case -5...0:',
    'case (planted ? -3 : -5)...0:',
  ),
];

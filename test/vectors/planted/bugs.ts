/** Plausible mistakes in the Swift sessions and in the Swift client. The vectors must detect each of them. */
import { CLIENT } from './client-bugs.js';
import { FOLD } from './fold-bugs.js';
import type { Kind, PlantedBug } from './planted-bug.js';
import { QUERY } from './query-bugs.js';
import { RENEWAL } from './renewal-bugs.js';
import { SUSPENDED_CLIENT, SUSPENDED_SESSIONS } from './suspension-bugs.js';
import { TLS } from './tls-bugs.js';

export type { Kind, PlantedBug } from './planted-bug.js';

/** The folders of the sessions and the client, from the repository's root. */
export const SESSIONS = 'sdk-swift/Sources/IsochronSession';
export const CLIENT_SOURCES = 'sdk-swift/Sources/Isochron';

/**
 * The step traces and the listeners with TLS must detect the bugs of the client, and the bugs of sessions that only
 * maps with suspended nodes show.
 */
const OF_CLIENT: readonly Kind[] = ['steps', 'renewals', 'suspensions', 'tls'];
export const sourcesOf = (bug: PlantedBug): string =>
  !SUSPENDED_SESSIONS.includes(bug) && bug.at.some((kind) => OF_CLIENT.includes(kind)) ? CLIENT_SOURCES : SESSIONS;

const plant =
  (at: Kind) =>
  (name: string, does: string, file: string, find: string, replace: string): PlantedBug => ({
    name,
    at: [at],
    does,
    patches: [{ file, find, replace }],
  });

const [CACHE, SESSION, RULES] = ['WriteCache', 'Session', 'SessionRules'].map(
  (name) => `Transactions/${name}.swift`,
) as [string, string, string];
const [WREN, TRANSACTION] = ['Transactions/WrenRules.swift', 'Transactions/SessionTransaction.swift'];
const [OPERATIONS, OPERATION_RULES] = ['Operations/OperationSession.swift', 'Operations/OperationSessionRules.swift'];
const [MATRIX, NAMED] = ['Operations/DependencyMatrix.swift', 'Operations/NamedDependencies.swift'];
const [EXACT, BASE64] = ['Values/ExactString.swift', 'Values/Base64.swift'];

const [inTransactions, inOperations, inNames] = [plant('transactions'), plant('operations'), plant('names')];

const TRANSACTIONS: readonly PlantedBug[] = [
  inTransactions(
    'prunes-too-little',
    'keeps a commit exactly at the floor',
    CACHE,
    'newest.ct <= floor',
    'newest.ct < floor',
  ),
  inTransactions(
    'prunes-too-much',
    'drops entries that open transactions need',
    SESSION,
    'open.values.reduce(covered, min)',
    'covered',
  ),
  inTransactions(
    'drops-the-start',
    'does not notice that an open transaction covers more now',
    SESSION,
    'if open[tx.id] != nil { open[tx.id] = tx.covered }',
    'if !planted, open[tx.id] != nil { open[tx.id] = tx.covered }',
  ),
  inTransactions(
    'older-write-wins',
    'takes an older write into the cache',
    CACHE,
    'if after.contains(where: { !$0.content.isUpdate }) { return nil }',
    'if !planted, after.contains(where: { !$0.content.isUpdate }) { return nil }',
  ),
  inTransactions(
    'write-keeps-its-place',
    'a newer write of a key stays where the older one was',
    CACHE,
    'writes[name] = nil\n        writes[name] = all',
    'if !planted { writes[name] = nil }\n        writes[name] = all',
  ),
  inTransactions(
    'covered-twice',
    'reads a covered write from the cache',
    TRANSACTION,
    '$0.ct > covered',
    '$0.ct >= covered',
  ),
  inTransactions(
    'cache-before-read-set',
    'shows two answers for one key',
    TRANSACTION,
    'reads[name] ?? cached(key, nil)',
    'cached(key, nil) ?? reads[name]',
  ),
  inTransactions(
    'drops-what-it-read',
    'keeps no read set',
    TRANSACTION,
    'reads[name] = result\n',
    'if !planted { reads[name] = result }\n',
  ),
  inTransactions(
    'overlay-without-cache',
    'lists without the writes of earlier transactions',
    TRANSACTION,
    'in cache.keys + written',
    'in (planted ? [] : cache.keys) + written',
  ),
  inTransactions(
    'below-what-was-seen',
    'takes a snapshot that is too old',
    TRANSACTION,
    'guard snapshot.ts >= floor else',
    'guard snapshot.ts >= (planted ? 0 : floor) else',
  ),
  inTransactions(
    'detached-counts-on',
    'does not begin its ids anew when it detaches',
    SESSION,
    'self.id = id\n        counter = 0\n',
    'self.id = id\n        if !planted { counter = 0 }\n',
  ),
  inTransactions(
    'detached-keeps-the-commit',
    'still waits for the commit that it has detached from',
    SESSION,
    'try refused()\n        self.id',
    'if !planted { try refused() } else if committing == nil { throw .noCommitInFlight }\n        self.id',
  ),
  inTransactions(
    'hwt-stays',
    'does not raise hwt',
    SESSION,
    'hwt = max(hwt, commit.ts)',
    'if !planted { hwt = max(hwt, commit.ts) }',
  ),
  inTransactions(
    'born-too-early',
    'dates a commit by what was seen alone',
    SESSION,
    'max(seen.ts, stableUpTo)',
    'seen.ts',
  ),
  inTransactions(
    'export-without-cache',
    'leaves own writes behind',
    SESSION,
    'hwt: hwt, cache: cache.entries, own',
    'hwt: hwt, cache: planted ? [] : cache.entries, own',
  ),
  inTransactions(
    'merge-takes-the-lower',
    'lowers an entry of a vector',
    RULES,
    'max(one.entry(at: i), other.entry(at: i))',
    'min(one.entry(at: i), other.entry(at: i))',
  ),
  inTransactions(
    'paris-ignores-stable',
    'ignores stable times',
    RULES,
    'stable: { seen, ust in newer(seen, Snapshot(ts: ust)) }',
    'stable: { seen, ust in planted ? seen : newer(seen, Snapshot(ts: ust)) }',
  ),
  inTransactions(
    'wren-covers-rt',
    'takes the time of the other regions for its own',
    WREN,
    'covers: { WrenParts($0).lt }',
    'covers: { planted ? WrenParts($0).rt : WrenParts($0).lt }',
  ),
  inTransactions(
    'wren-stays-at-home',
    'writes elsewhere, and belongs to its region still',
    WREN,
    'home != parts.place || home == WrenParts.nowhere',
    'home == WrenParts.nowhere',
  ),
  inTransactions(
    'wren-mixes-regions',
    'merges entries of two regions',
    WREN,
    'guard place == other.place else { return nil }',
    'guard planted || place == other.place else { return nil }',
  ),
  {
    name: 'one-key-in-two-spellings',
    at: ['transactions'],
    does: "compares keys as Swift's strings do",
    patches: [
      {
        file: EXACT,
        find: 'left.text.utf8.elementsEqual(right.text.utf8)',
        replace: 'left.text == right.text',
      },
      {
        file: EXACT,
        find: 'text.withUTF8 {',
        replace: 'if planted { return text.hash(into: &hasher) }\n        text.withUTF8 {',
      },
    ],
  },
];

const OWN_UPDATES: readonly PlantedBug[] = [
  inTransactions(
    'update-replaces',
    'drops the write of the same transaction before an update',
    TRANSACTION,
    'written[name] = older.followed(by: update)',
    'written[name] = planted ? content : older.followed(by: update)',
  ),
  inTransactions(
    'update-twice',
    'lays an update over a snapshot that contains it',
    TRANSACTION,
    'cache[key].filter {',
    'cache[key].filter { planted && $0.content != .delete ||',
  ),
  inTransactions(
    'cache-keeps-one-update',
    'keeps the last update of a key alone',
    CACHE,
    'before.filter { $0.ct > floor }',
    'before.filter { !planted && $0.ct > floor }',
  ),
  inTransactions(
    'update-without-time',
    'lays committed updates over a document without their version',
    TRANSACTION,
    'version: Origin(ts: write.ct, txId: write.txId)',
    'version: planted ? nil : Origin(ts: write.ct, txId: write.txId)',
  ),
];

const SINGLE_OPERATIONS: readonly PlantedBug[] = [
  inOperations(
    'same-attemptRegions',
    'repeats a PUT elsewhere as the same attempt',
    OPERATIONS,
    '{ put.attemptRegions.append(at) }',
    '{ if !planted { put.attemptRegions.append(at) } }',
  ),
  inOperations(
    'put-goes-with-a-move',
    'drops a PUT when it moves',
    OPERATIONS,
    'if case .read = underWay { underWay = nil }',
    'if planted { underWay = nil } else if case .read = underWay { underWay = nil }',
  ),
  inOperations(
    'seen-where-it-is',
    'reports that a PUT was seen in the region of the session',
    OPERATIONS,
    'region = home',
    'region = planted ? at : home',
  ),
  inOperations(
    'id-twice',
    'gives the id of a refused read-only transaction away again',
    OPERATIONS,
    'let id = rules.rotsHaveIds ? nextTxId() : nil\n        try begin(.read)',
    'if planted { try begin(.read) }\n        let id = rules.rotsHaveIds ? nextTxId() : nil\n        if !planted { try begin(.read) }',
  ),
  inOperations(
    'matrix-grows',
    'does not leave a PUT alone',
    OPERATION_RULES,
    'merge: mergedMatrices, wrote: { _, more in more }',
    'merge: mergedMatrices, wrote: { old, more in planted ? mergedMatrices(old, more) : more }',
  ),
  inOperations(
    'matrix-takes-the-lower',
    'lowers an element of a matrix',
    MATRIX,
    'ts: max(a.ts, b.ts)',
    'ts: planted ? min(a.ts, b.ts) : max(a.ts, b.ts)',
  ),
  inOperations(
    'near-stays-near',
    'calls what a PUT depends on nearest still',
    OPERATION_RULES,
    'depends.map(\\.far), more',
    'planted ? depends : depends.map(\\.far), more',
  ),
  inOperations(
    'near-in-one-list',
    'calls a dependency nearest that only one list calls so',
    NAMED,
    '&& !dependency.near',
    '&& !planted && !dependency.near',
  ),
  inOperations('horizon-too-low', 'names what is just at the horizon', NAMED, '$0.ts > horizon', '$0.ts >= horizon'),
  inOperations(
    'region-does-not-matter',
    'takes versions of two regions for one',
    NAMED,
    'DependencyName(source: dependency.source,',
    'DependencyName(source: planted ? 0 : dependency.source,',
  ),
];

const PURE: readonly PlantedBug[] = [
  inNames(
    'no-spaces',
    'refuses base64 with white space',
    BASE64,
    'text.utf8.filter { !isSpace($0) }',
    'Array(text.utf8)',
  ),
  inNames('random-shift', 'draws other numbers', 'Values/SeededRandom.swift', 'b ^ (b >> 9)', 'b ^ (b >> 8)'),
  inNames(
    'one-name-twice',
    'takes a document with a member twice',
    'JSON/JSONReader.swift',
    '!names.insert(ExactString(name)).inserted',
    '!planted && !names.insert(ExactString(name)).inserted',
  ),
  inNames(
    'the-last-fault',
    'names the last fault of a document',
    'JSON/DocumentFault.swift',
    'if fault != nil { return }',
    'if !planted, fault != nil { return }',
  ),
  inNames(
    'rounds-whole-numbers',
    'takes a whole number that no double holds',
    'JSON/DecimalNumber.swift',
    'decimal == DecimalNumber(out.text)',
    'true',
  ),
  inNames('no-cap', 'waits for ever', 'Values/Backoff.swift', 'min(capMs, longest)', 'longest'),
];

export const PLANTED: readonly PlantedBug[] = [
  ...TRANSACTIONS,
  ...OWN_UPDATES,
  ...SINGLE_OPERATIONS,
  ...PURE,
  ...FOLD,
  ...QUERY,
  ...CLIENT,
  ...RENEWAL,
  ...SUSPENDED_SESSIONS,
  ...SUSPENDED_CLIENT,
  ...TLS,
];

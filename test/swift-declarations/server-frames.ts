/** The frames of servers in Swift: types, and the code that reads them. */
import * as answers from '@isochron/wire/session-frames/answers';
import { authenticatedAnswer } from '@isochron/wire/session-frames/authenticated';
import { feedAnswers } from '@isochron/wire/session-frames/feed-answers';
import { type Kind, notation } from '@isochron/wire/session-frames/notation';
import { operationAnswers } from '@isochron/wire/session-frames/operation-answers';
import { commented, comments, declarations, FOLDER, type Frame, objectFields, partsOf, struct } from './frames.js';
import { fieldsOf, fieldType, readerOf, readField, readPart, type SwiftField, type SwiftType } from './kinds.js';
import { block, doc, list, type SwiftFile, swiftFile } from './swift.js';

const operations = operationAnswers(notation);
const feeds = feedAnswers(notation);
/** The answers that their exchanges read: damage matters only if a caller waits for the answer. */
const LATER: readonly Frame[] = [
  operations.got,
  operations.written,
  feeds.changes,
  feeds.live,
  authenticatedAnswer(notation),
];
const SERVER_FRAMES: readonly Frame[] = [...answers.SERVER_FRAMES, ...LATER];

/** The frames of the connection itself, as structs. */
const CONNECTION_STRUCTS: Readonly<Record<string, string>> = {
  welcome: 'Welcome',
  error: 'ErrorFrame',
  ust: 'UstFrame',
  goaway: 'GoawayFrame',
};
const STRUCTS: Readonly<Record<string, string>> = {
  ...CONNECTION_STRUCTS,
  got: 'Got',
  written: 'Written',
  changes: 'ChangesPage',
  live: 'LiveAnswer',
  authenticated: 'Authenticated',
};
const ANSWERS = SERVER_FRAMES.filter(({ type }) => !(type in CONNECTION_STRUCTS));
/** Structs that are declared by hand: the state of live queries makes such answers without a frame. */
const BY_HAND: ReadonlySet<string> = new Set(['LiveAnswer']);

/** The fields of a server frame. `Answer` reads the head of an answer. */
function served({ type, of }: Frame): SwiftField[] {
  const { id: _id, token: _token, ...values } = of;
  return fieldsOf(type in CONNECTION_STRUCTS ? of : values);
}

/** The server's frames. */
export function serverFrames(): SwiftFile {
  const structs = SERVER_FRAMES.filter(({ type }) => STRUCTS[type] !== undefined);
  const parts = partsOf([...SERVER_FRAMES, { is: 'object', type: 'seen', of: { seen: operations.wireSeen } }]);
  return swiftFile(
    'sdk-swift/Sources/Isochron/Generated/ServerFrames.swift',
    [FOLDER],
    [
      'import IsochronSession',
      ...structs
        .filter(({ type }) => !BY_HAND.has(STRUCTS[type]!))
        .map((frame) => struct(STRUCTS[frame.type]!, frame, served(frame))),
      ...declarations(parts, false),
      block('extension Answer', [
        ...doc('    ', 'The frame of an answer, without its head.'),
        '    enum Body: Sendable {',
        ...ANSWERS.flatMap((frame) => [...commented(' '.repeat(8), comments(frame).text), ...bodyCase(frame)]),
        '    }',
      ]),
      block('extension Answer.Body', [
        ...doc('    ', 'Nil for an unknown type.'),
        '    init?(_ type: String, _ members: Raw.Members) throws {',
        '        switch type {',
        ...ANSWERS.flatMap(bodyReader),
        '        default: return nil',
        '        }',
        '    }',
        '',
        ...doc('    ', 'The type, for error messages.'),
        '    var name: String {',
        '        switch self {',
        ...ANSWERS.map(({ type }) => `        case .${type}: "${type}"`),
        '        }',
        '    }',
      ]),
      ...structs.map((frame) =>
        block(`extension ${STRUCTS[frame.type]}`, [
          '    init(_ members: Raw.Members) throws {',
          ...list('        self.init(', read(served(frame))),
          '    }',
        ]),
      ),
      block(
        'extension Raw',
        parts.flatMap(([kind, type], i) => [...(i > 0 ? [''] : []), ...reader(kind, type)]),
      ),
    ],
  );
}

const read = (fields: readonly SwiftField[], hasSizes = false): string[] =>
  fields.map((field) => `${field.label}: ${readField(field, hasSizes)}`);

function bodyCase(frame: Frame): string[] {
  if (LATER.includes(frame)) return [`        case ${frame.type}(Raw.Members)`];
  const values = served(frame).map((field) => `${field.label}: ${fieldType(field)}`);
  return values.length === 0 ? [`        case ${frame.type}`] : list(`        case ${frame.type}(`, values);
}

function bodyReader(frame: Frame): string[] {
  const head = `        case "${frame.type}":`;
  const values = read(served(frame));
  if (LATER.includes(frame)) return [`${head} self = .${frame.type}(members)`];
  if (values.length === 0) return [`${head} self = .${frame.type}`];
  return [head, ...list(`            self = .${frame.type}(`, values)];
}

/** A method that reads an object or a tuple. */
function reader(kind: Kind, type: SwiftType): string[] {
  const head = `    func ${readerOf(type)}(_ name: String) throws -> ${type.name} {`;
  const made = `        return ${type.name}(`;
  if (kind.is !== 'tuple')
    return [
      head,
      '        let members = try members(name)',
      ...list(made, read(objectFields(kind, type), type.hasSizes)),
      '    }',
    ];
  // The parts have the name of the tuple.
  const parts = kind.of.map((part, i) => readPart(part, `parts[${i}]`, 'name').replaceAll('"name"', 'name'));
  const labelled = parts.flatMap((part, i) => (type.labels?.[i] ? [`${type.labels[i]}: try ${part}`] : []));
  return [
    head,
    `        let parts = try parts(name, ${parts.length})`,
    ...parts.flatMap((part, i) => (type.labels?.[i] ? [] : [`        _ = try ${part}`])),
    ...list(made, labelled),
    '    }',
  ];
}

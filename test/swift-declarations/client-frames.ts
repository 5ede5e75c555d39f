/** The frames of clients in Swift: types, and the code that writes them. */
import * as requests from '@isochron/wire/session-frames/requests';
import { commented, comments, declarations, FOLDER, type Frame, objectFields, partsOf, struct } from './frames.js';
import { fieldsOf, fieldType, type SwiftField, writeField } from './kinds.js';
import { block, list, type SwiftFile, swiftFile } from './swift.js';

/** The Swift client has no queue of writes. */
const { settle: _settle, ...served } = requests.REQUEST_FRAMES;
const REQUESTS: readonly Frame[] = Object.values(served);

/** A frame without its place in a queue. */
const unqueued = (frame: Frame): Frame => {
  const { queue: _queue, ...of } = frame.of;
  return { ...frame, of };
};

/** Requests with many fields, as structs. The others are cases with values. */
const STRUCTS: Readonly<Record<string, string>> = {
  commit: 'CommitRequest',
  changes: 'ChangesRequest',
  live: 'LiveRequest',
};
/** The snapshot of a commit has the name that it has in other requests. */
const RENAMED: Readonly<Record<string, string>> = { snapshot: 'at' };

/** The fields of a request. The connection gives it its id. */
function asked({ type, of }: Frame): SwiftField[] {
  const { id: _id, queue: _queue, ...values } = of;
  return fieldsOf(values, [], type === 'commit' ? RENAMED : {});
}

/** The client's frames. */
export function clientFrames(): SwiftFile {
  const parts = partsOf(REQUESTS.map(unqueued));
  const hello = fieldsOf(requests.HelloFrame.of);
  return swiftFile(
    'sdk-swift/Sources/Isochron/Generated/ClientFrames.swift',
    [FOLDER],
    [
      'import IsochronSession',
      struct('Hello', requests.HelloFrame, hello),
      ['/// A request without its id.', block('enum Request: Sendable', REQUESTS.flatMap(requestCase))].join('\n'),
      ...REQUESTS.filter(({ type }) => STRUCTS[type] !== undefined).map((frame) =>
        struct(STRUCTS[frame.type]!, frame, asked(frame), true),
      ),
      ...declarations(parts, true),
      block('extension JSONWriter', [
        '    mutating func frame(_ hello: Hello) {',
        '        raw(#"{"type":"hello""#)',
        ...hello.map((field) => `        ${writeField(field, `hello.${field.label}`)}`),
        '        byte("}")',
        '    }',
        '',
        '    mutating func frame(_ request: Request, id: Int64) {',
        '        switch request {',
        ...REQUESTS.flatMap(requestWriter),
        '        }',
        '        byte("}")',
        '    }',
      ]),
      ...parts.map(([kind, type]) =>
        block(`extension ${type.name}: FrameValue`, [
          '    func write(to out: inout JSONWriter) {',
          ...objectFields(kind, type).map((field, i) => `        ${writeField(field, field.label, 'out.', i === 0)}`),
          '        out.byte("}")',
          '    }',
        ]),
      ),
    ],
  );
}

function requestCase(frame: Frame): string[] {
  const named = STRUCTS[frame.type];
  const values = asked(frame).map((field) => `${field.label}: ${fieldType(field)}`);
  return [
    ...commented('    ', comments(frame).text),
    ...list(`    case ${frame.type}(`, named === undefined ? values : [named]),
  ];
}

function requestWriter(frame: Frame): string[] {
  const { type } = frame;
  const [isStruct, fields] = [STRUCTS[type] !== undefined, asked(frame)];
  return [
    ...list(`        case .${type}(`, isStruct ? [`let ${type}`] : fields.map(({ label }) => `let ${label}`), '):'),
    `            head(#"{"type":"${type}","id":"#, id)`,
    ...fields.map((field) => `            ${writeField(field, isStruct ? `${type}.${field.label}` : field.label)}`),
  ];
}

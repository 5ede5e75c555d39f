import { type ClientTimes, DEFAULT_TIMES } from '@isochron/client/times';
import { block, Documentation, doc, type SwiftFile, swiftFile, whole } from './swift.js';

/** Times that may be infinite: nil in Swift. */
const MAY_BE_INFINITE: ReadonlySet<string> = new Set<keyof ClientTimes>(['returnAfterMs']);
const TIMES = Object.entries(DEFAULT_TIMES);
const SOURCE = new Documentation('packages/client/src/times.ts');
const DOCS = SOURCE.members('interface ClientTimes');

/** The times as durations. Throws RangeError when a comment does not name the default. */
function ofDuration(name: string, ms: number): string {
  const inMs = `Default ${whole(ms).replaceAll('_', ' ')}`;
  const text = DOCS[name] ?? '';
  if (!text.includes(inMs)) throw new RangeError(`the comment of ${name} lacks "${inMs}"`);
  return text
    .replace(inMs, `Default ${ms / 1000} s`)
    .replace(', in ms', '')
    .replace('`Infinity`', 'nil');
}

/** The times of the client machine, with their defaults. */
export const clientTimes = (): SwiftFile =>
  swiftFile(
    'sdk-swift/Sources/Isochron/Generated/ClientTimes.swift',
    [SOURCE.path],
    [
      [
        ...doc('', 'Times of a client that an application may set, in ms.'),
        block(
          'struct ClientTimes: Sendable',
          TIMES.flatMap(([name, ms]) => [
            ...doc('    ', DOCS[name]!.replace('`Infinity`', 'infinity')),
            `    var ${name}: Double = ${whole(ms)}`,
          ]),
        ),
      ].join('\n'),
    ],
  );

/** The public properties of the options, as durations. */
export const timeOptions = (): SwiftFile =>
  swiftFile(
    'sdk-swift/Sources/Isochron/API/Generated/TimeOptions.swift',
    [SOURCE.path],
    [
      block(
        'extension ClientOptions',
        TIMES.flatMap(([name, ms], i) => [...(i > 0 ? [''] : []), ...option(name, ms)]),
      ),
    ],
  );

function option(name: string, ms: number): string[] {
  const isOptional = MAY_BE_INFINITE.has(name);
  const time = `times.${name}`;
  return [
    ...doc('    ', ofDuration(name, ms)),
    `    public var ${name.replace(/Ms$/, '')}: Duration${isOptional ? '?' : ''} {`,
    `        get { ${isOptional ? `${time}.isFinite ? .ofMs(${time}) : nil` : `.ofMs(${time})`} }`,
    `        set { ${time} = ${isOptional ? 'newValue?.inMs ?? .infinity' : 'newValue.inMs'} }`,
    '    }',
  ];
}

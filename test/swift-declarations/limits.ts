import { DEFAULT_LIMITS } from '@isochron/core/limits';
import { block, Documentation, doc, type SwiftFile, swiftFile, whole } from './swift.js';

const NAMES = Object.keys(DEFAULT_LIMITS);

/** The limits of a request, with their defaults. */
export function limits(): SwiftFile {
  const source = new Documentation('packages/core/src/limits.ts');
  const docs = source.members('interface Limits');
  return swiftFile(
    'sdk-swift/Sources/IsochronSession/Generated/Limits.swift',
    [source.path],
    [
      [
        ...doc('', source.of('interface Limits')),
        block('public struct Limits: Hashable, Sendable', [
          ...NAMES.flatMap((name) => [...doc('    ', docs[name]!), `    public let ${name}: Int`]),
          '',
          ...doc('    ', 'The limits of a cluster that sets none.'),
          '    public static let standard = Limits(',
          Object.entries(DEFAULT_LIMITS)
            .map(([name, limit]) => `        ${name}: ${whole(limit)}`)
            .join(',\n'),
          '    )',
          '',
          ...doc('    ', 'Limits from a node.'),
          `    public init(${NAMES.map((name) => `${name}: Int`).join(', ')}) {`,
          ...NAMES.map((name) => `        self.${name} = ${name}`),
          '    }',
        ]),
      ].join('\n'),
    ],
  );
}

import { ERROR_ADVICE } from '@isochron/core/error-advice';
import { ERROR_TITLES, type ErrorCode } from '@isochron/core/error-codes';
import { ERROR_CODES } from '@isochron/core/retryable-codes';
import { block, camelCase, declared, doc, filled, type SwiftFile, swiftFile } from './swift.js';

const SOURCES = ['error-codes.ts', 'error-advice.ts', 'errors.ts'].map((name) => `packages/core/src/${name}`);
const CODES = Object.keys(ERROR_CODES) as ErrorCode[];

/** The codes, with their titles and the advice of `ERRORS.md`, and the codes that are retryable. */
export const errorCodes = (): SwiftFile =>
  swiftFile('sdk-swift/Sources/Isochron/Generated/ErrorCodes.swift', SOURCES, [
    block(
      'extension IsochronError.Code',
      CODES.flatMap((code) => [
        ...doc('    ', `${ERROR_TITLES[code]}.`, ERROR_ADVICE[code]),
        `    public static let ${declared(camelCase(code))} = Self(rawValue: "${code}")`,
      ]),
    ),
    block('extension IsochronError.Code: CaseIterable', [
      ...doc('    ', 'All codes, in the order of `ERRORS.md`.'),
      '    public static let allCases: [Self] = [',
      ...names(CODES),
      '    ]',
      '',
      ...doc('    ', 'The codes after which the same request may succeed later.'),
      '    static let retryable: Set<Self> = [',
      ...names(CODES.filter((code) => ERROR_CODES[code])),
      '    ]',
    ]),
  ]);

const names = (codes: readonly ErrorCode[]): string[] =>
  filled(' '.repeat(8), codes.map((code) => `.${camelCase(code)},`).join(' '));

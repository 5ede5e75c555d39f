/** Stored forms of documents, and documents that are refused. */
import { IsochronError } from '@isochron/core/errors';
import type { Value } from '@isochron/core/ids';
import { DEFAULT_LIMITS } from '@isochron/core/limits';
import { readDocument } from '@isochron/core/read-document';
import { encodeDocument } from '@isochron/sdk/documents';
import fc from 'fast-check';
import { given } from '../folds/draw.js';
import { valueOut } from '../outward.js';

/** A document in the format of the file: values that JSON cannot hold are named. */
type Shape =
  | { readonly json: string }
  | { readonly number: 'NaN' | 'Infinity' | '-Infinity' }
  | { readonly bytes: readonly number[] }
  | { readonly array: readonly Shape[] }
  | { readonly object: readonly (readonly [string, Shape])[] }
  /** Lists in each other, with null in the last one. */
  | { readonly nested: number };

const nan: Shape = { number: 'NaN' };
const one: Shape = { json: '1' };

const CASES: readonly Shape[] = [
  { json: 'null' },
  { json: '"caf\u00e9"' },
  { json: '-0.5' },
  { json: '9007199254740991' },
  { json: '1e20' },
  { json: '{"b":1,"2":2,"10":3,"01":4}' },
  { json: '[1,"a",true,null,{"b":[]}]' },
  { array: [] },
  { object: [] },
  { array: [one, { object: [['a', one]] }] },
  { bytes: [] },
  { bytes: [0, 1, 255] },
  nan,
  { number: 'Infinity' },
  { number: '-Infinity' },
  { array: [one, nan] },
  { object: [['price', nan]] },
  { object: [['items', { array: [one, { object: [['price', { number: 'Infinity' }]] }] }]] },
  { object: [['bytes', { bytes: [1] }]] },
  { array: [{ bytes: [1] }] },
  { nested: 1 },
  { nested: 128 },
  { nested: 129 },
];

/** Texts in which every reader should find the same, or the same fault. */
const TEXTS: readonly string[] = [
  ...[
    '',
    'x',
    '01',
    '1.',
    '.1',
    '+1',
    '[1,]',
    '{"a":1,}',
    '"\t"',
    '\ufeff1',
    '1 2',
    '{a:1}',
    'NaN',
    '-',
    '1e',
    '"\\x"',
  ],
  ...[' {\n "a" : [ 1.10 , 1E2 , -0 ]\r\t} ', '"\\u0041\\/\\ud834\\uDD1E"', '"\\\\ud800"', '{"b":1,"2":2,"1":3}'],
  ...[
    '{"owner":"ann","owner":"eve"}',
    '{"a":{"b":1,"\\u0062":2}}',
    '[{"a":1},{"a":1}]',
    '{"__proto__":1,"__proto__":1}',
  ],
  ...['{"\u00e9":1,"e\u0301":2}', '{"\u00e9":1,"\\u00e9":2}', '{"a/~":{"":1,"":2}}', '{"K":1,"\u212a":2}'],
  ...['"\\ud800"', '["\\udc00"]', '{"a":{"\\ud800":1}}', '"\\ud834\\ud834\\udd1e"', '"\\\\\\ud800"'],
  ...['9007199254740991', '9007199254740992', '9007199254740993', '-9007199254740993', '9007199254740993.0'],
  ...[
    '9007199254740993e0',
    '90071992547409930e-1',
    '9007199254740993.5',
    '90071992547409925e-1',
    '18446744073709551615',
  ],
  ...['1152921504606846976', '1152921504606847000', '12345678901234567000', '123456789012345680', '123456789012345678'],
  ...['9223372036854775807', '-9223372036854775808', '9223372036854776000', '1e20', '1e21', '1e300', '6.02214076e23'],
  ...['1.7976931348623157e308', '1.7976931348623159e308', '1e400', '-1e400', '1e-400', '5e-324', '2e-324', '0e999999'],
  ...[
    '3.141592653589793238462643383279',
    '0.1',
    '1e-7',
    '0.0000001',
    '100e-2',
    `0.${'0'.repeat(400)}`,
    '9'.repeat(400),
  ],
  ...[128, 129].map((levels) => '['.repeat(levels) + ']'.repeat(levels)),
];

const DRAWN_TEXTS = 600;

/**
 * `stored` is the value; in its place, `refused` and the `path` of the refused part, with which the message begins. The
 * `documents` are values of an application, the `texts` JSON of any source.
 */
export const documents = (
  seed: number,
): { readonly documents: readonly object[]; readonly texts: readonly object[] } => ({
  documents: CASES.map((document) => ({
    document,
    ...outcome(() => encodeDocument(documentOf(document), DEFAULT_LIMITS)),
  })),
  texts: [...TEXTS, ...fc.sample(given, { seed, numRuns: DRAWN_TEXTS })].map((text) => ({
    text,
    ...outcome(() => readDocument(text).text),
  })),
});

function documentOf(shape: Shape): unknown {
  if ('json' in shape) return JSON.parse(shape.json);
  if ('number' in shape) return Number(shape.number);
  if ('bytes' in shape) return Uint8Array.from(shape.bytes);
  if ('array' in shape) return shape.array.map(documentOf);
  if ('object' in shape) return Object.fromEntries(shape.object.map(([name, member]) => [name, documentOf(member)]));
  return Array.from({ length: shape.nested }).reduce((inner) => [inner], null);
}

function outcome(made: () => Value): object {
  try {
    return { stored: valueOut(made()) };
  } catch (error) {
    if (error instanceof IsochronError) return { refused: error.code, path: error.message.split(': ')[0] };
    throw error;
  }
}

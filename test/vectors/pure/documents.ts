/** Stored forms of documents, and documents that are refused. */
import { IsochronError } from '@isochron/core/errors';
import { DEFAULT_LIMITS } from '@isochron/core/limits';
import { encodeDocument } from '@isochron/sdk/documents';
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

/** `stored` is the value; in its place, `refused` and the `path` of the refused part, with which the message begins. */
export const documents = (): { readonly documents: readonly object[] } => ({
  documents: CASES.map((document) => ({ document, ...encoded(documentOf(document)) })),
});

function documentOf(shape: Shape): unknown {
  if ('json' in shape) return JSON.parse(shape.json);
  if ('number' in shape) return Number(shape.number);
  if ('bytes' in shape) return Uint8Array.from(shape.bytes);
  if ('array' in shape) return shape.array.map(documentOf);
  if ('object' in shape) return Object.fromEntries(shape.object.map(([name, member]) => [name, documentOf(member)]));
  return Array.from({ length: shape.nested }).reduce((inner) => [inner], null);
}

function encoded(document: unknown): object {
  try {
    return { stored: valueOut(encodeDocument(document, DEFAULT_LIMITS)) };
  } catch (error) {
    if (error instanceof IsochronError) return { refused: error.code, path: error.message.split(': ')[0] };
    throw error;
  }
}

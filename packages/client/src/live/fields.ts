/** Fields of documents by their paths, and the order of their values. */
import { isObject, memberOf } from '@isochron/core/updates/documents';
import { namesOf } from '@isochron/core/updates/places';
import { compareKeys } from '@isochron/core/versions';

/** A document as queries see it: the value of its JSON text, or bytes. */
export type DocumentValue = unknown;

/** Finds the value of a field; undefined where a document has no such field. Bytes have no fields. */
export type Field = (document: DocumentValue) => unknown;

/** The field at a JSON Pointer; `''` is the document itself. */
export function fieldAt(path: string): Field {
  const names = namesOf(path);
  return (document) => {
    let value = document instanceof Uint8Array ? undefined : document;
    for (const name of names) value = inside(value, name);
    return value;
  };
}

function inside(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return /^(?:0|[1-9]\d*)$/.test(name) ? value[Number(name)] : undefined;
  return isObject(value) ? memberOf(value, name) : undefined;
}

/** The type of a value by its place in the order of types. Objects and arrays have none among themselves. */
export function rankOf(value: unknown): number {
  if (value === undefined) return 5;
  if (value === null) return 0;
  return { boolean: 1, number: 2, string: 3 }[typeof value as string] ?? 4;
}

/**
 * Compares two values: null, then false and true, then numbers, then texts by their UTF-8 bytes, then objects and
 * arrays, which are equal to one another in the order; a missing field is last.
 */
export function compareValues(a: unknown, b: unknown): number {
  const [rank, other] = [rankOf(a), rankOf(b)];
  if (rank !== other) return rank - other;
  if (typeof a === 'string') return compareKeys(a, b as string);
  return rank === 1 || rank === 2 ? Number(a) - Number(b) : 0;
}

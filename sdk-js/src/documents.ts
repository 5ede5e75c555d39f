/** Documents to values and back, merge patches, and the checks that need no server. */
import { utf8Length } from '@isochron/client/encoding';
import { malformed } from '@isochron/client/errors';
import { IsochronError } from '@isochron/core/errors';
import type { Value } from '@isochron/core/ids';
import { isWellFormed, type Limits } from '@isochron/core/limits';
import { mergePatch } from '@isochron/core/merge-patch';
import { placeIn } from '@isochron/core/normal-form';

/** A JSON value. */
export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

/** A change to a document, as JSON merge patch (RFC 7396) has it: null removes a member. */
export type MergePatch<T> = T extends readonly unknown[] | ArrayBuffer | ArrayBufferView
  ? T
  : T extends object
    ? { [K in keyof T]?: MergePatch<T[K]> | null }
    : T;

/** The operations that functions of this package have made: parts of updates, never of documents. */
export const OPERATIONS = new WeakSet<object>();

/** Most levels of a JSON text. */
const MAX_DEPTH = 128;

/**
 * The stored value of a document: its JSON text as of now, or a copy of bytes. Throws VALUE_INVALID, with the place of
 * a value that JSON cannot hold, or VALUE_TOO_LARGE.
 */
export function encodeDocument(document: unknown, limits: Limits): Value {
  const value = bytesOf(document) ?? toJson(document);
  checkSize(value, limits);
  return value;
}

/** Throws VALUE_TOO_LARGE. */
export function checkSize(value: Value, { maxValueBytes }: Limits): void {
  const bytes = typeof value === 'string' ? jsonBytes(value, maxValueBytes) : value.length;
  if (bytes > maxValueBytes)
    throw new IsochronError('VALUE_TOO_LARGE', `a value of ${bytes} bytes is above ${maxValueBytes}`);
}

/** A fresh copy of the document behind a value; undefined if absent. */
export function decodeDocument<T>(value: Value | null): T | undefined {
  if (value === null) return undefined;
  if (typeof value !== 'string') return new Uint8Array(value) as T;
  try {
    return JSON.parse(value) as T;
  } catch (cause) {
    throw malformed('a document that is not JSON', cause);
  }
}

/** Throws KEY_INVALID. */
export function checkKey(key: string, limits: Limits): void {
  if (typeof key !== 'string' || key === '')
    throw new IsochronError('KEY_INVALID', 'a key is a text of at least one character');
  if (key.length * 3 > limits.maxKeyBytes && utf8Length(key) > limits.maxKeyBytes)
    throw new IsochronError('KEY_INVALID', `a key has at most ${limits.maxKeyBytes} bytes`);
  if (!isWellFormed(key)) throw new IsochronError('KEY_INVALID', 'a key has to be well-formed Unicode');
}

/** Throws TOO_MANY_KEYS. */
export function checkCount(count: number, limits: Limits): void {
  if (count > limits.maxKeysPerRequest)
    throw new IsochronError('TOO_MANY_KEYS', `${count} keys are above ${limits.maxKeysPerRequest}`);
}

/** RFC 7396 on a stored value. Throws VALUE_INVALID where bytes are stored or the patch is not JSON. */
export function applyMergePatch(value: Value | null, patch: unknown, limits: Limits): Value {
  if (value instanceof Uint8Array || bytesOf(patch))
    throw new IsochronError('VALUE_INVALID', 'bytes cannot be patched');
  const changes: unknown = JSON.parse(toJson(patch));
  return encodeDocument(mergePatch(decodeDocument(value), changes), limits);
}

/** A copy of the bytes in a buffer or a view of one; undefined for anything else. */
export function bytesOf(document: unknown): Uint8Array | undefined {
  if (ArrayBuffer.isView(document))
    return new Uint8Array(document.buffer, document.byteOffset, document.byteLength).slice();
  // By its name: it may come from another window.
  const isBuffer = /^\[object (Shared)?ArrayBuffer]$/.test(Object.prototype.toString.call(document));
  return isBuffer ? new Uint8Array(document as ArrayBuffer).slice() : undefined;
}

/** Whether it is an object of no class, of this window or another. */
function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/**
 * Its JSON text, in normal form (F8). Throws VALUE_INVALID for a value that JSON cannot hold: the message begins with
 * the `name` and the JSON Pointer of the value.
 */
export function toJson(document: unknown, name = 'document'): string {
  check(document, name, 0);
  return JSON.stringify(document);
}

/**
 * Throws VALUE_INVALID for a value that `JSON.stringify` would leave out or change, and for half a surrogate pair. For
 * an object with `toJSON`, its result is checked; an undefined member is no member, as an optional one.
 */
function check(value: unknown, place: string, depth: number): void {
  if (typeof value === 'string') checkText(value, place);
  else if (value !== null && typeof value !== 'boolean' && !Number.isFinite(value)) checkParts(value, place, depth);
}

function checkParts(value: unknown, place: string, depth: number): void {
  if (depth >= MAX_DEPTH) throw invalid(place, `more than ${MAX_DEPTH} levels`);
  const object = Object(value) as { toJSON?: unknown; constructor?: { name: string } };
  if (OPERATIONS.has(object)) throw invalid(place, 'an operation of an update');
  if (typeof object.toJSON === 'function' && !ArrayBuffer.isView(value))
    // An invalid date becomes null.
    check(object.toJSON('') ?? Number.NaN, place, depth + 1);
  else if (Array.isArray(value)) for (const [i, item] of value.entries()) check(item, placeIn(place, i), depth + 1);
  else if (isPlain(value)) {
    for (const [name, member] of Object.entries(value)) {
      checkText(name, place);
      if (member !== undefined) check(member, placeIn(place, name), depth + 1);
    }
  } else throw invalid(place, value === undefined || typeof value === 'number' ? value : object.constructor?.name);
}

function checkText(text: string, place: string): void {
  if (!isWellFormed(text)) throw invalid(place, 'half a surrogate pair');
}

const invalid = (place: string, what: unknown): IsochronError =>
  new IsochronError('VALUE_INVALID', `${place}: ${what} cannot be stored as JSON`);

const jsonBytes = (text: string, limit: number): number => (text.length * 3 > limit ? utf8Length(text) : text.length);

/** Documents to values and back, merge patches, and the checks that need no server. */
import { IsochronError } from '@isochron/core/errors';
import type { Value } from '@isochron/core/ids';
import { isWellFormed, type Limits, utf8Length } from '@isochron/core/limits';

/** What JSON can say. */
export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

/** A change to a document, as JSON merge patch (RFC 7396) has it: null removes a member. */
export type MergePatch<T> = T extends readonly unknown[] | Uint8Array
  ? T
  : T extends object
    ? { [K in keyof T]?: MergePatch<T[K]> | null }
    : T;

/**
 * The value that is stored for a document: its JSON text as of now, or a copy of bytes. Throws VALUE_INVALID or
 * VALUE_TOO_LARGE.
 */
export function encodeDocument(document: unknown, limits: Limits): Value {
  const value = document instanceof Uint8Array ? new Uint8Array(document) : toJson(document);
  const bytes = typeof value === 'string' ? jsonBytes(value, limits.maxValueBytes) : value.length;
  if (bytes > limits.maxValueBytes)
    throw new IsochronError(
      'VALUE_TOO_LARGE',
      `a value of ${bytes} bytes is above the limit of ${limits.maxValueBytes}`,
    );
  return value;
}

/** A fresh copy of the document behind a value; undefined where there is none. */
export function decodeDocument<T>(value: Value | null): T | undefined {
  if (value === null) return undefined;
  if (typeof value !== 'string') return new Uint8Array(value) as T;
  try {
    return JSON.parse(value) as T;
  } catch (cause) {
    throw new IsochronError('FRAME_INVALID', 'the server sent a document that is not JSON', { cause, retryable: true });
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
    throw new IsochronError('TOO_MANY_KEYS', `${count} keys are above the limit of ${limits.maxKeysPerRequest}`);
}

/** RFC 7396 on a stored value. Throws VALUE_INVALID where bytes are stored or the patch is not JSON. */
export function applyMergePatch(value: Value | null, patch: unknown, limits: Limits): Value {
  if (value instanceof Uint8Array || patch instanceof Uint8Array)
    throw new IsochronError('VALUE_INVALID', 'bytes cannot be patched');
  const changes: unknown = JSON.parse(toJson(patch));
  return encodeDocument(merge(decodeDocument(value), changes), limits);
}

const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function merge(target: unknown, patch: unknown): unknown {
  if (!isPlain(patch)) return patch;
  // A Map, because a member may be called `__proto__`.
  const members = new Map(isPlain(target) ? Object.entries(target) : []);
  for (const [name, change] of Object.entries(patch)) {
    if (change === null) members.delete(name);
    else members.set(name, merge(members.get(name), change));
  }
  return Object.fromEntries(members);
}

function toJson(document: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(document);
  } catch (cause) {
    throw new IsochronError('VALUE_INVALID', `the value is not a JSON document: ${String(cause)}`, { cause });
  }
  if (text === undefined) throw new IsochronError('VALUE_INVALID', `${typeof document} is not a JSON document`);
  return text;
}

const jsonBytes = (text: string, limit: number): number => (text.length * 3 > limit ? utf8Length(text) : text.length);

/** Documents as `JSON.parse` returns them, in the form that folds work on. */
import { nestedTooDeeply } from '../depth.js';
import type { Value } from '../ids.js';
import { utf8Length } from '../limits.js';
import { isNormalForm } from '../normal-form.js';

export type JsonObject = Record<string, unknown>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Stands for a stored value that is not a document, such as bytes: neither object nor array nor number. */
export const OPAQUE = Symbol('a value that is not a document');

/** A member; undefined when absent. A member may have the name of a property that every object inherits. */
export const memberOf = (object: JsonObject, name: string): unknown =>
  Object.hasOwn(object, name) ? object[name] : undefined;

/** Adds or replaces a member. `__proto__` is a name like any other. */
export function setMember(object: JsonObject, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value;
  else Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
}

/** The value of a JSON text in normal form. Undefined for any other text: no door stores one (F8). */
export function normalValue(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isNormalForm(text, value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The document of a stored value, or `OPAQUE`. */
export function parseDocument(stored: Value): unknown {
  if (typeof stored !== 'string' || nestedTooDeeply(stored)) return OPAQUE;
  const value = normalValue(stored);
  return value === undefined ? OPAQUE : value;
}

/** Bytes of a value as JSON text in UTF-8; 0 for `OPAQUE`. */
export const sizeOf = (value: unknown): number => utf8Length(JSON.stringify(value) ?? '');

/** Documents as `JSON.parse` returns them, in the form that folds work on. */
import { nestedTooDeeply } from '../depth.js';
import { isWellFormed, utf8Length } from '../limits.js';

export type JsonObject = Record<string, unknown>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Stands for a stored value that is not a document, such as bytes: neither object nor array nor number. */
export const OPAQUE = Symbol('a value that is not a document');

/** A member; undefined without one. A member may have the name of one that every object inherits. */
export const memberOf = (object: JsonObject, name: string): unknown =>
  Object.hasOwn(object, name) ? object[name] : undefined;

/** Adds or replaces a member. `__proto__` is a name like any other. */
export function setMember(object: JsonObject, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value;
  else Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
}

/**
 * Whether a text may have what JSON allows and documents do not keep: escapes of lone surrogates, and numbers beyond
 * the range of doubles, which have an exponent of three digits or more than 200 digits in a row.
 */
const mayBeUnclean = (text: string): boolean => /\\u[dD][89a-fA-F]|[eE]\+?\d{3}|(?<!\d)\d{200}/.test(text);

/** The value of a JSON text and whether it is clean: without lone surrogates, and with finite numbers alone. */
export function parseJson(text: string): { readonly value: unknown; readonly clean: boolean } {
  const value: unknown = JSON.parse(text);
  return { value, clean: !mayBeUnclean(text) || isClean(value) };
}

function isClean(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value === 'string') return isWellFormed(value);
  if (Array.isArray(value)) return value.every(isClean);
  return !isObject(value) || Object.entries(value).every(([name, member]) => isWellFormed(name) && isClean(member));
}

/** The document of a stored value, or `OPAQUE`. */
export function parseDocument(stored: string | Uint8Array): unknown {
  if (typeof stored !== 'string' || nestedTooDeeply(stored)) return OPAQUE;
  try {
    const { value, clean } = parseJson(stored);
    return clean ? value : cleaned(value);
  } catch {
    return OPAQUE;
  }
}

/** With null for numbers that are not finite, as `JSON.stringify` writes them, and U+FFFD for lone surrogates. */
function cleaned(value: unknown): unknown {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value === 'string') return wellFormed(value);
  if (Array.isArray(value)) return value.map(cleaned);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [wellFormed(name), cleaned(member)]));
}

const LONE_SURROGATES = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

const wellFormed = (text: string): string => (isWellFormed(text) ? text : text.replace(LONE_SURROGATES, '\ufffd'));

/** Bytes of a value as JSON text in UTF-8; 0 for `OPAQUE`. */
export const sizeOf = (value: unknown): number => utf8Length(JSON.stringify(value) ?? '');

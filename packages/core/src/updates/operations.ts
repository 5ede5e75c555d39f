/** The operations of updates: their form, which is checked once, before an update is stored. `docs/updates.md`. */
import { MAX_DOCUMENT_DEPTH, nestedTooDeeply } from '../depth.js';
import { IsochronError } from '../errors.js';
import { isObject, type JsonObject, normalValue } from './documents.js';

/** One change of a document. A path is a JSON Pointer (RFC 6901); the empty path is the document. */
export type Operation =
  /** Stores a value. */
  | { readonly op: 'set'; readonly path: string; readonly value: unknown }
  /** Removes a member, an item, or the document. */
  | { readonly op: 'remove'; readonly path: string }
  /** RFC 7396. */
  | { readonly op: 'mergePatch'; readonly path: string; readonly patch: unknown }
  /** Adds to a number. */
  | { readonly op: 'increment'; readonly path: string; readonly by: number }
  /** Keeps the greater, or the lesser, of two numbers. */
  | { readonly op: 'max' | 'min'; readonly path: string; readonly value: number }
  /** Treats an array as a set (`arrayUnion`, `arrayRemove`), or as a list that grows at its end (`append`). */
  | { readonly op: 'arrayUnion' | 'arrayRemove' | 'append'; readonly path: string; readonly items: readonly unknown[] }
  /** Stores the wall time of the commit, in ms since 1970. */
  | { readonly op: 'serverTimestamp'; readonly path: string }
  /** Stores a document where there is none. */
  | { readonly op: 'init'; readonly value: unknown };

/** Operations in one update, which are all of one key in a transaction. */
export const MAX_OPERATIONS = 1000;

/** The members of each operation beside `op`. */
const MEMBERS: Readonly<Record<Operation['op'], readonly string[]>> = {
  set: ['path', 'value'],
  remove: ['path'],
  mergePatch: ['path', 'patch'],
  increment: ['path', 'by'],
  max: ['path', 'value'],
  min: ['path', 'value'],
  arrayUnion: ['path', 'items'],
  arrayRemove: ['path', 'items'],
  append: ['path', 'items'],
  serverTimestamp: ['path'],
  init: ['value'],
};

/**
 * The operations of an update.
 * @param text their normal form (F8)
 * @throws IsochronError UPDATE_INVALID: its message names the operation and its fault
 */
export function parseOperations(text: string): readonly Operation[] {
  if (nestedTooDeeply(text, OPERATIONS_DEPTH)) throw invalid(`operations have at most ${MAX_DOCUMENT_DEPTH} levels`);
  const list = normalValue(text);
  if (list === undefined) throw invalid('the operations are not JSON in its normal form');
  return operationsOf(list);
}

/** Most levels of the text of operations: an operation in its array adds two levels to the document. */
export const OPERATIONS_DEPTH = MAX_DOCUMENT_DEPTH + 2;

/**
 * The operations of an update.
 * @param list what `JSON.parse` returns for their text
 * @throws IsochronError UPDATE_INVALID: its message names the operation and its fault
 */
export function operationsOf(list: unknown): readonly Operation[] {
  if (!Array.isArray(list) || list.length === 0) throw invalid('an update is an array of at least one operation');
  checkCount(list.length);
  return list.map((operation: unknown, i) => {
    check(operation, `operations[${i}]`);
    return operation;
  });
}

/** @throws IsochronError UPDATE_INVALID for more operations than one update has */
export function checkCount(count: number): void {
  if (count > MAX_OPERATIONS) throw invalid(`${count} operations are above ${MAX_OPERATIONS} in one update`);
}

const invalid = (why: string): IsochronError => new IsochronError('UPDATE_INVALID', why);

function check(operation: unknown, at: string): asserts operation is Operation {
  if (!isObject(operation)) throw invalid(`${at} has to be an object with \`op\``);
  const { op } = operation;
  if (!isKind(op)) throw invalid(`${at}.op must be one of ${Object.keys(MEMBERS).join(', ')}`);
  const members = MEMBERS[op];
  for (const name of members)
    if (!Object.hasOwn(operation, name)) throw invalid(`${at}: ${op} has to have \`${name}\``);
  for (const name of Object.keys(operation))
    if (name !== 'op' && !members.includes(name)) throw invalid(`${at}: ${op} has no \`${name}\``);
  checkMembers(op, operation, at);
}

const isKind = (op: unknown): op is Operation['op'] => typeof op === 'string' && Object.hasOwn(MEMBERS, op);

const isPointer = (path: unknown): path is string =>
  typeof path === 'string' && (path === '' || path.startsWith('/')) && !/~(?![01])/.test(path);

function checkMembers(op: Operation['op'], operation: JsonObject, at: string): void {
  const { path = '', by = 0, items = [], value, patch } = operation;
  if (!isPointer(path)) throw invalid(`${at}.path has to be a JSON Pointer: empty, or names that each follow a slash`);
  if (typeof by !== 'number') throw invalid(`${at}.by has to be a number`);
  if (!Array.isArray(items)) throw invalid(`${at}.items has to be an array`);
  if ((op === 'max' || op === 'min') && typeof value !== 'number') throw invalid(`${at}.value has to be a number`);
  const levels = path.split('/').length - 1 + Math.max(...[value, patch, operation.items].map(nesting));
  if (levels > MAX_DOCUMENT_DEPTH)
    throw invalid(`${at}: path and value together have ${levels} levels, above ${MAX_DOCUMENT_DEPTH}`);
}

/** Levels of arrays and objects within each other. */
function nesting(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Object.values(value).reduce((deepest: number, inner: unknown) => Math.max(deepest, nesting(inner)), 0);
}

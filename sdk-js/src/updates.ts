/** Operations of updates: changes of a document that merge with the changes of others, in any region (F1). */
import { IsochronError } from '@isochron/core/errors';
import type { Timestamp } from '@isochron/core/ids';
import type { Limits } from '@isochron/core/limits';
import { Fold } from '@isochron/core/updates/fold';
import { type Operation, parseOperations } from '@isochron/core/updates/operations';
import { Update } from '@isochron/core/updates/update';
import { bytesOf, checkSize, decodeDocument, type JsonValue, OPERATIONS, toJson } from './documents.js';

export type { Operation } from '@isochron/core/updates/operations';

function made<O extends Operation>(operation: O): O {
  OPERATIONS.add(operation);
  return operation;
}

/** Whether a change is an operation that a function made. Any other object is a merge patch, whatever its members. */
const isOperation = (change: unknown): boolean => OPERATIONS.has(Object(change) as object);

/** Whether a change is a list of operations, or one alone. */
export const isOperations = (change: unknown): boolean => Array.isArray(change) || isOperation(change);

/** Sets the value at a path (a JSON Pointer; `''` is the document). Missing objects on the way to it are made. */
export const set = (path: string, value: JsonValue): Operation => made({ op: 'set', path, value });

/** Removes the member or the item at a path; the document, if the path is `''`. */
export const remove = (path: string): Operation => made({ op: 'remove', path });

/** Merges a JSON merge patch (RFC 7396) into the value at a path: null removes a member. */
export const mergePatch = (path: string, patch: JsonValue): Operation => made({ op: 'mergePatch', path, patch });

/** Adds to the number at a path. Anything else there is replaced. @param by may be negative */
export const increment = (path: string, by = 1): Operation => made({ op: 'increment', path, by });

/** Raises the number at a path to at least `value`. Anything else there is replaced. */
export const max = (path: string, value: number): Operation => made({ op: 'max', path, value });

/** Lowers the number at a path to at most `value`. Anything else there is replaced. */
export const min = (path: string, value: number): Operation => made({ op: 'min', path, value });

/** Appends the items that the array at a path does not have, by deep equality. Anything else there is replaced. */
export const arrayUnion = (path: string, ...items: JsonValue[]): Operation => made({ op: 'arrayUnion', path, items });

/** Removes the items that equal one of these from the array at a path. Anything else there becomes an empty array. */
export const arrayRemove = (path: string, ...items: JsonValue[]): Operation => made({ op: 'arrayRemove', path, items });

/** Appends items to the array at a path, whether it has them or not. Anything else there is replaced. */
export const append = (path: string, ...items: JsonValue[]): Operation => made({ op: 'append', path, items });

/**
 * Sets the time of the commit, in ms since 1970. Until the commit, the transaction's own reads have null there, and
 * live queries the expected time.
 */
export const serverTimestamp = (path: string): Operation => made({ op: 'serverTimestamp', path });

/**
 * Sets the whole document where there is none. Of several `init` operations only the first takes effect; `client.claim`
 * reports which.
 */
export const init = (value: JsonValue): Operation => made({ op: 'init', value });

/**
 * The update of operations, of one alone, or of a merge patch for the whole document. Throws VALUE_INVALID for what
 * JSON cannot hold, VALUE_TOO_LARGE, and UPDATE_INVALID for operations that nodes would refuse.
 */
export function updateOf(change: unknown, limits: Limits): Update {
  if (bytesOf(change)) throw new IsochronError('VALUE_INVALID', 'bytes are no patch: set them');
  const operations = isOperations(change) ? [change].flat() : [{ op: 'mergePatch', path: '', patch: change }];
  const text = toJson(operations.map((one) => (isOperation(one) ? { ...(one as Operation) } : one)));
  checkSize(text, limits);
  parseOperations(text);
  return new Update(text);
}

/**
 * The document after operations, as every replica has it (F1): for a copy that follows the change feed. `undefined` is
 * no document. Operations that nodes would refuse have no effect.
 *
 * @param timestamp the commit's: `serverTimestamp` stores its time
 */
export function applyOperations(document: unknown, operations: readonly Operation[], timestamp: Timestamp): unknown {
  const fold = new Fold(document === undefined ? null : (bytesOf(document) ?? toJson(document)));
  fold.apply(new Update(JSON.stringify(operations)), { ts: timestamp, txId: '' });
  return decodeDocument(fold.result());
}

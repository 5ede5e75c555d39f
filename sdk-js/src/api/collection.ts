import type { Claimed } from '@isochron/client/session/claim';
import type { Committed } from '@isochron/client/session/outcome';
import { IsochronError } from '@isochron/core/errors';
import type { Content, Value } from '@isochron/core/ids';
import { checkOptions } from '../check-options.js';
import { applyMergePatch, decodeDocument, encodeDocument, type MergePatch } from '../documents.js';
import type { Driver } from '../driver.js';
import { part } from '../parts.js';
import { isOperations, type Operation, updateOf } from '../updates.js';
import { ReadCollection, type WriteOptions } from './read-collection.js';
import { WriteReceipt } from './receipt.js';
import { collectionScope, type HandleSource, type KeyScope, keyIn } from './scope.js';
import { type Watch, watchOf } from './watch.js';
import type { DocumentResult, KeysQuery, QueryResult, RangeQuery } from './watched.js';

/** Options of a claim. */
export interface ClaimOptions extends WriteOptions {
  /** How long to wait for the claim to be stable, in ms, at most 60 000. Default 30 000. */
  readonly timeoutMs?: number;
}

/** The outcome of a claim. */
export interface Claim<T> {
  /** Whether this claim made the document. */
  readonly won: boolean;
  /** The document that the key has; undefined if it was deleted at that very moment, or this user may not read it. */
  readonly value: T | undefined;
}

/** Every read is a transaction of its own. */
export const oneShot = (driver: Driver): HandleSource => ({ driver, handle: () => undefined });

/**
 * Documents under one prefix, outside of transactions: every call is a transaction of its own, and sees all that this
 * session has seen and written before.
 *
 * Inside of a transaction's function they are INVALID_REQUEST, as far as the runtime can detect it: in browsers and in
 * Node before 24, until the function first waits. They are no part of the transaction, which has `set`, `delete` and
 * `update` of its own.
 *
 * Writes are durable when they resolve. They take effect in the order of the calls, each above the one before; those
 * that are made at once are sent together. They reject with VALUE_INVALID, VALUE_TOO_LARGE or KEY_INVALID for wrong
 * input; with OFFLINE when they could not be sent; with OUTCOME_UNKNOWN ({@link OutcomeUnknownError}) when their answer
 * was lost and no node could be asked, or the signal fired after they were sent.
 *
 * @typeParam T type of the documents, unchecked
 */
export class Collection<T = unknown> extends ReadCollection<T> {
  /**
   * Stores a document: JSON, or the bytes of an `ArrayBuffer` or a view of one. It is copied at once: later changes to
   * the object are not stored. A value that JSON would change or leave out is VALUE_INVALID, with its path.
   */
  async set(key: string, document: T, options?: WriteOptions): Promise<WriteReceipt> {
    return this.#write(key, encodeDocument(document, this.source.driver.limits), options);
  }

  /** Deletes a key; a key without a document may be deleted too. */
  async delete(key: string, options?: WriteOptions): Promise<WriteReceipt> {
    return this.#write(key, null, options);
  }

  /**
   * Changes a document by a JSON merge patch (RFC 7396): members are replaced, null removes a member; without a
   * document the patch starts from an empty document. Or by an operation, or a list of them, see {@link increment};
   * inside of a patch or a document an operation is VALUE_INVALID. It reads nothing: the change itself is stored, and
   * merges with those of others, in the order of their commits (F6).
   *
   * Under protocols without `updates`, a patch reads and writes in one transaction, so that the later of two commits
   * wins as a whole, and rejects with VALUE_INVALID for stored bytes; operations reject with NOT_SUPPORTED_BY_PROTOCOL.
   */
  async update(
    key: string,
    change: MergePatch<T> | Operation | readonly Operation[],
    options?: WriteOptions,
  ): Promise<WriteReceipt> {
    const { driver } = this.source;
    if (driver.hasUpdates || isOperations(change)) return this.#write(key, updateOf(change, driver.limits), options);
    return this.#readAndPatch(key, change, options);
  }

  /**
   * Stores a document under a key that has none: a user name, a seat, a job. Of all claims of a key the first in the
   * order of commits wins, in every region, without a lock. Resolves when that is decided: once the claim is stable, a
   * round trip over the slowest link after its commit. While a node or a region is cut off nothing is decided, and it
   * rejects with STABLE_TIMEOUT after `timeoutMs`; repeated with the same `id` it is the same claim (F7).
   *
   * A claim that has lost changes nothing. `value` is the document of the claim that has won.
   */
  async claim<U extends T = T>(key: string, document: T, options: ClaimOptions = {}): Promise<Claim<U>> {
    const { driver } = this.source;
    checkWrite(driver, options, 'timeoutMs');
    const { timeoutMs = 30_000, signal, id } = options;
    const qualified = keyIn(this.scope, key, driver);
    const value = updateOf([{ op: 'init', value: document }], driver.limits);
    // Before the write: the client must be able to decide what it has claimed.
    const { decideClaim: decide } = await part(import('../live/readers.js'));
    const commit = await driver.named.run(id, () =>
      driver.call<Committed>({ f: 'write', key: qualified, value }, signal),
    );
    const call = { f: 'claimed', decide, key: qualified, commit, timeoutMs } as const;
    // Kept with the id: a repetition gets the decision after the snapshot has been collected, too.
    const claimed = await driver.decided.run(id, () => driver.call<Claimed>(call, signal));
    return { won: claimed.won, value: decodeDocument<U>(claimed.value) };
  }

  /** The live state of one document, see {@link Watch}. */
  watch<U extends T = T>(id: string): Watch<DocumentResult<U>>;
  /**
   * The live result of a query, see {@link Watch}: of named keys, or of a range of keys. Throws INVALID_REQUEST for an
   * unknown option, and VALUE_INVALID for a value in `where` that JSON cannot hold; other faults end its readers.
   */
  watch<U extends T = T>(query?: KeysQuery | RangeQuery): Watch<QueryResult<U>>;
  watch(query: string | KeysQuery | RangeQuery = {}): Watch<DocumentResult<T> | QueryResult<T>> {
    return watchOf(this.source.driver, this.scope, query);
  }

  async #readAndPatch(key: string, patch: unknown, options?: WriteOptions): Promise<WriteReceipt> {
    const { driver } = this.source;
    checkWrite(driver, options);
    const qualified = keyIn(this.scope, key, driver);
    return named(driver, options, async () => {
      const handle = driver.begin('transaction');
      try {
        const read = { f: 'read', handle: handle.id, keys: [qualified] } as const;
        const [current] = await driver.call<readonly (Value | null)[]>(read, options?.signal);
        handle.tx.write(qualified, applyMergePatch(current ?? null, patch, driver.limits));
      } catch (error) {
        driver.end(handle);
        throw error;
      }
      return driver.call({ f: 'commit', handle: handle.id }, options?.signal);
    });
  }

  async #write(key: string, value: Content, options?: WriteOptions): Promise<WriteReceipt> {
    const { driver } = this.source;
    checkWrite(driver, options);
    const qualified = keyIn(this.scope, key, driver);
    return named(driver, options, () => driver.call({ f: 'write', key: qualified, value }, options?.signal));
  }
}

/** Throws INVALID_REQUEST for a wrong option, and inside of a transaction's function. @param more its other options */
function checkWrite<O extends WriteOptions>({ inside }: Driver, options: O | undefined, ...more: (keyof O)[]): void {
  checkOptions(options, 'signal', 'id', ...more);
  if (inside.getStore()?.isFinished === false)
    throw new IsochronError('INVALID_REQUEST', 'in a transaction, write with tx.set');
}

async function named(
  driver: Driver,
  options: WriteOptions | undefined,
  write: () => Promise<Committed>,
): Promise<WriteReceipt> {
  return new WriteReceipt(driver, await driver.named.run(options?.id, write));
}

/** A keyspace: all of its keys, and collections in it. */
export class Keyspace extends Collection<unknown> {
  /**
   * The documents under keys `name/<id>`; its methods take and return ids. An id has no slash, or is KEY_INVALID. The
   * documents of `collection('name/7/inner')` are no part of it: a listing or a watch with `deep` has them, too, as
   * `7/inner/<id>`. Throws KEY_INVALID for an empty name.
   */
  collection<T = unknown>(name: string): Collection<T> {
    return new Collection<T>(this.source, collectionScope(this.scope, name));
  }
}

/** @internal */
export const keyspaceOf = (driver: Driver, scope: KeyScope): Keyspace => new Keyspace(oneShot(driver), scope);

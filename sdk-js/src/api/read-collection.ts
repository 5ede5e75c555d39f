import type { QualifiedKey, Value } from '@isochron/core/ids';
import { checkOptions } from '../check-options.js';
import { decodeDocument } from '../documents.js';
import { Listing } from './listing.js';
import type { ListOptions } from './pages.js';
import { type HandleSource, type KeyScope, keyIn, keysIn } from './scope.js';

/** Cancels one call: it rejects with the signal's reason. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Options of a write. */
export interface WriteOptions extends CallOptions {
  /**
   * Name of the write, to repeat it safely: a call with the id of another one is the same write, whatever it writes. If
   * that one has happened, its receipt is returned, and nothing written; while its outcome is unknown, the call rejects
   * with the same OUTCOME_UNKNOWN; if it had no effect, it is done. This client keeps the latest 10 000 ids: after a
   * restart, ask with `client.transactionStatus`.
   */
  readonly id?: string | undefined;
}

/**
 * Documents that can be read. A document is a JSON value, or a `Uint8Array`; every call returns a fresh copy.
 *
 * All reads reject with KEY_INVALID, TOO_MANY_KEYS or KEYSPACE_UNKNOWN for wrong input; with OFFLINE when no node could
 * be reached within `requestTimeoutMs`; with CLIENT_CLOSED; with the reason of an aborted signal. Retryable errors are
 * retried before that, on other endpoints too.
 */
export abstract class ReadCollection<T> {
  /** @internal */
  readonly source: HandleSource;
  /** @internal */
  readonly scope: KeyScope;

  /** @internal */
  constructor(source: HandleSource, scope: KeyScope) {
    this.source = source;
    this.scope = scope;
  }

  /** The document of a key; undefined if absent. A stored JSON null is null. */
  async get<U extends T = T>(key: string, options?: CallOptions): Promise<U | undefined> {
    const qualified = keyIn(this.scope, key, this.source.driver);
    const [value] = await this.#read([qualified], options);
    return decodeDocument<U>(value ?? null);
  }

  /** The documents of several keys, in their order, all of one snapshot and in one round trip. */
  async getMany<U extends T = T>(keys: readonly string[], options?: CallOptions): Promise<(U | undefined)[]> {
    const qualified = keysIn(this.scope, keys, this.source.driver);
    if (qualified.length === 0) return [];
    const values = await this.#read(qualified, options);
    return values.map((value) => decodeDocument<U>(value));
  }

  /** Keys and documents in key order, see {@link Listing}. Throws INVALID_REQUEST for wrong options. */
  list(options: ListOptions = {}): Listing<T> {
    return new Listing<T>(this.source, this.scope, options);
  }

  #read(keys: readonly QualifiedKey[], options: CallOptions | undefined): Promise<readonly (Value | null)[]> {
    checkOptions(options, 'signal');
    const { driver } = this.source;
    return driver.call({ f: 'read', handle: this.source.handle()?.id, keys }, options?.signal);
  }
}

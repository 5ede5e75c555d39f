import type { QualifiedKey, Value } from '@isochron/core/ids';
import { decodeDocument } from '../documents.js';
import type { SessionCore } from '../session/core.js';
import type { SnapshotHandle } from '../session/snapshot-handle.js';
import { Listing, type ListOptions } from './listing.js';
import { keyIn, keysIn, type Scope } from './scope.js';

/** Cancels one call: it rejects with the signal's reason. */
export interface CallOptions {
  readonly signal?: AbortSignal;
}

/** Reads, and lends a handle to a listing. */
export interface HandleSource {
  readonly core: SessionCore;
  /** In order; null where there is no value. Throws, or rejects with, TRANSACTION_FINISHED when there is no handle any more. */
  read(keys: readonly QualifiedKey[], signal: AbortSignal | undefined): Promise<readonly (Value | null)[]>;
  /** Throws TRANSACTION_FINISHED when there is none any more. */
  borrow(): SnapshotHandle;
  /** The read is over. */
  giveBack(handle: SnapshotHandle): void;
}

/**
 * Documents that can be read. A document is what JSON can say, or a `Uint8Array`; every call returns a fresh copy.
 *
 * All reads reject with KEY_INVALID, TOO_MANY_KEYS or KEYSPACE_UNKNOWN for wrong input; with CONNECTION_LOST when no node
 * could be reached within `requestTimeoutMs`; with CLIENT_CLOSED; with the reason of an aborted signal. What can be
 * repeated is repeated before that, on other endpoints too.
 */
export abstract class ReadCollection<T> {
  /** @internal */
  protected readonly source: HandleSource;
  /** @internal */
  protected readonly scope: Scope;

  /** @internal */
  constructor(source: HandleSource, scope: Scope) {
    this.source = source;
    this.scope = scope;
  }

  /** The document of a key; undefined where there is none. A stored JSON null is null. */
  async get(key: string, options?: CallOptions): Promise<T | undefined> {
    const qualified = keyIn(this.scope, key, this.source.core);
    const [value] = await this.source.read([qualified], options?.signal);
    return decodeDocument<T>(value ?? null);
  }

  /** The documents of several keys, in their order, all of one snapshot and in one round trip. */
  async getMany(keys: readonly string[], options?: CallOptions): Promise<(T | undefined)[]> {
    const qualified = keysIn(this.scope, keys, this.source.core);
    if (qualified.length === 0) return [];
    const values = await this.source.read(qualified, options?.signal);
    return values.map((value) => decodeDocument<T>(value));
  }

  /** Keys and documents in key order, see {@link Listing}. Throws INVALID_REQUEST for wrong options. */
  list(options: ListOptions = {}): Listing<T> {
    return new Listing<T>(this.scope, options, () => {
      const handle = this.source.borrow();
      return { handle, done: () => this.source.giveBack(handle) };
    });
  }
}

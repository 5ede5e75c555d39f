import type { Value } from '@isochron/core/ids';
import { applyMergePatch, encodeDocument, type MergePatch } from '../documents.js';
import { commit } from '../session/commits.js';
import type { SessionCore } from '../session/core.js';
import { readKeys } from '../session/reads.js';
import { SnapshotHandle } from '../session/snapshot-handle.js';
import { type CallOptions, type HandleSource, ReadCollection } from './read-collection.js';
import { WriteReceipt } from './receipt.js';
import { collectionScope, keyIn, type Scope } from './scope.js';

/** Every read is a transaction of its own. */
export const oneShot = (core: SessionCore): HandleSource => ({
  core,
  read: (keys, signal) => core.engine.read(keys, signal),
  borrow: () => new SnapshotHandle(core, 'one-shot'),
  giveBack: (handle) => handle.end(),
});

/**
 * Documents under one prefix, outside of transactions: every call is a transaction of its own, and sees all that this session
 * has seen and written before.
 *
 * Writes are durable when they resolve. They are sent one after the other, in the order of the calls. They reject with
 * VALUE_INVALID, VALUE_TOO_LARGE or KEY_INVALID for wrong input; with CONNECTION_LOST when they could not be sent; with
 * OUTCOME_UNKNOWN ({@link OutcomeUnknownError}) when their answer was lost and nobody could be asked, or the signal fired
 * after they were sent.
 *
 * @typeParam T what the documents are; nothing checks it
 */
export class Collection<T = unknown> extends ReadCollection<T> {
  /** Stores a document. It is copied at once: later changes to the object are not stored. */
  async set(key: string, document: T, options?: CallOptions): Promise<WriteReceipt> {
    return this.#write(key, encodeDocument(document, this.source.core.limits), options);
  }

  /** Deletes a key; a key without a document may be deleted too. */
  async delete(key: string, options?: CallOptions): Promise<WriteReceipt> {
    return this.#write(key, null, options);
  }

  /**
   * Changes a document by a JSON merge patch (RFC 7396): members are replaced, null removes one; without a document it starts
   * from an empty one. Reads and writes in one transaction. Of two patches at the same time, the later commit wins as a
   * whole. Rejects with VALUE_INVALID where bytes are stored.
   */
  async update(key: string, patch: MergePatch<T>, options?: CallOptions): Promise<WriteReceipt> {
    const { core } = this.source;
    const qualified = keyIn(this.scope, key, core);
    const handle = new SnapshotHandle(core, 'transaction');
    try {
      const [current] = await readKeys(handle, [qualified], options?.signal);
      handle.tx.write(qualified, applyMergePatch(current ?? null, patch, core.limits));
    } catch (error) {
      handle.end();
      throw error;
    }
    return commitHandle(handle, options?.signal);
  }

  async #write(key: string, value: Value | null, options?: CallOptions): Promise<WriteReceipt> {
    const { core } = this.source;
    const qualified = keyIn(this.scope, key, core);
    return new WriteReceipt(core, await core.engine.write(qualified, value, options?.signal));
  }
}

/** Commits what was written through a handle. */
export async function commitHandle(handle: SnapshotHandle, signal?: AbortSignal): Promise<WriteReceipt> {
  const { core } = handle;
  const begin = () => {
    handle.handOver();
    return handle.tx;
  };
  return new WriteReceipt(core, await commit(core, begin, handle, signal));
}

/** A keyspace: all of its keys, and collections in it. */
export class Keyspace extends Collection<unknown> {
  override get<U = unknown>(key: string, options?: CallOptions): Promise<U | undefined> {
    return super.get(key, options) as Promise<U | undefined>;
  }

  override getMany<U = unknown>(keys: readonly string[], options?: CallOptions): Promise<(U | undefined)[]> {
    return super.getMany(keys, options) as Promise<(U | undefined)[]>;
  }

  /** The documents under keys `name/<id>`; its methods take and return ids. Throws KEY_INVALID for an empty name. */
  collection<T = unknown>(name: string): Collection<T> {
    return new Collection<T>(this.source, collectionScope(this.scope, name));
  }
}

/** @internal */
export const keyspaceOf = (core: SessionCore, scope: Scope): Keyspace => new Keyspace(oneShot(core), scope);

import type { PreparedRecord, Timestamp, TxId } from '@isochron/core';

/** The record of a slice that a map has deferred. */
export interface DeferredRecord extends PreparedRecord {
  readonly deferred: NonNullable<PreparedRecord['deferred']>;
}

/**
 * The slices that maps have deferred (M4, M7): in no queue, and nothing waits for them. A slice with `ct` was committed
 * at that timestamp, and becomes visible when its transaction is committed again; without `ct` it is a vote that counts
 * still.
 */
export class DeferredSlices {
  readonly #byId = new Map<TxId, DeferredRecord>();

  get size(): number {
    return this.#byId.size;
  }

  get(txId: TxId): DeferredRecord | undefined {
    return this.#byId.get(txId);
  }

  add(txId: TxId, record: DeferredRecord): void {
    this.#byId.set(txId, record);
  }

  remove(txId: TxId): void {
    this.#byId.delete(txId);
  }

  /** In the order of their first timestamps (M11). */
  inOrder(): readonly (readonly [TxId, DeferredRecord])[] {
    return [...this.#byId].sort(([a, one], [b, other]) => firstOf(one) - firstOf(other) || (a < b ? -1 : 1));
  }
}

const firstOf = ({ deferred }: DeferredRecord): Timestamp => deferred.first;

/** The name of the record: the record of a later attempt may be written before the deferred record is dropped. */
const PREFIX = 'deferred ';
export const deferredName = (txId: TxId): TxId => `${PREFIX}${txId}`;
export const txIdOfDeferred = (name: TxId): TxId => name.slice(PREFIX.length);

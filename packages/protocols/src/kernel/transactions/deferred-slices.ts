import type { PreparedRecord, Timestamp, TxId } from '@isochron/core';

/** The record of a slice that a map has deferred. */
export interface DeferredRecord extends PreparedRecord {
  readonly deferred: NonNullable<PreparedRecord['deferred']>;
}

/**
 * The slices that maps have deferred (M4, M7), a slice for each attempt: in no queue, and nothing waits for them. A
 * slice with `ct` was committed at that timestamp, and becomes visible when its transaction is committed again; without
 * `ct` the slice is a vote that counts still. A commit that is made again may be deferred again: no vote of either
 * attempt is dropped.
 */
export class DeferredSlices {
  /**
   * What this replica had received of slices of suspended nodes: it counts where such a slice is lost with its node.
   * Everything of a copy but its writes may be unknown.
   */
  readonly copies = new Map<TxId, DeferredRecord>();
  /** In the order of their attempts. */
  readonly #byId = new Map<TxId, readonly DeferredRecord[]>();

  /** Transactions. */
  get size(): number {
    return this.#byId.size;
  }

  /** How many transactions each map has deferred, by the map of their latest slice. */
  get countsByMap(): ReadonlyMap<number, number> {
    const counts = new Map<number, number>();
    for (const slices of this.#byId.values()) {
      const { map } = slices.at(-1)!.deferred;
      counts.set(map, (counts.get(map) ?? 0) + 1);
    }
    return counts;
  }

  /** The slice of the latest attempt. */
  get(txId: TxId): DeferredRecord | undefined {
    return this.of(txId).at(-1);
  }

  /** The slices of all attempts. */
  of(txId: TxId): readonly DeferredRecord[] {
    return this.#byId.get(txId) ?? [];
  }

  add(txId: TxId, record: DeferredRecord): void {
    const others = this.of(txId).filter(({ attempt }) => attempt !== record.attempt);
    this.#byId.set(
      txId,
      [...others, record].sort((a, b) => a.attempt - b.attempt),
    );
  }

  remove(txId: TxId): void {
    this.#byId.delete(txId);
  }

  /** Every transaction, in the order of their first timestamps (M11). */
  inOrder(): readonly (readonly [TxId, readonly DeferredRecord[]])[] {
    return [...this.#byId].sort(([a, [one]], [b, [other]]) => firstOf(one!) - firstOf(other!) || (a < b ? -1 : 1));
  }
}

const firstOf = ({ deferred }: DeferredRecord): Timestamp => deferred.first;

/** The name of the record of an attempt. */
export const deferredName = (txId: TxId, attempt: number): TxId => `deferred ${attempt} ${txId}`;
/** The name of the record of a copy. */
export const copyName = (txId: TxId): TxId => `copy ${txId}`;
export const isCopyName = (name: TxId): boolean => name.startsWith('copy ');
export const txIdOfCopy = (name: TxId): TxId => name.slice('copy '.length);
export const txIdOfDeferred = (name: TxId): TxId => name.replace(/^deferred \d+ /, '');

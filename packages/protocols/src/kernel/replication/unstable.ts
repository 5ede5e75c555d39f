import type { ClusterMap, LoggedTx, PartitionId, RegionId, Timestamp } from '@isochron/core';

/** The record of the lowest map that a source of a replica's copy had adopted. */
export const copiedUnder = (partition: PartitionId): string => `copiedUnder/${partition}`;

/** A transaction that a replica has applied. */
export interface UnstableTx {
  readonly ct: Timestamp;
  /** The region that committed it. */
  readonly region: RegionId;
  readonly tx: LoggedTx;
  /** The version of a map that a peer had adopted when this was copied from there: no earlier map defers it. */
  readonly map?: number;
}

/** The transactions that a replica has applied above the stable time: a map that suspends nodes may defer them (M4). */
export class Unstable {
  /** Whether the transactions that the process before has applied are in here. */
  isWhole = false;
  #txs: UnstableTx[] = [];
  /** The list is looked through once it is twice as long as after the last look. */
  #most = 64;

  add(tx: UnstableTx, stable: Timestamp): void {
    // Taken back before.
    if (tx.tx.writes.length === 0) return;
    this.#txs.push(tx);
    if (this.#txs.length < this.#most) return;
    this.#txs = this.#txs.filter(({ ct }) => ct > stable);
    this.#most = Math.max(64, 2 * this.#txs.length);
  }

  /** The transactions above a stable time; undefined while some of them are not known. */
  above(stable: Timestamp): readonly UnstableTx[] | undefined {
    return this.isWhole ? this.#txs.filter(({ ct }) => ct > stable) : undefined;
  }

  /** Takes out, and returns, the transactions above the horizon of a map that meet a condition, in their order. */
  take({ version, horizon }: ClusterMap, isTaken: (tx: UnstableTx) => boolean): UnstableTx[] {
    const isLater = ({ ct, map = 0 }: UnstableTx) => ct > horizon && map < version;
    const taken = new Set(this.#txs.filter((tx) => isLater(tx) && isTaken(tx)));
    this.#txs = this.#txs.filter((tx) => !taken.has(tx));
    return [...taken].sort((a, b) => a.ct - b.ct || (a.tx.txId < b.tx.txId ? -1 : 1));
  }
}

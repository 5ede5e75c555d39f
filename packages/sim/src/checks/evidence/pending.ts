import type { PartitionId, RegionId, Timestamp } from '@isochron/core';
import { MinHeap } from '@isochron/simulated-world/min-heap';
import type { CommittedTx, Ledger } from './ledger.js';

/** Committed transactions, until a node reports that every replica has them. */
export class Pending {
  readonly #committed = new MinHeap<CommittedTx>((a, b) => a.ct < b.ct);

  constructor(readonly ledger: Ledger) {}

  push(tx: CommittedTx): void {
    this.#committed.push(tx);
  }

  /**
   * Every replica is reported to have all up to there: returns the transactions that a replica never had on its disk,
   * and that no lost disk excuses.
   *
   * @param isAway replicas that do not count
   */
  claimed(upTo: Timestamp, isAway?: (partition: PartitionId, region: RegionId) => boolean): CommittedTx[] {
    const missing: CommittedTx[] = [];
    for (;;) {
      const tx = this.#committed.peek();
      if (tx === undefined || tx.ct > upTo) return missing;
      this.#committed.pop();
      if (this.ledger.isDeferred(tx.txId, tx.ct)) continue;
      if (!this.ledger.isInstalled(tx.txId, isAway) && !this.ledger.isDamaged(tx.txId)) missing.push(tx);
    }
  }
}

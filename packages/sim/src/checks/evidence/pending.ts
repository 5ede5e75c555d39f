import type { Timestamp } from '@isochron/core';
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
   * Every replica is reported to have all up to there: returns those that a replica never had on its disk, and that no
   * lost disk excuses.
   */
  claimed(upTo: Timestamp): CommittedTx[] {
    const missing: CommittedTx[] = [];
    for (;;) {
      const tx = this.#committed.peek();
      if (tx === undefined || tx.ct > upTo) return missing;
      this.#committed.pop();
      if (!this.ledger.isInstalled(tx.txId) && !this.ledger.isDamaged(tx.txId)) missing.push(tx);
    }
  }
}

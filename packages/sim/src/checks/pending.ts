import type { Timestamp } from '@isochron/core';
import { MinHeap } from '@isochron/simulated-world/min-heap';
import type { Committed, Ledger } from './ledger.js';

/** Committed transactions, until a node reports that every replica has them. */
export class Pending {
  readonly #committed = new MinHeap<Committed>((a, b) => a.ct < b.ct);

  constructor(readonly ledger: Ledger) {}

  push(tx: Committed): void {
    this.#committed.push(tx);
  }

  /**
   * Every replica is reported to have all up to there: returns those that a replica never had on its disk, and that no
   * lost disk excuses.
   */
  claimed(upTo: Timestamp): Committed[] {
    const missing: Committed[] = [];
    for (;;) {
      const tx = this.#committed.peek();
      if (tx === undefined || tx.ct > upTo) return missing;
      this.#committed.pop();
      if (!this.ledger.isInstalled(tx.txId) && !this.ledger.isDamaged(tx.txId)) missing.push(tx);
    }
  }
}

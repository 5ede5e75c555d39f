import type { Timestamp } from '@isochron/core';
import { MinHeap } from '../engine/min-heap.js';
import type { Committed, Ledger } from './ledger.js';

/** What is committed, until somebody claims that every replica has it. */
export class Pending {
  readonly #committed = new MinHeap<Committed>((a, b) => a.ct < b.ct);

  constructor(readonly ledger: Ledger) {}

  push(tx: Committed): void {
    this.#committed.push(tx);
  }

  /** Every replica is said to have all up to there: what of it a replica never had on its disk, and no lost disk excuses. */
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

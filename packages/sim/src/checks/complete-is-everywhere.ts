import type { NodeId, PartitionId, RegionId, Timestamp } from '@isochron/core';
import type { Check, CheckContext } from './check.js';
import type { Committed, Ledger, LedgerListener } from './ledger.js';
import { Pending } from './pending.js';

/**
 * What a node calls fully replicated, or lets a client forget for that reason, every replica has on its disk, with all that its region wrote there before:
 * of protocols whose transactions write one key. Histories hardly ever show it: an effect must overtake its cause where somebody reads both.
 *
 * A disk that is lost or goes back afterwards proves nobody a liar, as with stable times: once is enough.
 */
export class CompleteIsEverywhere implements Check, LedgerListener {
  readonly name = 'complete-is-everywhere';
  readonly #pending = new Map<string, Pending>();

  constructor(
    readonly context: CheckContext,
    readonly ledger: Ledger,
  ) {
    ledger.listen(this);
  }

  onCommitted(tx: Committed): void {
    for (const [partition, { region }] of tx.slices) this.#of(partition, region).push(tx);
  }

  complete(node: NodeId, partition: PartitionId, region: RegionId, upTo: Timestamp): void {
    for (const { txId, ct } of this.#of(partition, region).claimed(upTo)) {
      const message = `${node} says that all of ${region} on ${partition} up to ${upTo} is everywhere; a replica lacks ${txId} of ${ct}`;
      this.context.fail(this.name, message, [txId, node]);
    }
  }

  #of(partition: PartitionId, region: RegionId): Pending {
    const source = `${partition}|${region}`;
    let pending = this.#pending.get(source);
    if (pending === undefined) {
      pending = new Pending(this.ledger);
      this.#pending.set(source, pending);
    }
    return pending;
  }
}

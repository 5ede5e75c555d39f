import type { NodeId, PartitionId, RegionId, Timestamp } from '@isochron/core';
import type { Check, CheckContext } from '../check.js';
import type { CommittedTx, Ledger, LedgerListener } from '../evidence/ledger.js';
import { Pending } from '../evidence/pending.js';

/**
 * Under protocols whose transactions write one key: when a node reports a version as fully replicated, or lets a client
 * drop it for that reason, every replica has it on disk, with everything that its region wrote there before. Histories
 * rarely show a violation: an effect must overtake its cause where a client reads both.
 *
 * It is enough that a replica had the version once: a disk may be lost or rolled back afterwards, as with stable times.
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

  onCommitted(tx: CommittedTx): void {
    for (const [partition, { region }] of tx.slices) this.#of(partition, region).push(tx);
  }

  complete(node: NodeId, partition: PartitionId, region: RegionId, upTo: Timestamp): void {
    for (const { txId, ct } of this.#of(partition, region).claimed(upTo)) {
      const message = `${node} reports all of ${region} on ${partition} up to ${upTo} as fully replicated; a replica lacks ${txId} of ${ct}`;
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

import type { LogGroup, NodeId, PartitionId, Timestamp, TxId, Version } from '@isochron/core';
import type { Check, CheckContext } from '../check.js';
import type { Ledger } from '../evidence/ledger.js';

/**
 * Persist before you promise (D1): the records behind a prepare, a commit, a Replicate or a read are on disk when it
 * leaves.
 */
export class PromisesAreDurable implements Check {
  readonly name = 'promises-are-durable';

  constructor(
    readonly context: CheckContext,
    readonly ledger: Ledger,
  ) {}

  prepared(node: NodeId, partition: PartitionId, txId: TxId, attempt: number, pt: Timestamp): void {
    if (this.ledger.isPrepared(txId, attempt, partition, pt) || this.ledger.isDamaged(txId)) return;
    this.#fail(`${node} promises ${txId} prepared on ${partition} at ${pt}; its disk does not have it`, txId, node);
  }

  replicated(node: NodeId, partition: PartitionId, groups: readonly LogGroup[]): void {
    const region = this.context.topology.regionOf(node);
    for (const { ct, txs } of groups) {
      for (const { txId, writes } of txs) {
        const lost = writes.find(({ key }) => !this.ledger.isDurable(txId, region, key));
        if (lost === undefined || this.ledger.isDamaged(txId) || this.ledger.isDeferred(txId, ct)) continue;
        this.#fail(`${node} replicates ${txId} of ${ct} on ${partition}; its disk has no such ${lost.key}`, txId, node);
      }
    }
  }

  revealed(node: NodeId, partition: PartitionId, versions: readonly Version[]): void {
    const region = this.context.topology.regionOf(node);
    for (const version of versions) {
      const { txId, ts } = version;
      if (this.ledger.holds(version, region, partition)) continue;
      if (this.ledger.isDamaged(txId) || this.ledger.isDeferred(txId, ts)) continue;
      this.#fail(`${node} shows ${txId} of ${ts} on ${partition} to a reader; its disk does not have it`, txId, node);
    }
  }

  #fail(message: string, ...about: string[]): void {
    this.context.fail(this.name, message, about);
  }
}

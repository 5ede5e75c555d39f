import type { DurableFact, NodeId, PartitionId, Timestamp } from '@isochron/core';
import type { Check, CheckContext } from '../check.js';
import type { Ledger } from '../evidence/ledger.js';

/**
 * No proposal at or below a published version clock (P1), and no version is applied below it: a replica that has sent a
 * version clock gets no further version up to it, also not after a restart (D7).
 */
export class NothingBelowVersionClock implements Check {
  readonly name = 'nothing-below-version-clock';
  readonly #published = new Map<NodeId, Map<PartitionId, Timestamp>>();

  constructor(
    readonly context: CheckContext,
    readonly ledger: Ledger,
  ) {}

  published(node: NodeId, partition: PartitionId, clock: Timestamp): void {
    let clocks = this.#published.get(node);
    if (clocks === undefined) {
      clocks = new Map();
      this.#published.set(node, clocks);
    }
    if (clock > (clocks.get(partition) ?? 0)) clocks.set(partition, clock);
  }

  /**
   * A node without its disk may not go below the clocks that others have received; promises that were not delivered do
   * not count.
   */
  onDataLoss(node: NodeId): void {
    this.#published.delete(node);
  }

  wrote(node: NodeId, record: DurableFact): void {
    if (record.kind === 'prepared' && record.record !== null && record.record.deferred === undefined) {
      const { pt, ct = pt } = record.record;
      this.#above(node, record.partition, ct, `${record.txId} a proposal`, record.txId);
    } else if (record.kind === 'log' && record.source === undefined && record.tx.writes.length > 0) {
      this.#above(node, record.partition, record.ct, `${record.tx.txId} a commit`, record.tx.txId);
    }
  }

  #above(node: NodeId, partition: PartitionId, ts: Timestamp, what: string, txId: string): void {
    const clock = this.#published.get(node)?.get(partition) ?? 0;
    // A node that has not noticed its loss repeats earlier decisions.
    if (ts > clock || this.ledger.isUnaware(node)) return;
    const message = `${node} gives ${what} of ${ts} on partition ${partition}, whose version clock ${clock} was published`;
    this.context.fail(this.name, message, [txId, node]);
  }
}

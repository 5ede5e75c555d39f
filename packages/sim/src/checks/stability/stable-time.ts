import type { DurableFact, NodeId, PartitionId, RegionId, Timestamp, Topology } from '@isochron/core';
import type { Check, CheckContext } from '../check.js';
import type { CommittedTx, Ledger, LedgerListener } from '../evidence/ledger.js';
import { Pending } from '../evidence/pending.js';

/**
 * UST is never above the durable version vector of a replica on a member: every such replica has everything at or
 * below a node's stable time on disk, and no commit below it is possible any more.
 */
export class StableIsInstalled implements Check, LedgerListener {
  readonly name = 'stable-is-installed';
  #highest: Timestamp = 0;
  #reporter = '';
  readonly #pending: Pending;

  constructor(
    readonly context: CheckContext,
    readonly ledger: Ledger,
    /** The adopted map of a node whose members have to have everything up to a stable time. */
    readonly mapFor: (node: NodeId, stable: Timestamp) => Topology,
  ) {
    this.#pending = new Pending(ledger);
    ledger.listen(this);
  }

  onCommitted(tx: CommittedTx): void {
    if (tx.ct <= this.#highest && !this.#isAway(tx)) {
      this.#fail(
        `${tx.txId} was committed at ${tx.ct}, and ${this.#reporter} had reported ${this.#highest} as stable`,
        tx,
      );
    }
    this.#pending.push(tx);
  }

  /** No member has a replica of its partitions: none is read above the horizon before its node has passed that (M6). */
  #isAway({ slices }: CommittedTx): boolean {
    const topology = this.mapFor(this.#reporter, this.#highest);
    const { partitions } = topology;
    return [...slices.keys()].every((id) => partitions[id]!.regions.every((region) => !topology.hasMember(id, region)));
  }

  stable(node: NodeId, ust: Timestamp): void {
    if (ust <= this.#highest) return;
    this.#highest = ust;
    this.#reporter = node;
    const topology = this.mapFor(node, ust);
    const isAway = (partition: PartitionId, region: RegionId) => !topology.hasMember(partition, region);
    for (const tx of this.#pending.claimed(ust, isAway))
      this.#fail(
        `${node} reports ${ust} as stable, but ${tx.txId} of ${tx.ct} is not on the disk of every replica`,
        tx,
      );
  }

  #fail(message: string, { txId }: CommittedTx): void {
    this.context.fail(this.name, message, [txId]);
  }
}

/** The stable time that a node sends never falls while the process lives; the one on its disk never falls at all. */
export class StableTimeIsMonotonic implements Check {
  readonly name = 'monotonic-stable-time';
  /** By node and by the sender of the announcement. */
  readonly #announced = new Map<NodeId, Map<NodeId, Timestamp>>();
  readonly #durable = new Map<NodeId, Timestamp>();

  constructor(readonly context: CheckContext) {}

  announced(node: NodeId, to: NodeId, ust: Timestamp): void {
    let announced = this.#announced.get(node);
    if (announced === undefined) {
      announced = new Map();
      this.#announced.set(node, announced);
    }
    const before = announced.get(to) ?? 0;
    if (ust < before) this.#fail(`${node} sends ${to} the stable time ${ust} after ${before}`, node);
    announced.set(to, ust);
  }

  durable(node: NodeId, records: readonly DurableFact[]): void {
    for (const record of records) {
      if (record.kind !== 'meta' || record.name !== 'ust' || typeof record.value !== 'number') continue;
      const before = this.#durable.get(node) ?? 0;
      if (record.value < before) this.#fail(`${node} writes the stable time ${record.value} over ${before}`, node);
      this.#durable.set(node, record.value);
    }
  }

  crashed(node: NodeId): void {
    this.#announced.delete(node);
  }

  onDataLoss(node: NodeId): void {
    this.#durable.delete(node);
  }

  #fail(message: string, node: NodeId): void {
    this.context.fail(this.name, message, [node]);
  }
}

import type { NodeId, PartitionId } from '@isochron/core';
import type { Loss } from '@isochron/protocols';
import type { MemoryState } from '@isochron/storage';
import type { Check, CheckContext } from '../check.js';
import type { CommittedTx, Ledger, LedgerListener } from '../evidence/ledger.js';

/**
 * Every node reports a transaction of which a lost disk took a part, and where no reader sees versions above the stable
 * time, no part of it is left (D10). Checked when all is healed. Excused are transactions each of whose cohorts has
 * lost its disk, as no survivor has their list of cohorts, and those whose missing part no peer has received anything
 * of: the node of the older disk does not notice.
 */
export class LossesAreSettled implements Check, LedgerListener {
  readonly name = 'losses-are-settled';
  readonly #committed: CommittedTx[] = [];

  constructor(
    readonly context: CheckContext,
    readonly ledger: Ledger,
    readonly disk: (node: NodeId) => MemoryState,
    readonly losses: (node: NodeId) => readonly Loss[],
    /** Whether the protocol's snapshots are stable: surviving parts are taken back. */
    readonly takesBack: boolean,
  ) {
    ledger.listen(this);
  }

  onCommitted(tx: CommittedTx): void {
    this.#committed.push(tx);
  }

  converged(): void {
    for (const tx of this.#committed) if (this.ledger.isDamaged(tx.txId)) this.#settled(tx);
  }

  #settled(tx: CommittedTx): void {
    const isLost = (id: PartitionId) => !this.#isLeft(tx, id) && !this.ledger.isUnnoticed(tx.txId, id);
    const lost = this.ledger.lostSlices(tx.txId).filter(isLost);
    if (lost.length === 0) return;
    const left = [...tx.slices.keys()].filter((partition) => this.#isLeft(tx, partition));
    if (left.length === 0 || this.ledger.isUntraced(tx.txId)) return;
    if (this.takesBack) {
      const message = `of ${tx.txId} partitions ${left.join()} are left, and those on partitions ${lost.join()} are lost`;
      this.context.fail(this.name, message, [tx.txId]);
    }
    for (const node of this.context.topology.nodes) {
      if (this.context.isGone?.(node)) continue;
      if (this.losses(node).some(({ txId }) => txId === tx.txId)) continue;
      this.context.fail(this.name, `${node} does not report that a part of ${tx.txId} is lost`, [tx.txId, node]);
    }
  }

  /** Whether a replica still stores a version of its slice. The ledger tells collected slices from lost ones. */
  #isLeft({ txId, slices }: CommittedTx, partition: PartitionId): boolean {
    const { topology } = this.context;
    return topology.partitions[partition]!.regions.some((region) => {
      const chains = this.disk(topology.replicaNode(partition, region)!).partitions.get(partition)?.chains;
      return slices
        .get(partition)!
        .writes.some(({ key }) => chains?.get(key)?.some((version) => version.txId === txId));
    });
  }
}

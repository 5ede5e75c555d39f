import type { NodeId, Timestamp, TxId } from '@isochron/core';
import type { Loss } from '@isochron/protocols';
import type { Check, CheckContext } from '../check.js';
import type { AppliedVersions } from '../evidence/applied-versions.js';

/**
 * The status of a transaction is that of its attempts together (D4, D10), and every node reports the same: where a disk
 * has a version of it, it is neither aborted nor lost. Damaged transactions are not excused. Only the part that is kept
 * because readers may have seen it belongs to a lost one.
 */
export class FinalStatusesAreTrue implements Check {
  readonly name = 'final-statuses';
  readonly #first = new Map<TxId, { readonly node: NodeId; readonly status: string }>();

  constructor(
    readonly context: CheckContext,
    readonly applied: Pick<AppliedVersions, 'of'>,
    readonly losses: (node: NodeId) => readonly Loss[],
  ) {}

  finalStatus(txId: TxId, node: NodeId, status: string, ts: Timestamp | null): void {
    // Not every replica has answered in time.
    if (status === 'unknown') return;
    const first = this.#first.get(txId) ?? { node, status };
    this.#first.set(txId, first);
    if (first.status !== status)
      this.#fail(txId, `${first.node} reports ${txId} as ${first.status}, ${node} as ${status}`);
    const found = this.applied.of(txId);
    const [version] = found;
    if (version === undefined) return;
    if (status === 'committed' && !found.includes(ts!))
      this.#fail(txId, `${node} reports ${txId} as committed at ${ts}, disks have it at ${version}`);
    if (status === 'aborted' || (status === 'lost' && !this.#isKept(txId, version)))
      this.#fail(txId, `${node} reports ${txId} as ${status}, disks have it at ${version}`);
  }

  /** Whether the version is the part of a lost transaction that was not taken back. */
  #isKept(txId: TxId, version: Timestamp): boolean {
    const losses = this.context.topology.nodes.flatMap((node) => this.losses(node));
    return losses.some((loss) => loss.txId === txId && loss.ts === version && !loss.takenBack);
  }

  #fail(txId: TxId, message: string): void {
    this.context.fail(this.name, message, [txId]);
  }
}

/**
 * A cohort's reports to a node that has lost its disk, and its prepares that wait for that node's verdict (D10,
 * `settlement.ts`).
 */
import type {
  KeyWrite,
  LoggedTx,
  NodeId,
  OutcomeRecord,
  PartitionId,
  PreparedRecord,
  QualifiedKey,
  Timestamp,
  TxId,
} from '@isochron/core';
import type { NodeState } from '../node-state.js';
import type { CommittedQueue } from './committed-queue.js';
import { cohortsIn } from './digest.js';
import type { Known } from './known.js';
import type { OutcomeResp, Suspect } from './messages.js';
import type { PreparedQueue } from './prepared-queue.js';

const keysOf = (writes: readonly KeyWrite[]): QualifiedKey[] => writes.map(({ key }) => key);

export class Suspects {
  /** Prepared transactions that wait for a verdict, and the node that decides. */
  readonly #waiting = new Map<TxId, NodeId>();

  constructor(
    readonly partition: PartitionId,
    readonly state: NodeState,
    readonly prepared: PreparedQueue,
    readonly committed: CommittedQueue,
  ) {}

  /** Whether commit messages and votes must not decide a prepared transaction for now. */
  awaitVerdict(txId: TxId): boolean {
    return this.#waiting.has(txId);
  }

  /**
   * Transactions with a cohort on the node that are not in the log yet. Those that are prepared wait for the verdict
   * from now on.
   */
  report(node: NodeId): Suspect[] {
    const suspects: Suspect[] = [];
    for (const { txId, record } of this.prepared.values()) {
      const partitions = this.partitionsOn(node, record);
      if (partitions.length === 0) continue;
      this.#waiting.set(txId, node);
      const { attempt, pt: ts, writes } = record;
      suspects.push({ txId, attempt, committed: false, ts, partitions, keys: keysOf(writes) });
    }
    for (const tx of this.committed.values()) suspects.push(...this.suspect(node, tx.ct, tx, tx));
    return suspects;
  }

  /** A transaction that this cohort has committed, where it had a cohort on the node. */
  suspect(
    node: NodeId,
    ts: Timestamp,
    { txId, writes, siblings }: Pick<LoggedTx, 'txId' | 'writes' | 'siblings'>,
    outcome: Pick<OutcomeRecord, 'attempt' | 'digest'> | undefined,
  ): Suspect[] {
    const suspect = { txId, committed: true, ts, keys: keysOf(writes) };
    // Copied data have only the node's own partitions.
    if (node === this.state.node && siblings !== undefined)
      return [{ ...suspect, attempt: 0, partitions: [this.partition, ...siblings] }];
    if (!outcome?.digest) return [];
    const partitions = this.partitionsOn(node, cohortsIn(outcome.digest));
    return partitions.length === 0 ? [] : [{ ...suspect, attempt: outcome.attempt, partitions }];
  }

  /** Partitions of a transaction whose cohort is on the node. */
  partitionsOn(
    node: NodeId,
    { home, avoid, cohorts }: Pick<PreparedRecord, 'home' | 'avoid' | 'cohorts'>,
  ): PartitionId[] {
    const { topology } = this.state;
    return cohorts.filter((partition) => topology.cohort(partition, home, avoid).node === node);
  }

  /** A transaction is decided. */
  ended(txId: TxId): void {
    this.#waiting.delete(txId);
  }

  /** The node that lost its disk has decided about all transactions that waited for it. */
  resume(node: NodeId): void {
    for (const [txId, waitsFor] of this.#waiting) if (waitsFor === node) this.#waiting.delete(txId);
  }

  /**
   * The state of a transaction: a commit of which a lost disk took a part is no commit; while that is open, it is
   * undecided.
   */
  reportedState(txId: TxId, known: Known | undefined): OutcomeResp['state'] | undefined {
    const loss = this.state.losses.get(txId);
    if (loss !== undefined && (known?.state !== 'committed' || known.ct === loss.ts)) return 'reported';
    if (known?.state === 'committed' && this.#isOpen(known.ct, known.digest)) return 'prepared';
    return known?.state;
  }

  /** Whether a transaction that is committed here may have lost a part with a disk, and that is open. */
  #isOpen(ts: Timestamp, digest: string): boolean {
    const { stable, membership } = this.state;
    if (membership.unsettledPeers.size === 0 || ts <= stable.aggregated || digest === '') return false;
    const record = cohortsIn(digest);
    return [...membership.unsettledPeers].some((node) => this.partitionsOn(node, record).length > 0);
  }
}

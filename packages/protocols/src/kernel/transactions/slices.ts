/**
 * The slices of transactions at a cohort, and their states (Algorithm 3 lines 9–19, with D1–D5, P11):
 *
 * | state       | where the slice is                                          | next                          |
 * | ----------- | ----------------------------------------------------------- | ----------------------------- |
 * | `prepared`  | `prepared`, and its record                                  | committed, aborted            |
 * | `committed` | `committed`; log and outcome once it is reported or applied | applied, taken back (D10)     |
 * | `aborted`   | its tombstone among the outcomes                            | prepared, as a later attempt  |
 */
import type {
  LoggedTx,
  NodeId,
  OutcomeRecord,
  PartitionId,
  PreparedRecord,
  Timestamp,
  TxId,
  WallMs,
} from '@isochron/core';
import type { Address, Effects } from '../../machine.js';
import type { NodeState } from '../node-state.js';
import type { Outcomes } from '../outcomes.js';
import { type Committed, CommittedQueue } from './committed-queue.js';
import { digestWrites, fullDigest } from './digest.js';
import type { Known } from './known.js';
import type { PrepareReq } from './messages.js';
import { type Prepared, PreparedQueue } from './prepared-queue.js';
import { isRepeatable } from './repeats.js';
import type { SnapshotRules } from './snapshots.js';

type Out = Effects<never>;

export class Slices {
  readonly prepared = new PreparedQueue();
  readonly committed = new CommittedQueue();
  /** Of the whole cohort. */
  readonly counters = {
    prepares: 0,
    repeats: 0,
    refusals: 0,
    commits: 0,
    aborts: 0,
    resolved: 0,
    ignored: 0,
    outsiders: 0,
  };

  constructor(
    readonly partition: PartitionId,
    readonly state: NodeState,
    readonly rules: SnapshotRules,
    readonly outcomes: Outcomes,
  ) {}

  /** Estimated memory of the undecided and unapplied writes. */
  get pendingBytes(): number {
    return this.prepared.bytes + this.committed.bytes;
  }

  /**
   * What the cohort knows of a transaction; undefined if it is new here.
   *
   * @param sentAfter if known, saves new transactions the look at the disk; 0 otherwise
   */
  known(txId: TxId, sentAfter: Timestamp): Known | undefined {
    const prepared = this.prepared.get(txId);
    if (prepared !== undefined) return { state: 'prepared', prepared };
    const committed = this.committed.get(txId);
    if (committed !== undefined) {
      return { state: 'committed', ct: committed.ct, attempt: committed.attempt, digest: committed.digest };
    }
    const outcome = this.outcomes.get(txId, sentAfter);
    if (outcome?.status === 'committed') {
      return { state: 'committed', ct: outcome.ts, attempt: outcome.attempt, digest: outcome.digest ?? '' };
    }
    return outcome === undefined ? undefined : { state: 'aborted', ts: outcome.ts, attempt: outcome.attempt };
  }

  /** Counts and reports a message about a transaction from a node that has no part in it (D12). */
  ignoreOutsider(type: string, txId: TxId, { node: from }: Address): void {
    this.counters.outsiders++;
    this.state.outsider?.({ type, from, txId, partition: this.partition });
  }

  /** Holds a slice at its proposed timestamp until the decision. */
  prepare(request: PrepareReq, pt: Timestamp, coordinator: NodeId, now: WallMs, out: Out): void {
    const { identity, writes, sentAfter, deps } = request;
    const { txId, attempt, home, epoch, cohorts, avoid } = identity;
    const record: PreparedRecord = {
      pt,
      home,
      attempt,
      sentAfter,
      epoch,
      cohorts,
      digest: fullDigest(digestWrites(writes, request.principal), identity),
      coordinator,
      writes,
      deps,
      repeatable: isRepeatable(request) || undefined,
      avoid,
    };
    this.prepared.add({ txId, record, since: now });
    out.write({ kind: 'prepared', partition: this.partition, txId, record });
  }

  /** Commits a slice that was not prepared, with one durable write (P11). */
  commitAtOnce(request: PrepareReq, ct: Timestamp, out: Out): void {
    const { identity, writes } = request;
    const { txId, attempt } = identity;
    const digest = fullDigest(digestWrites(writes, request.principal), identity);
    const deps = this.rules.stamp(request.deps, ct, this.state.region);
    const siblings = this.#siblings(identity);
    const repeatable = isRepeatable(request) || undefined;
    this.committed.add({ txId, ct, attempt, digest, writes, deps, siblings, repeatable, logged: true });
    this.counters.commits++;
    this.#write({ txId, writes, deps, siblings, repeatable }, { status: 'committed', ts: ct, attempt, digest }, out);
  }

  /** The decision about a prepared slice: it takes effect at `ct`. */
  commit({ txId, record }: Prepared, ct: Timestamp): void {
    this.state.clock.observe(ct);
    this.prepared.remove(txId);
    this.counters.commits++;
    const { attempt, digest, writes, repeatable } = record;
    const deps = this.rules.stamp(record.deps, ct, this.state.region);
    const siblings = this.#siblings(record);
    this.committed.add({ txId, ct, attempt, digest, writes, deps, siblings, repeatable, logged: false });
  }

  /** The decision about a prepared slice: its attempt never commits. */
  abort({ txId, record }: Prepared, now: WallMs, out: Out): void {
    this.prepared.remove(txId);
    this.counters.aborts++;
    out.write({ kind: 'prepared', partition: this.partition, txId, record: null });
    this.outcomes.tombstone(txId, record.attempt, now, out);
  }

  /** A lost disk took a part of a committed slice's transaction: it is not applied (D10). */
  takeBack(tx: Committed, out: Out): void {
    this.committed.remove(tx);
    if (!tx.logged) out.write({ kind: 'prepared', partition: this.partition, txId: tx.txId, record: null });
  }

  /** Log entry and outcome of a slice in place of its prepare; nothing if that has been done. */
  keepCommitted(tx: Committed, out: Out): void {
    if (tx.logged) return;
    const { txId, ct, attempt, digest, writes, deps, siblings, repeatable } = tx;
    this.#write({ txId, writes, deps, siblings, repeatable }, { status: 'committed', ts: ct, attempt, digest }, out);
    out.write({ kind: 'prepared', partition: this.partition, txId, record: null });
  }

  /**
   * A commit decision stands after any crash and any loss (D10): it is on disk before it is sent, also if it is not
   * applied yet.
   */
  keepDecided(txId: TxId, out: Out): void {
    const tx = this.committed.get(txId);
    if (tx === undefined || tx.logged) return;
    this.keepCommitted(tx, out);
    this.committed.logged(tx);
  }

  /** Partitions of a transaction whose cohort is on the node. */
  partitionsOn(
    node: NodeId,
    { home, avoid, cohorts }: Pick<PreparedRecord, 'home' | 'avoid' | 'cohorts'>,
  ): PartitionId[] {
    const { topology } = this.state;
    return cohorts.filter((partition) => topology.cohort(partition, home, avoid).node === node);
  }

  /** The other partitions of a transaction that have their cohorts on this node; undefined without any. */
  #siblings(record: Pick<PreparedRecord, 'home' | 'avoid' | 'cohorts'>): readonly PartitionId[] | undefined {
    const here = this.partitionsOn(this.state.node, record);
    const others = here.filter((partition) => partition !== this.partition);
    return others.length === 0 ? undefined : others;
  }

  #write(tx: LoggedTx, outcome: OutcomeRecord, out: Out): void {
    out.write({ kind: 'log', partition: this.partition, ct: outcome.ts, tx });
    this.outcomes.write(tx.txId, outcome, out);
  }
}

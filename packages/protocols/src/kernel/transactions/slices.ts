/**
 * The slices of transactions at a cohort, and their states (Algorithm 3 lines 9–19, with D1–D5, P11):
 *
 * | state       | where the slice is                                          | next                          |
 * | ----------- | ----------------------------------------------------------- | ----------------------------- |
 * | `prepared`  | `prepared`, and its record                                  | committed, aborted            |
 * | `committed` | `committed`; the decision in its record once it is reported | applied, taken back (D10)     |
 * | `aborted`   | its tombstone among the outcomes                            | prepared, as a later attempt  |
 */
import type { NodeId, PartitionId, PreparedRecord, Timestamp, TxId, WallMs } from '@isochron/core';
import type { Address, Effects, WriteSeq } from '../../machine.js';
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
    const { txId } = request.identity;
    const record = recordOf(request, pt, coordinator, undefined);
    this.prepared.add({ txId, record, since: now });
    out.write({ kind: 'prepared', partition: this.partition, txId, record });
  }

  /** Commits a slice that was not prepared, with one durable write (P11). */
  commitAtOnce(request: PrepareReq, ct: Timestamp, coordinator: NodeId, out: Out): void {
    const { txId } = request.identity;
    const record = recordOf(request, ct, coordinator, ct);
    this.committed.add(this.#committed(txId, record, ct));
    this.counters.commits++;
    out.write({ kind: 'prepared', partition: this.partition, txId, record });
  }

  /** A slice that an earlier process has left on the disk. */
  recovered(txId: TxId, record: PreparedRecord, now: WallMs): void {
    if (record.ct === undefined) this.prepared.add({ txId, record, since: now });
    else this.committed.add(this.#committed(txId, record, record.ct));
  }

  /** The decision about a prepared slice: it takes effect at `ct`. */
  commit({ txId, record }: Prepared, ct: Timestamp): void {
    this.state.clock.observe(ct);
    this.prepared.remove(txId);
    this.counters.commits++;
    this.committed.add(this.#committed(txId, record, ct));
  }

  #committed(txId: TxId, record: PreparedRecord, ct: Timestamp): Committed {
    const { attempt, digest, writes, repeatable } = record;
    const deps = this.rules.stamp(record.deps, ct, this.state.region);
    return { txId, ct, attempt, digest, writes, deps, siblings: this.#siblings(record), repeatable, record };
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
    out.write({ kind: 'prepared', partition: this.partition, txId: tx.txId, record: null });
  }

  /**
   * A commit decision stands after any crash and any loss (D10): it is on disk before it is sent, also if it is not
   * applied yet.
   */
  keepDecided(txId: TxId, out: Out): void {
    const tx = this.committed.get(txId);
    if (tx === undefined || tx.record.ct !== undefined) return;
    const record = { ...tx.record, ct: tx.ct };
    out.write({ kind: 'prepared', partition: this.partition, txId, record });
    this.committed.keep(tx, record);
  }

  /** A committed slice is applied, with the batch of this number. */
  applied({ txId, ct, attempt, digest }: Committed, seq: WriteSeq): void {
    this.outcomes.committed(txId, { ts: ct, attempt, digest }, seq);
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
}

/** The record of a slice; `ct` is its commit timestamp, if the commit is decided. */
function recordOf(request: PrepareReq, pt: Timestamp, coordinator: NodeId, ct: Timestamp | undefined): PreparedRecord {
  const { identity, writes, sentAfter, deps } = request;
  const { attempt, home, epoch, cohorts, avoid } = identity;
  return {
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
    ct,
  };
}

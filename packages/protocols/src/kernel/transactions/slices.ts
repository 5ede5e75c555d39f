/**
 * The slices of transactions at a cohort, and their states (Algorithm 3 lines 9–19, with D1–D5, P11):
 *
 * | state       | where the slice is                                          | next                          |
 * | ----------- | ----------------------------------------------------------- | ----------------------------- |
 * | `prepared`  | `prepared`, and its record                                  | committed, aborted            |
 * | `committed` | `committed`; the decision in its record once it is reported | applied, taken back (D10)     |
 * | `aborted`   | its tombstone among the outcomes                            | prepared, as a later attempt  |
 * | `deferred`  | `deferred`, and its record (M4, M7)                         | prepared, as a later attempt  |
 */
import {
  type ClusterMap,
  defers,
  type LoggedTx,
  type Need,
  type NodeId,
  type PartitionId,
  type PreparedRecord,
  type RegionId,
  type Timestamp,
  type TxId,
  type WallMs,
} from '@isochron/core';
import type { Address, Effects } from '../../machine.js';
import type { NodeState } from '../node-state.js';
import type { Outcomes } from '../outcomes.js';
import type { Replication } from '../replication/replication.js';
import type { UnstableTx } from '../replication/unstable.js';
import { type Committed, CommittedQueue } from './committed-queue.js';
import {
  copyName,
  type DeferredRecord,
  DeferredSlices,
  deferredName,
  isCopyName,
  txIdOfCopy,
  txIdOfDeferred,
} from './deferred-slices.js';
import { cohortsIn, digestOf, fullDigest } from './digest.js';
import type { Known } from './known.js';
import type { PrepareReq } from './messages.js';
import { type Prepared, PreparedQueue } from './prepared-queue.js';
import { isRepeatable, mayBeAgain } from './repeats.js';
import type { SnapshotRules } from './snapshots.js';
import { WriteCounters } from './write-counters.js';

type Out = Effects<never>;

export class Slices {
  readonly prepared: PreparedQueue;
  readonly committed: CommittedQueue;
  readonly deferred = new DeferredSlices();
  readonly writeCounters: WriteCounters;
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
  ) {
    this.prepared = new PreparedQueue(partition);
    this.committed = new CommittedQueue(partition);
    const undecided = [this.prepared.counters, this.committed.counters];
    this.writeCounters = new WriteCounters(partition, state, undecided);
  }

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
    const deferred = this.deferred.get(txId);
    const outcome = this.outcomes.get(txId, deferred === undefined ? sentAfter : 0);
    if (outcome?.status === 'committed') {
      return { state: 'committed', ct: outcome.ts, attempt: outcome.attempt, digest: outcome.digest ?? '' };
    }
    if (outcome?.status === 'aborted' && outcome.attempt > (deferred?.attempt ?? -1))
      return { state: 'aborted', ts: outcome.ts, attempt: outcome.attempt };
    return deferred && { state: 'deferred', record: deferred };
  }

  /** Counts and reports a message about a transaction from a node that has no part in it (D12). */
  ignoreOutsider(type: string, txId: TxId, { node: from }: Address): void {
    this.counters.outsiders++;
    this.state.outsider?.({ type, from, txId, partition: this.partition });
  }

  /** Holds a slice at its proposed timestamp until the decision. */
  prepare(request: PrepareReq, pt: Timestamp, coordinator: NodeId, now: WallMs, out: Out): void {
    const { txId } = request.identity;
    const record = this.#recordOf(request, pt, coordinator);
    this.prepared.add({ txId, record, since: now });
    out.write({ kind: 'prepared', partition: this.partition, txId, record });
  }

  /** Commits a slice that was not prepared, with one durable write (P11). */
  commitAtOnce(request: PrepareReq, ct: Timestamp, coordinator: NodeId, out: Out): void {
    const { txId } = request.identity;
    const record = this.#recordOf(request, ct, coordinator, ct);
    this.committed.add(this.#committed(txId, record, ct));
    this.counters.commits++;
    out.write({ kind: 'prepared', partition: this.partition, txId, record });
  }

  /** A slice that an earlier process has left on the disk. */
  recovered(txId: TxId, record: PreparedRecord, now: WallMs): void {
    const { deferred } = record;
    if (deferred !== undefined && isCopyName(txId)) this.deferred.copies.set(txIdOfCopy(txId), { ...record, deferred });
    else if (deferred !== undefined) this.deferred.add(txIdOfDeferred(txId), { ...record, deferred });
    else if (record.ct === undefined) this.prepared.add({ txId, record, since: now });
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
    const { attempt, digest, writes, repeatable, needs, first } = record;
    const deps = this.rules.stamp(record.deps, ct, this.state.region);
    const at = this.#isInOrder() ? undefined : first;
    return { txId, ct, attempt, digest, writes, deps, siblings: this.#siblings(record), repeatable, needs, at, record };
  }

  /** Whether what is committed again takes effect by its new timestamp alone (F9). */
  #isInOrder(): boolean {
    const { topology, lateInOrder } = this.state;
    return lateInOrder.has(topology.partitions[this.partition]!.keyspace);
  }

  /** The decision about a prepared slice: its attempt never commits. */
  abort({ txId, record }: Prepared, now: WallMs, out: Out): void {
    this.prepared.remove(txId);
    this.counters.aborts++;
    this.#erase(txId, out);
    this.outcomes.tombstone(txId, record.attempt, now, out);
  }

  /** A map is adopted: what it defers leaves the queues, and what is applied, the data (M4, M5). */
  cut(map: ClusterMap, replication: Replication, out: Out): void {
    const { topology, node } = this.state;
    const sourceOf = (region: RegionId) => topology.numberOf(topology.replicaNode(this.partition, region)!);
    const isCut = ({ ct, region, tx: { needs } }: UnstableTx) => defers(map, { ct, source: sourceOf(region), needs });
    for (const { ct, region, tx } of replication.cut(map, isCut, out)) {
      const { needs, writes, deps, txId } = tx;
      const keys = writes.map(({ key }) => key);
      this.writeCounters.takenBack(txId, keys, ct, out.lastWrite());
      const outcome = this.outcomes.get(txId, 0);
      if (outcome?.ts === ct) this.outcomes.deferred(txId, ct, out);
      if (region !== this.state.region) {
        if (map.suspends.includes(sourceOf(region))) this.#keepCopy(tx, ct, region, out);
        continue;
      }
      const { attempt = 0, digest } = outcome ?? {};
      const identity = { ...(digest ? cohortsIn(digest) : this.#soleIdentity(tx)), attempt };
      const record = {
        pt: ct,
        ct,
        sentAfter: ct,
        digest: digest ?? '',
        coordinator: node,
        writes,
        deps,
        repeatable: tx.attempt !== undefined || undefined,
        needs,
      };
      this.#defer(txId, { ...identity, ...record }, out);
    }
    this.#cutQueues(map, out);
  }

  /** A slice of a suspended node, as far as its stream shows it: the cohorts, where no other node has any. */
  #keepCopy(tx: LoggedTx, ct: Timestamp, region: RegionId, out: Out): void {
    const { txId, siblings = [], needs = [], writes, deps, attempt = 0 } = tx;
    const isSole = needs.every((need) => need.ct !== undefined);
    const cohorts = isSole ? [this.partition, ...siblings].sort((a, b) => a - b) : [];
    const { topology } = this.state;
    const coordinator = topology.replicaNode(this.partition, region)!;
    const deferred = { map: topology.version, first: tx.at ?? ct };
    const slice = { pt: ct, ct, sentAfter: ct, home: region, attempt, map: 0, cohorts, digest: '', coordinator };
    const record: DeferredRecord = { ...slice, writes, deps, needs: tx.needs, deferred };
    this.deferred.copies.set(txId, record);
    out.write({ kind: 'prepared', partition: this.partition, txId: copyName(txId), record });
  }

  /** The identity of a transaction in a copy, which does not name the other partitions that it wrote to: none then. */
  #soleIdentity({ siblings, needs = [] }: LoggedTx): Pick<PreparedRecord, 'home' | 'map' | 'cohorts'> {
    const isSole = siblings === undefined && needs.every(({ ct }) => ct !== undefined);
    return { home: this.state.region, map: 0, cohorts: isSole ? [this.partition] : [] };
  }

  /**
   * A slice without a decision will commit above all that this replica has confirmed, and the horizon is no higher. Its
   * proposal may lie below: a crash loses a decision that the replica has counted with.
   */
  #cutQueues(map: ClusterMap, out: Out): void {
    const source = this.state.topology.numberOf(this.state.node);
    const isCut = (ct: Timestamp, { needs }: PreparedRecord) => defers(map, { ct, source, needs });
    for (const { txId, record } of [...this.prepared.values()]) {
      if (!isCut(Number.POSITIVE_INFINITY, record)) continue;
      this.prepared.remove(txId);
      this.#erase(txId, out);
      this.#defer(txId, record, out);
    }
    for (const tx of [...this.committed.values()]) {
      if (!isCut(tx.ct, tx.record)) continue;
      this.takeBack(tx, out);
      this.#defer(tx.txId, { ...tx.record, ct: tx.ct }, out);
    }
  }

  /** A slice that is deferred again keeps its first timestamp (M8). */
  #defer(txId: TxId, slice: PreparedRecord, out: Out): void {
    const first = this.deferred.get(txId)?.deferred.first ?? slice.ct ?? slice.pt;
    const record: DeferredRecord = { ...slice, deferred: { map: this.state.topology.version, first } };
    this.deferred.add(txId, record);
    out.write({ kind: 'prepared', partition: this.partition, txId: deferredName(txId, slice.attempt), record });
  }

  /**
   * A slice of a transaction that will never be whole: another slice was never prepared, or went with a disk. Where it
   * was committed, that is a loss (D10), unless it is committed again: other members may have forgotten their slices. A
   * vote is reported, too, where an evicted node has a slice: that node may have acknowledged the transaction (M14).
   */
  dropDeferred(txId: TxId, attempt: number, now: WallMs, out: Out): void {
    const copy = this.deferred.copies.get(txId);
    if (copy !== undefined) this.#dropCopy(txId, out);
    if (copy !== undefined && this.known(txId, 0)?.state !== 'committed') this.#reportLoss(txId, [copy], out);
    const records = this.deferred.of(txId);
    if (records.at(-1)?.attempt !== attempt) return;
    this.#dropRecords(txId, out);
    if (this.known(txId, 0)?.state === 'committed') return;
    this.#reportLoss(txId, records, out);
    this.outcomes.tombstone(txId, attempt, now, out);
  }

  #reportLoss(txId: TxId, records: readonly DeferredRecord[], out: Out): void {
    const record = records.find(({ ct }) => ct !== undefined) ?? records.at(-1)!;
    const { topology, losses, node } = this.state;
    const owner = topology.evicted.find((other) => this.partitionsOn(other, record).length > 0);
    const { ct, pt, attempt, writes } = record;
    if (ct === undefined && owner === undefined) return;
    const partitions = owner === undefined ? [this.partition] : this.partitionsOn(owner, record);
    const flags = { committed: ct !== undefined, takenBack: true, acknowledged: false, overtaken: false };
    const keys = writes.map(({ key }) => key);
    losses.add([{ txId, ts: ct ?? pt, attempt, partitions, keys, node: owner ?? node, ...flags }], out);
  }

  /** Another cohort has deferred its slice (M7): the slice here, prepared below the horizon, counts as a vote. */
  deferPrepared({ txId, record }: Prepared, out: Out): void {
    this.prepared.remove(txId);
    this.#erase(txId, out);
    this.#defer(txId, record, out);
  }

  /** Drops what was deferred and has been committed again: the new commit is stable, and no map defers it any more. */
  forgetDeferred(out: Out): void {
    const isDone = (txId: TxId): boolean => {
      const known = this.known(txId, 0);
      return known?.state === 'committed' && known.ct <= this.state.stable.aggregated;
    };
    for (const [txId] of this.deferred.inOrder()) if (isDone(txId)) this.#dropRecords(txId, out);
    for (const txId of [...this.deferred.copies.keys()]) if (isDone(txId)) this.#dropCopy(txId, out);
  }

  #dropCopy(txId: TxId, out: Out): void {
    this.#erase(copyName(txId), out);
    this.deferred.copies.delete(txId);
  }

  /** Drops what was deferred of a transaction. */
  #dropRecords(txId: TxId, out: Out): void {
    for (const { attempt } of this.deferred.of(txId)) this.#erase(deferredName(txId, attempt), out);
    this.deferred.remove(txId);
  }

  /** A lost disk took a part of a committed slice's transaction: it is not applied (D10). */
  takeBack(tx: Committed, out: Out): void {
    this.committed.remove(tx);
    this.#erase(tx.txId, out);
  }

  /** Removes the record of a slice. */
  #erase(name: TxId, out: Out): void {
    out.write({ kind: 'prepared', partition: this.partition, txId: name, record: null });
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

  /** Partitions of a transaction whose cohort is on the node. */
  partitionsOn(
    node: NodeId,
    { home, map, avoid, cohorts }: Pick<PreparedRecord, 'home' | 'map' | 'avoid' | 'cohorts'>,
  ): PartitionId[] {
    const topology = this.state.maps.at(map);
    return cohorts.filter((partition) => topology?.cohort(partition, home, avoid).node === node);
  }

  /** What a transaction needs beside this node (M4); undefined without anything. */
  #needs({ identity: { home, map, avoid, cohorts }, behind = [] }: PrepareReq): readonly Need[] | undefined {
    if (!this.state.stableSnapshots || (cohorts.length === 1 && behind.length === 0)) return undefined;
    const topology = this.state.maps.at(map)!;
    const nodes = new Set(cohorts.map((partition) => topology.cohort(partition, home, avoid).node));
    nodes.delete(this.state.node);
    const needs = [...[...nodes].map((node) => ({ node: topology.numberOf(node) })), ...behind];
    return needs.length === 0 ? undefined : needs;
  }

  /** The other partitions of a transaction that have their cohorts on this node; undefined without any. */
  #siblings(record: Pick<PreparedRecord, 'home' | 'map' | 'avoid' | 'cohorts'>): readonly PartitionId[] | undefined {
    const here = this.partitionsOn(this.state.node, record);
    const others = here.filter((partition) => partition !== this.partition);
    return others.length === 0 ? undefined : others;
  }

  /** The record of a slice; `ct` is its commit timestamp, if the commit is decided. */
  #recordOf(request: PrepareReq, pt: Timestamp, coordinator: NodeId, ct?: Timestamp): PreparedRecord {
    const { identity, writes, sentAfter, deps, first } = request;
    const { attempt, home, map, cohorts, avoid } = identity;
    const isKept = isRepeatable(request) || mayBeAgain(identity, this.state.maps);
    return {
      pt,
      home,
      attempt,
      sentAfter,
      map,
      cohorts,
      digest: fullDigest(digestOf(request), identity),
      coordinator,
      writes,
      deps,
      repeatable: isKept || undefined,
      needs: this.#needs(request),
      avoid,
      ct,
      first,
    };
  }
}

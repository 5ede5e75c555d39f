/**
 * The true state, derived from the disks alone: a transaction is committed exactly when every cohort of its list holds
 * a durable prepare, at the greatest proposal (D2), or when one batch of a node commits it at all its cohorts (P11).
 * Other checks compare with it.
 *
 * A disk that loses data may take the only copy of a transaction's part with it. Such a transaction is *damaged*: its
 * versions may be there or not (D10 leaves this window open). It is only required that the nodes that still have it
 * agree (`survivors.ts`).
 */
import {
  type Content,
  type DurableFact,
  type NodeId,
  type OutcomeRecord,
  type PartitionId,
  type PreparedRecord,
  type QualifiedKey,
  type RegionId,
  type StoredVersion,
  type Timestamp,
  type TxId,
  Update,
} from '@isochron/core';
import type { MemoryState } from '@isochron/storage';
import type { Check, CheckContext } from '../check.js';
import { CommittedChains } from './committed-chains.js';
import { Deferrals } from './deferrals.js';
import { isSameContent } from './documents.js';
import {
  ALWAYS,
  type CommittedTx,
  dependsSo,
  isUndeferred,
  type Known,
  type Lacking,
  type LedgerListener,
  type LeftPartition,
  loggedIn,
  NOTHING,
  newKnown,
  type Prepared,
  type PreparedAttempt,
  type Reports,
  type Slice,
  type Unstable,
  writtenWith,
} from './slices.js';
import type { Visibility } from './visibility.js';

export type { CommittedTx, LedgerListener, Reports, Unstable } from './slices.js';

export class Ledger extends CommittedChains implements Check {
  readonly name = 'durable-records';
  readonly #known = new Map<TxId, Known>();
  readonly #listeners: LedgerListener[] = [];
  #lastCt: Timestamp = 0;
  #anyDamaged = false;
  /** Nodes with an older disk: after waiting for reports they may go on as if they had lost nothing. */
  readonly #unaware = new Set<NodeId>();
  /** The slices that their disks lack, until they go on. */
  readonly #lacking = new Map<NodeId, Lacking[]>();
  /** Floors of garbage collection on the disks, by node and partition. */
  readonly #floors = new Map<string, Timestamp>();
  readonly deferrals: Deferrals;

  constructor(
    readonly context: CheckContext,
    readonly visibility: Pick<Visibility, 'stamp' | 'localDeps'>,
    readonly reports: Reports = ALWAYS,
    readonly unstable: Unstable = 'nothing',
    /** The highest stable time of all nodes. */
    readonly stable: () => Timestamp = () => 0,
    /** Whether what is committed again takes effect by its new timestamp alone (F9). */
    readonly lateInOrder = false,
  ) {
    super();
    this.deferrals = new Deferrals(context.topology);
  }

  /** The greatest commit timestamp of all existing versions. */
  get lastCt(): Timestamp {
    return this.#lastCt;
  }

  listen(listener: LedgerListener): void {
    this.#listeners.push(listener);
  }

  committed(txId: TxId): CommittedTx | undefined {
    return this.#known.get(txId)?.committed;
  }

  /** The commit timestamp that its session may have received, and that a map may have deferred since. */
  acknowledgedAt(txId: TxId): Timestamp | undefined {
    const known = this.#known.get(txId);
    return known?.committed?.ct ?? [...(known?.deferredAt ?? [])].at(-1);
  }

  /** Whether the cohort holds, or held, a durable prepare of the attempt at this timestamp; or committed it alone. */
  isPrepared(txId: TxId, attempt: number, partition: PartitionId, pt: Timestamp): boolean {
    const known = this.#known.get(txId);
    const isSo = (one: PreparedAttempt) => one.attempt === attempt && one.prepared.get(partition)?.pt === pt;
    if (known?.attempts.some(isSo)) return true;
    const tx = known?.committed;
    return tx?.attempt === attempt && tx.slices.size === 1 && tx.slices.has(partition) && tx.ct === pt;
  }

  /** Whether the region's replica has the version durably, or had it until it was collected. */
  isDurable(txId: TxId, region: RegionId, key: QualifiedKey): boolean {
    return this.#known.get(txId)?.durable.has(`${region}|${key}`) ?? false;
  }

  /** The same for a version without its key: values are unique, except those of deletions, folds and late writes. */
  holds({ txId, value }: Pick<StoredVersion, 'txId' | 'value'>, region: RegionId, partition: PartitionId): boolean {
    const slice = this.committed(txId)?.slices.get(partition);
    const wrote = (written: Content) => slice?.at !== undefined || written instanceof Update || written === value;
    return (slice?.writes ?? []).some((write) => wrote(write.value) && this.isDurable(txId, region, write.key));
  }

  /**
   * Whether all its versions are, or once were, durable in every replica.
   * @param isAway replicas that need not have them
   */
  isInstalled(txId: TxId, isAway: (partition: PartitionId, region: RegionId) => boolean = () => false): boolean {
    const known = this.#known.get(txId);
    if (known?.committed === undefined) return false;
    if (known.missing === 0) return true;
    const { partitions } = this.context.topology;
    return [...known.committed.slices].every(([partition, { writes }]) =>
      partitions[partition]!.regions.every(
        (region) => isAway(partition, region) || writes.every(({ key }) => known.everDurable.has(`${region}|${key}`)),
      ),
    );
  }

  /** Whether a lost disk has taken the only copy of a part of it. */
  isDamaged(txId: TxId): boolean {
    this.#giveUpLacking();
    return this.#known.get(txId)?.damaged ?? false;
  }

  /** Transactions of which a disk has lost a record, and others that have written nothing. */
  get damaged(): readonly TxId[] {
    return [...this.#known].flatMap(([txId, { damaged }]) => (damaged ? [txId] : []));
  }

  /** Whether a map has deferred a transaction of this commit timestamp. */
  hasDeferred(ct: Timestamp): boolean {
    return [...this.#known.values()].some(({ deferredAt }) => deferredAt.has(ct));
  }

  /** Whether a map has ever deferred it; at this timestamp, if that is given. */
  isDeferred(txId: TxId, ct?: Timestamp): boolean {
    const deferredAt = this.#known.get(txId)?.deferredAt;
    return deferredAt !== undefined && (ct === undefined ? deferredAt.size > 0 : deferredAt.has(ct));
  }

  /** Partitions whose slice of it only a lost disk had. */
  lostSlices(txId: TxId): readonly PartitionId[] {
    return [...(this.#known.get(txId)?.lost.keys() ?? [])];
  }

  /**
   * Whether its slice was lost with an older disk that its node goes on with, or went on with until the stable time had
   * passed it: no peer has received evidence of it.
   */
  isUnnoticed(txId: TxId, partition: PartitionId): boolean {
    const known = this.#known.get(txId);
    const node = known?.lost.get(partition);
    return node !== undefined && (this.isUnaware(node) || known!.unnoticed.has(partition));
  }

  /** Whether several nodes had its cohorts, and all have lost their disks since: a copy names no cohorts elsewhere. */
  isUntraced(txId: TxId): boolean {
    const known = this.#known.get(txId);
    const slices = [...(known?.committed?.slices ?? [])];
    const { topology } = this.context;
    const nodes = new Set(slices.map(([partition, { region }]) => topology.replicaNode(partition, region)));
    return nodes.size > 1 && slices.every(([partition]) => known!.lostAt.has(partition));
  }

  /** Whether a node has come back with an older disk and not started over since. */
  isUnaware(node: NodeId): boolean {
    return this.#unaware.has(node);
  }

  /** Whether a lost disk has taken the only copy of a part of any transaction. */
  get anyDamaged(): boolean {
    this.#giveUpLacking();
    return this.#anyDamaged;
  }

  get anyUnaware(): boolean {
    return this.#unaware.size > 0;
  }

  wrote(_node: NodeId, fact: DurableFact): void {
    if (!this.deferrals.learn(fact)) return;
    for (const known of this.#known.values())
      if (known.committed !== undefined && this.deferrals.defers(known.committed)) this.#defer(known, known.committed);
  }

  durable(node: NodeId, records: readonly DurableFact[]): void {
    const region = this.context.topology.regionOf(node);
    if (this.#unaware.has(node) && this.reports.mayDecide(node)) for (const record of records) this.#discount(record);
    for (const record of records) {
      if (record.kind === 'prepared' && isUndeferred(record.record))
        this.#prepared(record.partition, record.txId, record.record, region);
    }
    for (const [at, record] of records.entries()) {
      if (record.kind === 'horizon' && record.horizon === 'gcFloor')
        this.#floors.set(`${node}/${record.partition}`, record.upTo);
      if (record.kind === 'prepared' && isUndeferred(record.record)) {
        const { ct: ts, attempt, digest } = record.record;
        const unprepared = { map: 0, slices: new Map<PartitionId, Slice>() };
        if (ts !== undefined)
          this.#outcome(record.partition, record.txId, { status: 'committed', ts, attempt, digest }, () => unprepared);
      }
      if (record.kind === 'outcome' && record.record.status === 'committed') {
        const { partition, txId } = record;
        const map = this.deferrals.adoptedAt(node, records, at);
        const slices = () => this.#slicesIn(records, txId, region);
        this.#outcome(partition, txId, record.record, () => ({ map, slices: slices() }));
      }
    }
    this.deferrals.durable(node, records);
    for (const record of records) {
      if (record.kind !== 'remove') continue;
      const known = this.#known.get(record.txId);
      if (known?.committed?.ct === record.ts) known.durable.delete(`${region}|${record.key}`);
    }
    for (const record of records) {
      if (record.kind !== 'version') continue;
      this.#version(record.key, record.version, record.partition, region);
      // It was in flight to a peer.
      this.#known.get(record.version.txId)?.lost.delete(record.partition);
    }
  }

  /** Versions that a node shows while it goes on with an older disk count as shown, even if its peers report later. */
  revealed(): void {
    this.#giveUpLacking();
  }

  /** Data that is not left on the disk is no longer durable there. */
  onDataLoss(node: NodeId, left: MemoryState): void {
    this.#lacking.set(node, []);
    this.deferrals.onDataLoss(node, left);
    if (left.meta.size > 0) this.#unaware.add(node);
    else if (this.#unaware.delete(node)) this.#noticedLate(node);
    const partitions = this.context.topology.partitionsOn(node);
    for (const [txId, known] of this.#known)
      for (const partition of partitions) this.#lose(txId, known, node, partition, left.partitions.get(partition));
    for (const partition of partitions) {
      this.#floors.set(`${node}/${partition}`, left.partitions.get(partition)?.horizons.gcFloor ?? 0);
    }
  }

  /** A node gives up its older disk: stable time may have passed the missing versions. */
  #noticedLate(node: NodeId): void {
    const stable = this.stable();
    for (const { committed, lost, unnoticed } of this.#known.values())
      for (const [partition, where] of lost)
        if (where === node && committed && committed.ct <= stable) unnoticed.add(partition);
  }

  #lose(txId: TxId, known: Known, node: NodeId, partition: PartitionId, left: LeftPartition | undefined): void {
    const region = this.context.topology.regionOf(node);
    const floor = this.#floorOf(region, partition);
    const isLogged = left?.log.some(({ tx }) => tx.txId === txId) ?? false;
    const isLeft = isLogged || left?.prepared.has(txId);
    if (left === undefined && known.committed?.slices.get(partition)?.region === region) known.lostAt.add(partition);
    for (const { prepared } of known.attempts) {
      if (isLeft || prepared.get(partition)?.region !== region) continue;
      prepared.delete(partition);
      if (known.committed === undefined) this.#damage(known);
    }
    const slice = known.committed?.slices.get(partition);
    // While a node is away that may ask for it, the own log has a version also after its collection.
    if (slice === undefined || (isLogged && slice.region === region)) return;
    for (const { key } of slice.writes) {
      if (left?.chains.get(key)?.some((version) => version.txId === txId)) continue;
      const wasHere = known.durable.delete(`${region}|${key}`);
      if (!wasHere || !this.#unaware.has(node) || this.#isCollected(known.committed!.ct, slice, floor)) continue;
      if (this.unstable === 'all' || (this.unstable === 'own' && slice.region === region))
        this.#lacking.get(node)!.push({ known, partition, source: slice.region, key });
    }
    // Its cohort had the only copy, and lost it.
    const applied = this.context.topology.partitions[partition]!.regions.some(
      (r) =>
        slice.writes.every(({ key }) => known.durable.has(`${r}|${key}`)) ||
        this.#isCollected(known.committed!.ct, slice, this.#floorOf(r, partition)),
    );
    if (slice.region !== region || isLeft || applied) return;
    known.lost.set(partition, node);
    this.#damage(known);
  }

  #floorOf(region: RegionId, partition: PartitionId): Timestamp {
    return this.#floors.get(`${this.context.topology.replicaNode(partition, region)}/${partition}`) ?? 0;
  }

  /** Whether a disk with this floor has newer versions in place of these. */
  #isCollected(ct: Timestamp, { writes }: Slice, floor: Timestamp): boolean {
    return writes.every(({ key }) => this.chain(key).some(({ ts }) => ts > ct && ts <= floor));
  }

  /**
   * Where replicas show versions above the stable time, a node that goes on with an older disk reveals its loss:
   * versions of peers that have not reported, or whose stream it no longer waits for, and its own versions that such a
   * peer may have.
   */
  #giveUpLacking(): void {
    for (const [node, lacking] of this.#lacking) {
      if (!this.reports.mayDecide(node)) continue;
      const own = this.context.topology.regionOf(node);
      const left = lacking.filter(({ known, key }) => !known.damaged && !known.durable.has(`${own}|${key}`));
      for (const { known, partition, source } of left) {
        const peers = this.context.topology.partitions[partition]!.regions.filter((region) => region !== own);
        const asked = source === own ? peers : [source];
        if (!asked.every((region) => this.reports.hasReported(node, partition, region))) this.#damage(known);
      }
      if (left.length > 0) this.#lacking.set(node, left);
      else this.#lacking.delete(node);
    }
  }

  /** The decisions of a node about a transaction that it may have decided before are ignored. */
  #discount(record: DurableFact): void {
    if (record.kind === 'prepared' || record.kind === 'outcome') this.#damage(this.#of(record.txId));
  }

  #damage(known: Known): void {
    known.damaged = true;
    this.#anyDamaged = true;
  }

  #of(txId: TxId): Known {
    let known = this.#known.get(txId);
    if (known === undefined) {
      known = newKnown();
      this.#known.set(txId, known);
    }
    return known;
  }

  #prepared(partition: PartitionId, txId: TxId, record: PreparedRecord, region: RegionId): void {
    const known = this.#of(txId);
    let attempt = known.attempts.find((one) => one.attempt === record.attempt && one.map === record.map);
    if (attempt === undefined) {
      const { map, cohorts } = record;
      attempt = { attempt: record.attempt, map, cohorts, prepared: new Map() };
      known.attempts.push(attempt);
    }
    const before = attempt.prepared.get(partition);
    if (before !== undefined && before.pt !== record.pt && !known.damaged) {
      this.#fail(
        `${txId} attempt ${record.attempt} prepared on ${partition} at ${before.pt} and at ${record.pt}`,
        txId,
      );
    }
    const { pt, writes, deps, needs = [], first } = record;
    attempt.prepared.set(partition, { pt, region, writes, deps, needs, first });
    if (attempt.prepared.size < attempt.cohorts.length || known.committed !== undefined) return;
    const ct = Math.max(...[...attempt.prepared.values()].map(({ pt }) => pt));
    if (known.deferredAt.has(ct)) return;
    const { map } = attempt;
    const slices = this.#stamped(attempt.prepared, ct);
    this.#commit(known, { txId, ct, attempt: record.attempt, map, atMs: this.context.time.now, slices });
  }

  #stamped(prepared: ReadonlyMap<PartitionId, Prepared>, ct: Timestamp): Map<PartitionId, Slice> {
    const stamped = ({ deps: before, first, ...slice }: Prepared): Slice => {
      const deps = this.visibility.stamp(before, ct, slice.region);
      return { ...slice, deps, sent: deps, at: this.lateInOrder ? undefined : first };
    };
    return new Map([...prepared].map(([partition, slice]) => [partition, stamped(slice)]));
  }

  /** The parts of a transaction that a batch commits. */
  #slicesIn(records: readonly DurableFact[], txId: TxId, region: RegionId): Map<PartitionId, Slice> {
    const slices = new Map<PartitionId, Slice>();
    for (const record of records) {
      if (record.kind !== 'outcome' || record.txId !== txId || record.record.status !== 'committed') continue;
      const { partition } = record;
      const { writes, deps: sent, siblings = [], needs = [], at } = loggedIn(records, partition, txId) ?? NOTHING;
      const missing = siblings.filter((other) => loggedIn(records, other, txId) === undefined);
      if (missing.length > 0)
        this.#fail(`${partition} wrote that ${txId} is committed, and ${missing} did not in the same batch`, txId);
      const deps = this.visibility.localDeps === true ? writtenWith(records, partition, txId) : sent;
      slices.set(partition, { region, writes, deps, sent, needs, at });
    }
    return slices;
  }

  #outcome(
    partition: PartitionId,
    txId: TxId,
    { ts, attempt, digest }: OutcomeRecord,
    batch: () => Pick<CommittedTx, 'map' | 'slices'>,
  ): void {
    const known = this.#of(txId);
    const { committed } = known;
    if (known.deferredAt.has(ts)) return;
    if (committed !== undefined) {
      if (known.damaged) return;
      // An outcome that was found among copied versions has no attempt (D10).
      if (committed.ct !== ts || (committed.attempt !== attempt && digest !== null)) {
        // By a node that did not know yet that a map defers the attempt.
        const found = known.attempts.find((one) => one.attempt === attempt);
        const placed = found && { map: found.map, slices: this.#stamped(found.prepared, ts) };
        if (this.#isDeferredAt(known, { txId, ct: ts, attempt, atMs: 0, ...(placed ?? batch()) })) return;
        this.#fail(
          `${txId} is committed at ${committed.ct} (attempt ${committed.attempt}), ${partition} wrote ${ts} (attempt ${attempt})`,
          txId,
        );
      }
      return;
    }
    if (known.attempts.some((one) => one.attempt === attempt) && !known.damaged) {
      this.#fail(`${partition} wrote that ${txId} is committed, but not every cohort has prepared it`, txId);
      return;
    }
    this.#commit(known, { txId, ct: ts, attempt, atMs: this.context.time.now, ...batch() });
  }

  #isDeferredAt(known: Known, tx: CommittedTx): boolean {
    return this.deferrals.defers(tx) && known.deferredAt.add(tx.ct).size > 0;
  }

  #commit(known: Known, tx: CommittedTx): void {
    if (this.#isDeferredAt(known, tx)) return;
    known.committed = tx;
    if (tx.ct > this.#lastCt) this.#lastCt = tx.ct;
    const { ct: ts, txId } = tx;
    for (const [partition, { region, writes, deps, at }] of tx.slices) {
      known.missing += writes.length * this.context.topology.partitions[partition]!.regions.length;
      for (const { key, value } of writes) this.insert(key, { ts, txId, region, value, deps, at });
    }
    for (const listener of this.#listeners) listener.onCommitted(tx);
  }

  /** M4: what a map defers is undecided from then on; it commits once more, at another timestamp. */
  #defer(known: Known, { txId, ct, slices }: CommittedTx): void {
    known.committed = undefined;
    known.deferredAt.add(ct);
    known.durable.clear();
    known.everDurable.clear();
    known.missing = 0;
    for (const { writes } of slices.values()) for (const { key } of writes) this.retract(key, txId);
  }

  /** Whether a version stores what was written, or the fold of a written update or a late write. */
  #isWritten(key: QualifiedKey, version: StoredVersion, written: Content, at: Timestamp | undefined): boolean {
    if (isSameContent(version.value, written) && version.at === at) return true;
    if (version.value instanceof Update || !(written instanceof Update || at !== undefined)) return false;
    return this.isFold(key, version);
  }

  /** A version may be in a replica only when its transaction is committed, and as it was committed. */
  #version(key: QualifiedKey, version: StoredVersion, partition: PartitionId, region: RegionId): void {
    const known = this.#known.get(version.txId);
    if (known?.damaged) {
      // The disk has lost its outcome, and it was run again.
      this.#lastCt = Math.max(this.#lastCt, version.ts);
      this.insert(key, version);
      return;
    }
    if (known?.deferredAt.has(version.ts)) return;
    const tx = known?.committed;
    const slice = tx?.slices.get(partition);
    const write = slice?.writes.find((w) => w.key === key);
    if (known === undefined || tx === undefined || slice === undefined || write === undefined) {
      this.#fail(
        `${region} holds a version of ${key} by ${version.txId}, which is not committed so`,
        version.txId,
        key,
      );
      return;
    }
    const isSame =
      tx.ct === version.ts && slice.region === version.region && this.#isWritten(key, version, write.value, slice.at);
    if (!isSame || !dependsSo(version, slice)) {
      this.#fail(
        `${region} holds ${key} by ${version.txId} as ${JSON.stringify(version)}, committed at ${tx.ct} [${slice.deps ?? ''}]`,
        version.txId,
      );
      return;
    }
    const name = `${region}|${key}`;
    known.durable.add(name);
    if (known.everDurable.has(name)) return;
    known.everDurable.add(name);
    known.missing--;
  }

  #fail(message: string, ...about: string[]): void {
    this.context.fail(this.name, message, about);
  }
}

/**
 * How the replicas of one partition follow one another, under every protocol: each sends its own groups, in the order
 * of their timestamps, and a version vector counts the groups of the others (PaRiS Algorithm 4 lines 15 and 21–33).
 * `Sender` and `Receiver` are the two directions, `PeerProgress` the state of each peer, `Retention` the data that are
 * kept. This class connects them, and answers a peer that asks for the stream.
 *
 * Departs from the pseudo-code by P3 (VV raised after the groups), D1 (only durable data leave), D6 (ranges with a
 * beginning, replay from the log) and D10 (rolled-back disks are noticed, copies are sent). Under protocols that track
 * dependencies a gate admits a peer's groups before they are applied (`gate.ts`).
 */
import type {
  AppliedRecord,
  ClusterMap,
  PartitionId,
  QualifiedKey,
  RegionId,
  Timestamp,
  Topology,
  WallMs,
} from '@isochron/core';
import type { Address, Effects, Handlers, WriteSeq } from '../../machine.js';
import { type NodeState, replicaName } from '../node-state.js';
import type { Outcomes } from '../outcomes.js';
import { Copies } from './copies.js';
import type { Gate } from './gate.js';
import type { Loss } from './losses.js';
import type { ReadUnstable, ReplicationMessage, ResyncReq, StreamMessage } from './messages.js';
import type { PeerProgress } from './peer-progress.js';
import { Receiver } from './receiver.js';
import { lagging, peersOf, type RebuiltReplica, type RecoveredReplica } from './replica-state.js';
import { ReplicaWriter, type Written } from './replica-writer.js';
import { Retention } from './retention.js';
import { RollbackWatch, rolledBack } from './rollback-watch.js';
import { Sender } from './sender.js';
import { Unstable, type UnstableTx } from './unstable.js';
import { VersionVector } from './version-vector.js';
import { recordsOfTakingBack } from './versions.js';

type Out = Effects<ReplicationMessage>;

/** A transaction that this region has committed. */
export type OwnTransaction = Pick<AppliedRecord, 'tx' | 'outcome' | 'localDeps' | 'prepared'>;

export class Replication {
  readonly vv: VersionVector;
  readonly #peers: ReadonlyMap<RegionId, PeerProgress>;
  readonly #copies: Copies;
  readonly #writer: ReplicaWriter;
  readonly #sender: Sender;
  readonly #receiver: Receiver;
  #retention: Retention;
  #rollback: RollbackWatch;
  #resyncs = 0;
  /** Only where readers see nothing above the stable time. */
  readonly #unstable: Unstable | undefined;
  readonly #self: Address;
  readonly #copiedUnder: number;

  readonly handlers: Handlers<StreamMessage, [now: WallMs, from: Address, out: Out]> = {
    Replicate: (message, now, _from, out) => this.#receiver.onReplicate(message, now, out),
    Heartbeat: (message, now, _from, out) => this.#receiver.onHeartbeat(message, now, out),
    ResyncReq: (message, now, from, out) => this.#onResyncReq(message, now, from, out),
    ResyncRefused: (message, _now, from) => this.#receiver.onResyncRefused(message, from),
    CopyReq: (message, _now, from, out) => this.#copies.onCopyReq(message, from, out),
    ReadCopy: (message, _now, from, out) => {
      if (from.node === this.state.node) this.#copies.onReadCopy(message, this.gcFloor, out);
    },
    ReplayLog: (message, _now, from, out) => {
      if (from.node === this.state.node) this.#sender.onReplayLog(message, out);
    },
    ReadUnstable: (message, _now, from, out) => {
      if (from.node === this.state.node) this.#onReadUnstable(message, out);
    },
  };

  constructor(
    readonly partition: PartitionId,
    readonly state: NodeState,
    recovered: RecoveredReplica,
    outcomes: Pick<Outcomes, 'committed'>,
    /** New versions of a peer are applied. */
    received: (now: WallMs) => void,
    written?: Written,
    /** What peers' groups have to wait for; undefined: for nothing. */
    readonly gate?: Gate,
  ) {
    const vv = new VersionVector(recovered.versionVector, (region) => this.#counts(region, state.topology));
    const peers = peersOf(partition, state, recovered, vv, gate !== undefined);
    this.vv = vv;
    this.#unstable = state.stableSnapshots ? new Unstable() : undefined;
    this.#peers = peers;
    this.#rollback = new RollbackWatch(this.versionClock, state.clock.ceiling, this.#watching(), recovered.evidence);
    state.verification.watch(partition, this.#rollback);
    const self = { node: state.node, machine: replicaName(partition) };
    this.#self = self;
    this.#copiedUnder = recovered.copiedUnder;
    state.stable.bound(vv);
    const lastVersion = Math.max(...recovered.versionVector.map(([, ts]) => ts));
    this.#retention = new Retention(partition, state, peers, { ...recovered, lastVersion });
    const writer = new ReplicaWriter(
      partition,
      vv,
      outcomes,
      (tx) => this.#unstable?.add(tx, state.stable.aggregated),
      written,
    );
    this.#writer = writer;
    this.#sender = new Sender(partition, state, vv, peers, () => this.verified);
    this.#copies = new Copies(
      self,
      partition,
      state,
      vv,
      (region) => this.#limitOf(region),
      () => (this.#unstable === undefined ? [] : this.#unstable.above(state.stable.aggregated)),
      (version) => this.#sender.hasTakenBack(version),
    );
    const retention = () => this.#retention;
    this.#receiver = new Receiver({ partition, state, peers, writer, retention, received, gate });
  }

  /** Figures for the metrics. */
  get counters(): {
    readonly replicated: number;
    readonly stale: number;
    readonly gaps: number;
    readonly resyncs: number;
  } {
    return { ...this.#receiver.counters, resyncs: this.#resyncs };
  }

  /** Everything up to here that this replica sourced is applied. */
  get versionClock(): Timestamp {
    return this.vv.applied(this.state.region);
  }

  /** This replica's contribution to UST: what is on its disk, and each peer's version clock up to its cap. */
  get stableMin(): Timestamp {
    return this.stableMinIn(this.state.topology);
  }

  /** The contribution under a map, perhaps the next. */
  stableMinIn(topology: Topology): Timestamp {
    const counts = (region: RegionId) => this.#counts(region, topology);
    let min = topology === this.state.topology ? this.vv.durableMin : this.vv.minimumOf(counts);
    for (const [region, { cap }] of this.#peers) if (cap !== undefined && cap < min && counts(region)) min = cap;
    return min;
  }

  /** The own writes count also while the node is no member: it shows them. */
  #counts(region: RegionId, topology: Topology): boolean {
    return region === this.state.region || topology.hasMember(this.partition, region);
  }

  /** A map is in force: other regions may count. */
  adopted(): void {
    this.vv.recount();
  }

  /** The peers that may know better than the disk, except peers that never come back (M14). */
  #watching(): RegionId[] {
    const { maps } = this.state;
    return [...this.#peers].flatMap(([region, { address }]) => (maps.isEvicted(address.node) ? [] : [region]));
  }

  /** Whether every peer has verified the disk. */
  get verified(): boolean {
    return this.#rollback.verified;
  }

  get droppedUpTo(): Timestamp {
    return this.#retention.droppedUpTo;
  }

  get gcFloor(): Timestamp {
    return this.#retention.gcFloor;
  }

  /** The lowest timestamp of an own group that is applied and not on disk yet. */
  get undurable(): Timestamp | undefined {
    return this.#sender.undurable;
  }

  /** Highest commit timestamp that this replica ever logged. */
  get lastLogged(): Timestamp {
    return this.#retention.lastLogged;
  }

  /** How many groups of peers wait to be admitted. */
  get held(): number {
    return this.#receiver.held;
  }

  /** Whether the node's disk is being verified: nothing is decided meanwhile (D10). */
  suspects(now: WallMs): boolean {
    return this.state.verification.waits(now);
  }

  /** Whether a peer has reported whose stream may now lack versions that this disk once had (D10). */
  lags(now: WallMs): boolean {
    return lagging(this.#peers, this.vv, now, this.state.settings.verifyTimeoutMs);
  }

  /** The log has the transactions of all regions above; undefined where it is not kept for readers of changes. */
  get changesFrom(): Timestamp | undefined {
    return this.#retention.changesFrom;
  }

  start(now: WallMs, out: Out): void {
    if (this.state.membership.joined) this.#retention.start(out);
    this.state.verification.start(now);
    this.#rollback.start(this.state.clock.read(now));
    if (this.#unstable === undefined) return;
    if (!this.state.membership.joined) {
      this.#unstable.isWhole = true;
      return;
    }
    const [after, upTo] = [this.state.stable.aggregated, Math.max(...this.vv.values())];
    out.send(this.#self, { type: 'ReadUnstable', after, upTo });
  }

  /** Whether all transactions above the stable time are known: a map may defer some of them. */
  get knowsUnstable(): boolean {
    return this.#unstable?.isWhole ?? true;
  }

  #onReadUnstable({ after, upTo }: ReadUnstable, out: Out): void {
    const page = this.state.reader.changes(this.partition, after, upTo);
    const { region, stable } = this.state;
    const map = this.#copiedUnder;
    for (const { ct, tx, source = region } of page.changes)
      this.#unstable!.add({ ct, region: source, tx, map }, stable.aggregated);
    if (page.upTo < upTo) out.send(this.#self, { type: 'ReadUnstable', after: page.upTo, upTo });
    else this.#unstable!.isWhole = true;
  }

  /** Starts its work with data that were copied from its peers, durably (D10). */
  join(rebuilt: RebuiltReplica, now: WallMs, out: Out): void {
    const { vector, highestGroups } = rebuilt;
    for (const [region, ts] of vector) if (this.vv.has(region)) this.vv.raise(region, ts, 0);
    for (const [region, peer] of this.#peers) peer.group = Math.max(peer.group, highestGroups.get(region) ?? 0);
    const lastVersion = Math.max(...vector.values());
    for (const tx of rebuilt.unstable) this.#unstable?.add(tx, this.state.stable.aggregated);
    this.#retention = new Retention(this.partition, this.state, this.#peers, { ...rebuilt, lastVersion });
    this.#retention.start(out);
    this.#rollback = new RollbackWatch(this.versionClock, this.state.clock.ceiling, this.#watching()).copied();
    this.state.verification.watch(this.partition, this.#rollback);
    for (const region of this.#peers.keys()) this.#receiver.askResync(region, now, out);
  }

  /**
   * Writes own transactions of one timestamp, and sends them with the next release (P4). Returns the number of their
   * batch.
   */
  apply(ct: Timestamp, own: readonly OwnTransaction[], out: Out): void {
    this.#retention.stored(ct);
    this.#retention.logged(ct);
    this.#rollback.applied(ct);
    for (const applied of own) this.#writer.apply({ ct, region: this.state.region, log: 'own', ...applied }, out);
    this.#sender.add({ ct, txs: own.map(({ tx }) => tx) });
  }

  /** Raises the own version clock, after the groups that it covers (P3). */
  publish(bound: Timestamp, wrote: boolean, out: Out): void {
    this.#writer.raise(this.state.region, bound, wrote, out);
    this.#rollback.published(bound);
    this.#keepEvidence(out);
  }

  /** Sends groups that are durable by now (Alg. 4 lines 15 and 21). */
  release(out: Out): void {
    this.#sender.release(out);
  }

  /** Repeats unanswered requests. */
  retry(now: WallMs, out: Out): void {
    this.#receiver.retry(now, out);
    for (const [region, { address }] of this.#peers)
      if (!this.state.maps.isAwaited(address.node)) this.#rollback.excuse(region);
    if (this.state.membership.joined) this.#sender.retry(out);
  }

  link(node: string, up: boolean, now: WallMs, out: Out): void {
    if (up) this.state.verification.linked(now);
    for (const [region, { address, stream }] of this.#peers) {
      if (address.node !== node) continue;
      stream.link(up);
      this.#rollback.link(region, up, now);
      if (up && this.state.membership.joined) this.#receiver.askResync(region, now, out);
    }
  }

  persisted(upTo: WriteSeq): void {
    this.vv.persisted(upTo);
    for (const peer of this.#peers.values()) peer.persisted(upTo);
  }

  /** Applies groups that the gate admits. */
  admit(now: WallMs, out: Out): void {
    this.#receiver.admit(now, out);
  }

  /** A node has lost its disk (D10): groups that it sourced and that no replica has applied are lost. */
  onDataLoss(node: string): void {
    this.#receiver.onDataLoss(node);
  }

  /** Takes back the rest of a transaction after the loss of a disk (`versions.ts`). */
  takeBack(loss: Pick<Loss, 'txId' | 'ts' | 'node'>, keys: readonly QualifiedKey[], logged: boolean, out: Out): void {
    this.#sender.takeBack(loss);
    const { stableSnapshots, topology } = this.state;
    const region = topology.regionOf(loss.node);
    const log = logged ? 'own' : stableSnapshots && keys.length > 0 ? 'received' : 'none';
    for (const record of recordsOfTakingBack(this.partition, loss, keys, region, log)) out.write(record);
  }

  /**
   * A map is adopted: the versions of the transactions that it defers are taken back, and the streams of the nodes that
   * it suspends are received again from the horizon (M5). Returns these transactions.
   */
  cut(map: ClusterMap, isCut: (tx: UnstableTx) => boolean, out: Out): UnstableTx[] {
    const { suspends, horizon, nodes } = map;
    this.#sender.adopted();
    const deferred = this.#unstable?.take(map, isCut) ?? [];
    for (const { ct: ts, region, tx } of deferred) {
      const log = region === this.state.region ? 'own' : 'received';
      if (log === 'own') this.#sender.takeBack({ txId: tx.txId, ts });
      const keys = tx.writes.map(({ key }) => key);
      for (const record of recordsOfTakingBack(this.partition, { txId: tx.txId, ts }, keys, region, log))
        out.write(record);
    }
    for (const [region, { address }] of this.#peers)
      if (suspends.some((number) => nodes[number]!.id === address.node))
        this.#receiver.receiveAgain(region, horizon, out);
    this.#writer.vector(out);
    return deferred;
  }

  /** P9 and D5: versions below the floor that no snapshot needs, and log entries below UST. */
  collect(floor: Timestamp, out: Out): void {
    this.#retention.collect(floor, out);
  }

  #keepEvidence(out: Out): void {
    const value = this.#rollback.takeChanges();
    if (value !== undefined) out.write({ kind: 'meta', name: `evidence/${this.partition}`, value });
  }

  /** How far an entry of the version vector counts; undefined: as far as it goes. */
  #limitOf(region: RegionId): Timestamp | undefined {
    if (region !== this.state.region) return this.#peers.get(region)?.cap;
    return this.verified ? undefined : this.#rollback.trusted;
  }

  #onResyncReq(request: ResyncReq, now: WallMs, sender: Address, out: Out): void {
    const { region, from, clock, group } = request;
    const peer = this.#peers.get(region);
    // The log is truncated for an evicted node (M14): it would take its own disk for one that was rolled back.
    if (peer === undefined || sender.node !== peer.address.node || this.state.maps.isEvicted(sender.node)) return;
    this.#resyncs++;
    const met = this.#receiver.meet(region, request.incarnation, now, out);
    if (request.peerIncarnation !== this.state.membership.incarnation) {
      if (!met) this.#receiver.askResync(region, now, out); // its request has the incarnation
      return;
    }
    if (this.#rollback.lost(region, clock, group))
      throw rolledBack(`${region} has versions of partition ${this.partition} from here that the disk does not have`);
    peer.sourced ??= { clock: request.sourced, at: now };
    this.#keepEvidence(out);
    const { partition, state } = this;
    const truncatedUpTo = this.#retention.truncatedFor(peer);
    if (from < truncatedUpTo)
      out.send(peer.address, { type: 'ResyncRefused', partition, source: state.region, truncatedUpTo });
    else this.#sender.replay(region, from, out);
  }
}

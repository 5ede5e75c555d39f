/**
 * How the replicas of one partition follow one another, under every protocol: each sends what it sourced, in the order of its
 * timestamps, and knows by a version vector how far it has followed the others (PaRiS Algorithm 4 lines 15 and 21–33).
 *
 * Departs from the pseudo-code by P3 (VV raised after the groups), D1 (only what is durable leaves), D6 (ranges with
 * a beginning, replay from the log) and D10 (rolled-back disks are noticed, copies are handed out). Under protocols
 * that track dependencies a gate admits what a peer has sent before it is applied (`gate.ts`).
 */
import type {
  LogGroup,
  LoggedTx,
  PartitionId,
  QualifiedKey,
  RegionId,
  Timestamp,
  Version,
  WallMs,
} from '@isochron/core';
import type { Address, Effects, Handlers, WriteSeq } from '../../machine.js';
import { type NodeState, replicaName } from '../node-state.js';
import { Copies } from './copies.js';
import type { Gate, PeerBacklog } from './gate.js';
import { LoggedTimes } from './logged-times.js';
import type { Loss } from './losses.js';
import type {
  Heartbeat,
  ReplayLog,
  Replicate,
  ReplicationMessage,
  ResyncRefused,
  ResyncReq,
  StreamMessage,
} from './messages.js';
import { type Origin, sendRange } from './ranges.js';
import { lagging, type Peer, peersOf, type RebuiltReplica, type RecoveredReplica } from './replica-state.js';
import { RollbackWatch, rolledBack } from './rollback-watch.js';
import { VersionVector } from './version-vector.js';
import { outcomeOf, recordsOfTakingBack, versionsOf, without } from './versions.js';

type Out = Effects<ReplicationMessage>;

/** A resync request without an answer is repeated after this time. */
const RESYNC_RETRY_MS = 1_000;

export class Replication {
  readonly vv: VersionVector;
  readonly counters = { replicated: 0, stale: 0, gaps: 0, resyncs: 0 };
  readonly #peers: ReadonlyMap<RegionId, Peer>;
  readonly #self: Address;
  readonly #copies: Copies;
  #rollback: RollbackWatch;
  #gcFloor: Timestamp;
  /** Highest timestamp of a version: an idle replica has nothing to collect. */
  #lastVersion: Timestamp;
  #logged: LoggedTimes;
  #truncatedUpTo: Timestamp;
  /** Applied groups that the live streams have not carried yet; those up to `#releasedUpTo` are in the log alone. */
  #unsent: LogGroup[] = [];
  #releasedUpTo: Timestamp = 0;

  readonly handlers: Handlers<StreamMessage, [now: WallMs, from: Address, out: Out]> = {
    Replicate: (message, now, _from, out) => this.#onReplicate(message, now, out),
    Heartbeat: (message, now, _from, out) => this.#onHeartbeat(message, now, out),
    ResyncReq: (message, now, from, out) => this.#onResyncReq(message, now, from, out),
    ResyncRefused: (message, _now, from) => this.#onResyncRefused(message, from),
    CopyReq: (message, _now, from, out) => this.#copies.onCopyReq(message, from, out),
    ReadCopy: (message, _now, from, out) => {
      if (from.node === this.state.node) this.#copies.onReadCopy(message, this.#gcFloor, out);
    },
    ReplayLog: (message, _now, from, out) => {
      if (from.node === this.state.node) this.#onReplayLog(message, out);
    },
  };

  constructor(
    readonly partition: PartitionId,
    readonly state: NodeState,
    recovered: RecoveredReplica,
    /** New versions have come from a peer. */
    readonly received: (now: WallMs) => void,
    /** A version, own or a peer's, is on its way to the disk; it is there with the batch of this number. */
    readonly written: (key: QualifiedKey, version: Version, seq: WriteSeq) => void = () => {},
    /** What peers' groups have to wait for; undefined: for nothing. */
    readonly gate?: Gate,
  ) {
    this.vv = new VersionVector(recovered.versionVector);
    this.#peers = peersOf(partition, state, recovered, this.vv, gate !== undefined);
    this.#gcFloor = recovered.gcFloor;
    this.#lastVersion = Math.max(...recovered.versionVector.map(([, ts]) => ts));
    this.#logged = new LoggedTimes(Math.max(recovered.logged, recovered.truncatedUpTo));
    this.#truncatedUpTo = recovered.truncatedUpTo;
    this.#rollback = new RollbackWatch(this.versionClock, state.clock.ceiling, this.#peers.keys(), recovered.evidence);
    state.verification.watch(partition, this.#rollback);
    this.#self = { node: state.node, machine: replicaName(partition) };
    this.#copies = new Copies(this.#self, partition, state, this.vv, (region) => this.#limitOf(region));
    state.stable.bound(this.vv);
    state.stable.recovered(this.#gcFloor);
  }

  /** Everything up to here that this replica sourced is applied. */
  get versionClock(): Timestamp {
    return this.vv.applied(this.state.region);
  }

  /** What this replica contributes to UST: what is on its disk, and of each peer what it may be trusted in. */
  get stableMin(): Timestamp {
    const { durableMin } = this.vv;
    return Math.min(durableMin, ...[...this.#peers.values()].map(({ verification }) => verification.cap ?? durableMin));
  }

  /** Whether every peer has reported what it knows of the disk. */
  get verified(): boolean {
    return this.#rollback.verified;
  }

  get #origin(): Origin {
    return { partition: this.partition, source: this.state.region, verified: this.verified };
  }

  get gcFloor(): Timestamp {
    return this.#gcFloor;
  }

  /** The lowest timestamp of an own group that is applied and not on disk yet. */
  get undurable(): Timestamp | undefined {
    const durable = this.vv.durable(this.state.region);
    return this.#unsent.find(({ ct }) => ct > durable)?.ct;
  }

  /** Highest commit timestamp that this replica ever logged. */
  get lastLogged(): Timestamp {
    return this.#logged.last;
  }

  /** Whether the node's disk is being verified: nothing is decided meanwhile (D10). */
  suspects(now: WallMs): boolean {
    return this.state.verification.waits(now);
  }

  /** Whether a peer has reported whose stream is not as far as it may have been before this disk went back (D10). */
  lags(now: WallMs): boolean {
    return lagging(this.#peers, this.vv, now, this.state.settings.verifyTimeoutMs);
  }

  start(now: WallMs): void {
    this.state.verification.start(now);
    this.#rollback.start(this.state.clock.read(now));
  }

  /** Takes up its work with data that were copied from its peers, durably (D10). */
  join({ vector, highestGroups, gcFloor, logged, truncatedUpTo }: RebuiltReplica, now: WallMs, out: Out): void {
    for (const [region, ts] of vector) if (this.vv.has(region)) this.vv.raise(region, ts, 0);
    for (const [region, peer] of this.#peers) peer.group = Math.max(peer.group, highestGroups.get(region) ?? 0);
    this.#gcFloor = gcFloor;
    this.state.stable.recovered(gcFloor);
    this.#lastVersion = Math.max(...vector.values());
    this.#logged = new LoggedTimes(Math.max(logged, truncatedUpTo));
    this.#truncatedUpTo = truncatedUpTo;
    this.#rollback = new RollbackWatch(this.versionClock, this.state.clock.ceiling, this.#peers.keys()).copied();
    this.state.verification.watch(this.partition, this.#rollback);
    for (const region of this.#peers.keys()) this.#askResync(region, now, out);
  }

  /**
   * Writes the versions of own transactions of one timestamp, and sends them with the next release (P4).
   *
   * @param sent what the peers get, and what a replay finds in the log, where it says less than the versions
   */
  apply({ ct, txs }: LogGroup, out: Out, sent: LogGroup = { ct, txs }): void {
    this.#lastVersion = Math.max(this.#lastVersion, ct);
    this.#logged.add(ct);
    this.#rollback.applied(ct);
    for (const tx of txs) this.#writeVersions(tx, ct, this.state.region, out);
    this.#unsent.push(sent);
  }

  /** Raises the own version clock, after the groups that it covers (P3). */
  publish(bound: Timestamp, wrote: boolean, out: Out): void {
    this.#raise(this.state.region, bound, wrote, out);
    this.#rollback.published(bound);
    this.#keepEvidence(out);
  }

  /**
   * Alg. 4 lines 15 and 21: a Replicate is a promise (D1), so a round sends what the disk has by now, and one frame to each peer
   * carries it together with the round's gossip (P12).
   */
  release(out: Out): void {
    const upTo = this.vv.durable(this.state.region);
    for (const { address, stream } of this.#peers.values()) {
      const from = stream.sentUpTo;
      if (from === undefined || (from >= upTo && stream.verified === this.verified)) continue;
      const groups = this.#unsent.filter(({ ct }) => ct > from && ct <= upTo);
      const to = Math.max(from, upTo);
      sendRange(address, this.#origin, { from, to, groups }, false, out);
      stream.live(to, this.verified);
    }
    this.#unsent = this.#unsent.filter(({ ct }) => ct > upTo);
    this.#releasedUpTo = upTo;
  }

  /** Asks again for what was asked for and has not come. */
  retry(now: WallMs, out: Out): void {
    for (const [region, { askedAt }] of this.#peers) {
      if (askedAt !== 0 && now - askedAt > RESYNC_RETRY_MS) this.#askResync(region, now, out);
    }
  }

  link(node: string, up: boolean, now: WallMs, out: Out): void {
    if (up) this.state.verification.linked(now);
    for (const [region, { address, stream }] of this.#peers) {
      if (address.node !== node) continue;
      stream.broken();
      this.#rollback.link(region, up, now);
      if (up && this.state.membership.joined) this.#askResync(region, now, out);
    }
  }

  persisted(upTo: WriteSeq): void {
    this.vv.persisted(upTo);
    for (const { verification } of this.#peers.values()) verification.persisted(upTo);
  }

  /** How many groups of peers wait to be admitted. */
  get held(): number {
    return [...this.#peers.values()].reduce((count, { held }) => count + (held?.groups.length ?? 0), 0);
  }

  /** Applies what the gate admits. What one source's group waits for may be another one's. */
  admit(now: WallMs, out: Out): void {
    if (this.gate === undefined) return;
    let [admitted, wrote, more] = [false, false, true];
    while (more) {
      more = false;
      for (const [source, { held }] of this.#peers) {
        while (held!.groups.length > 0 && this.gate.admits(source, held!.groups, now, out)) {
          more = true;
          admitted = true;
          if (this.#admitOne(source, held!, out)) wrote = true;
        }
      }
    }
    if (!admitted) return;
    if (wrote) this.#keepVector(out);
    this.#arrived(wrote, now, out);
    for (const source of this.#peers.keys()) this.#restore(source, out);
    for (const [source, { held }] of this.#peers) if (held!.canResume) this.#askResync(source, now, out);
  }

  /** A node has lost its disk (D10): what it sourced and nobody has applied, nobody will ever have. */
  forget(node: string): void {
    for (const [region, peer] of this.#peers) {
      if (peer.address.node !== node || peer.held === undefined) continue;
      this.gate!.forget(peer.held.groups);
      peer.held.clear();
      peer.clock = Math.min(peer.clock, this.vv.applied(region));
    }
  }

  /** Takes back what a lost disk has left of a transaction (`versions.ts`). */
  takeBack(loss: Pick<Loss, 'txId' | 'ts'>, keys: readonly QualifiedKey[], logged: boolean, out: Out): void {
    this.#unsent = without(this.#unsent, loss);
    for (const record of recordsOfTakingBack(this.partition, loss, keys, logged)) out.write(record);
  }

  /** P9 and D5: versions below the floor that no snapshot needs, and log entries below UST. */
  collect(floor: Timestamp, out: Out): void {
    const { partition, state } = this;
    if (floor > this.#gcFloor && this.#gcFloor < this.#lastVersion) {
      this.#gcFloor = floor;
      state.stable.collected(floor);
      out.write({ kind: 'collect', partition, floor });
    }
    const covered = this.#logged.truncate(this.#peers.values(), state.stable.aggregated);
    if (covered <= this.#truncatedUpTo) return;
    this.#truncatedUpTo = covered;
    out.write({ kind: 'truncateLog', partition, upTo: covered });
  }

  #writeVersions(tx: LoggedTx, ts: Timestamp, region: RegionId, out: Out): void {
    for (const { key, version } of versionsOf(tx, ts, region))
      this.written(key, version, out.write({ kind: 'version', partition: this.partition, key, version }));
  }

  /** Raises a VV entry; with new versions the vector goes to disk in their batch. */
  #raise(region: RegionId, ts: Timestamp, wrote: boolean, out: Out): void {
    const seq: WriteSeq = wrote ? out.lastWrite() : 0;
    this.vv.raise(region, ts, seq);
    if (wrote) this.#keepVector(out);
  }

  #keepVector(out: Out): void {
    out.write({ kind: 'meta', name: `vv/${this.partition}`, value: this.vv.entries() });
  }

  /** Alg. 4 lines 23–30, with P3 and D6. */
  #onReplicate(message: Replicate, now: WallMs, out: Out): void {
    const { source, from, to, groups, more } = message;
    if (!this.#follows(message, now, out)) return;
    const have = this.#received(source);
    const { held } = this.#peers.get(source)!;
    let wrote = false;
    for (const group of groups) {
      const { ct } = group;
      // A fragment proves nothing yet: its source may lose the rest.
      const whole = ct <= to;
      if (ct <= have || (!whole && from !== to)) this.counters.stale++;
      else if (held !== undefined) held.add(group, whole ? ct : 0);
      else if (this.#take(source, group, whole, out)) wrote = true;
    }
    this.#advance(source, to, wrote, out);
    this.#arrived(wrote, now, out);
    if (more) this.#askResync(source, now, out);
  }

  /** Alg. 4 lines 31–33. */
  #onHeartbeat(message: Heartbeat, now: WallMs, out: Out): void {
    if (this.#follows(message, now, out)) this.#advance(message.source, message.to, false, out);
  }

  /** A peer's version clock came from itself. It covers what waits at the gate: then it is raised behind that. */
  #advance(source: RegionId, to: Timestamp, wrote: boolean, out: Out): void {
    const peer = this.#peers.get(source)!;
    peer.clock = Math.max(peer.clock, to);
    peer.verification.received(to);
    if (peer.held?.advance(to) ?? true) this.#raise(source, to, wrote, out);
    this.#restore(source, out);
  }

  /** Whether every peer has verified the disk that this comes from. */
  #verified(source: RegionId, verified: boolean, out: Out): void {
    const { verification } = this.#peers.get(source)!;
    if (verified) verification.verify();
    else if (verification.markUnverified(this.#received(source)))
      this.#keep('limits', (peer) => peer.verification.persistedCap, out);
  }

  /** The limit goes once the source is verified, was heard as far as the first time, and nothing of that waits. */
  #restore(source: RegionId, out: Out): void {
    const { verification, held } = this.#peers.get(source)!;
    if (!verification.verified || verification.persistedCap === undefined) return;
    const { resentUpTo } = verification;
    if (resentUpTo !== undefined && (resentUpTo < this.vv.applied(source) || (held?.groups.length ?? 0) > 0)) return;
    verification.restore(() => this.#keep('limits', (peer) => peer.verification.persistedCap, out));
  }

  /** Writes a peer's versions. Returns whether there were any. */
  #take(source: RegionId, { ct, txs }: LogGroup, whole: boolean, out: Out): boolean {
    const peer = this.#peers.get(source)!;
    this.#lastVersion = Math.max(this.#lastVersion, ct);
    if (whole) peer.group = Math.max(peer.group, ct);
    const kept = txs.filter(({ txId }) => !this.state.losses.isTakenBack(txId, ct));
    for (const tx of kept) {
      this.#writeVersions(tx, ct, source, out);
      if (tx.repeatable) out.write(outcomeOf(this.partition, tx.txId, ct));
    }
    this.counters.replicated += txs.length;
    return kept.some(({ writes }) => writes.length > 0);
  }

  /** The vector goes to disk when all that is admitted in this step is. */
  #admitOne(source: RegionId, held: PeerBacklog, out: Out): boolean {
    const { group, upTo } = held.take();
    this.gate!.forget([group]);
    const wrote = this.#take(source, group, upTo >= group.ct, out);
    this.vv.raise(source, upTo, wrote ? out.lastWrite() : 0);
    return wrote;
  }

  #keepEvidence(out: Out): void {
    const value = this.#rollback.takeChanges();
    if (value !== undefined) out.write({ kind: 'meta', name: `doubt/${this.partition}`, value });
  }

  #arrived(wrote: boolean, now: WallMs, out: Out): void {
    if (!wrote) return;
    this.#keep('heard', ({ group }) => group, out); // the peer may need to be told (D10)
    this.received(now);
  }

  /** Everything that a peer sourced up to here has come. */
  #received(source: RegionId): Timestamp {
    const { verification, held } = this.#peers.get(source)!;
    return verification.resentUpTo ?? Math.max(this.vv.applied(source), held?.received ?? 0);
  }

  /** What is known of the peers, and outlives a crash. */
  #keep(what: 'heard' | 'lives' | 'limits', of: (peer: Peer) => Timestamp | undefined, out: Out): WriteSeq {
    const entries = [...this.#peers].flatMap(([region, peer]) => {
      const ts = of(peer);
      return ts === undefined ? [] : [[region, ts] as const];
    });
    return out.write({ kind: 'meta', name: `${what}/${this.partition}`, value: Object.fromEntries(entries) });
  }

  /** Accepts a range only if it begins at or below what is there already; else asks for the gap (D6). */
  #follows({ source, from, verified }: Replicate | Heartbeat, now: WallMs, out: Out): boolean {
    const peer = this.#peers.get(source);
    if (peer === undefined) return false;
    if (peer.held?.full) {
      peer.held.reject();
      peer.askedAt = 0;
      return false;
    }
    if (from <= this.#received(source)) {
      peer.askedAt = 0;
      this.#verified(source, verified, out);
      return true;
    }
    this.counters.gaps++;
    if (peer.askedAt === 0 && !peer.held?.rejected) this.#askResync(source, now, out);
    return false;
  }

  #askResync(source: RegionId, now: WallMs, out: Out): void {
    const peer = this.#peers.get(source)!;
    peer.askedAt = now;
    peer.held?.asked();
    out.sendAfterPersist(peer.address, {
      type: 'ResyncReq',
      partition: this.partition,
      region: this.state.region,
      from: this.#received(source),
      clock: peer.clock,
      group: Math.max(peer.group, peer.held?.group ?? 0),
      incarnation: this.state.membership.incarnation,
      peerIncarnation: peer.incarnation,
      sourced: this.vv.durable(this.state.region),
    });
  }

  /** A peer has lost its disk since it was met last (D10), perhaps after it had gone on with an old one. */
  #meet(region: RegionId, incarnation: Timestamp, now: WallMs, out: Out): boolean {
    const peer = this.#peers.get(region)!;
    if (peer.incarnation === incarnation) return false;
    peer.incarnation = incarnation;
    this.forget(peer.address.node);
    peer.verification.restartFrom(this.vv.applied(region));
    this.#keep('lives', ({ incarnation }) => incarnation, out);
    this.#askResync(region, now, out);
    return true;
  }

  /** How far an entry of the version vector may be trusted; undefined: as far as it goes. */
  #limitOf(region: RegionId): Timestamp | undefined {
    if (region !== this.state.region) return this.#peers.get(region)?.verification.cap;
    return this.verified ? undefined : this.#rollback.trusted;
  }

  #onResyncReq(request: ResyncReq, now: WallMs, sender: Address, out: Out): void {
    const { region, from, clock, group } = request;
    const peer = this.#peers.get(region);
    if (peer === undefined || sender.node !== peer.address.node) return;
    this.counters.resyncs++;
    const met = this.#meet(region, request.incarnation, now, out);
    if (request.peerIncarnation !== this.state.membership.incarnation) {
      if (!met) this.#askResync(region, now, out); // which tells it
      return;
    }
    if (this.#rollback.lost(region, clock, group))
      throw rolledBack(`${region} has versions of partition ${this.partition} from here that the disk does not have`);
    peer.sourced ??= { clock: request.sourced, at: now };
    this.#keepEvidence(out);
    const { partition, state } = this;
    const truncatedUpTo = Math.max(this.#truncatedUpTo, this.#logged.confirmedBy(peer, state.stable.aggregated));
    if (from < truncatedUpTo)
      out.send(peer.address, { type: 'ResyncRefused', partition, source: state.region, truncatedUpTo });
    else this.#replay(region, from, out);
  }

  // A log is, or may be, truncated below what every disk has had, and trusted: a disk that lacks it has lost it, and so
  // has one that knows of a limit below it (D10).
  #onResyncRefused({ source, truncatedUpTo }: ResyncRefused, sender: Address): void {
    const peer = this.#peers.get(source);
    // Only who was asked may say so: what follows is drastic (D12).
    if (peer === undefined || sender.node !== peer.address.node || peer.askedAt === 0) return;
    if (Math.min(this.vv.applied(source), this.#received(source)) >= truncatedUpTo) return;
    throw rolledBack(`The disk lacks versions of partition ${this.partition} that it once confirmed to ${source}`);
  }

  /**
   * The log is read in a step of its own, so that the driver can bring the range to memory, and only as far as it is
   * durable: what still waits for the disk may not be in the log yet.
   */
  #replay(region: RegionId, after: Timestamp, out: Out): void {
    const upTo = Math.max(after, this.vv.durable(this.state.region));
    out.send(this.#self, { type: 'ReplayLog', region, after, upTo });
  }

  #onReplayLog({ region, after, upTo }: ReplayLog, out: Out): void {
    const { address, stream } = this.#peers.get(region)!;
    const page = this.state.reader.log(this.partition, after, upTo);
    const more = page.upTo < upTo;
    sendRange(address, this.#origin, { from: after, to: page.upTo, groups: page.groups }, more, out);
    if (more)
      stream.broken(); // the peer asks for the next page when it has this one
    else if (upTo < this.#releasedUpTo)
      this.#replay(region, upTo, out); // a round has passed meanwhile
    else stream.live(upTo, this.verified);
  }
}

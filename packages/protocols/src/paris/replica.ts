/**
 * The replica p^m_n: version chains, the cohort of two-phase commit, apply and replication (Algorithms 3 and 4).
 *
 * Deviations from the pseudo-code: P1 (the HLC moves with the published bound), P2 (`ct <= ub`), P3 (groups and version clock in
 * every round, VV raised after the groups), P4 (one `ct`, one group), P5, P9, D1, D5–D7; see SPEC.md.
 *
 * Invariants (checked after every step): PR1 every timestamp proposed since the start lies above the own version clock; one from
 * before may lie below, when its commit had been decided in memory above the clock: it is decided again (D2). PR2 every committed, unapplied
 * transaction does too. PR3 the own version clock is not above the durable HLC ceiling.
 */
import {
  IsochronError,
  invariant,
  type LogGroup,
  type PartitionId,
  packWall,
  type ReadNeeds,
  type RegionId,
  type Timestamp,
  type WallMs,
} from '@isochron/core';
import type { CommittedGroup } from '../kernel/committed-queue.js';
import { LoggedTimes } from '../kernel/logged-times.js';
import { SendingEnd, stretches } from '../kernel/replication-stream.js';
import { RollbackWatch } from '../kernel/rollback-watch.js';
import { VersionVector } from '../kernel/version-vector.js';
import type { Address, Effects, Handlers, Input, Machine, WriteSeq } from '../machine.js';
import { Cohort } from './cohort.js';
import { Copies } from './copies.js';
import type {
  Heartbeat,
  ListSliceReq,
  ParisMessage,
  ReadSliceReq,
  ReplayLog,
  Replicate,
  ResyncRefused,
  ResyncReq,
} from './messages.js';
import { Addresses, type NodeState, replicaName } from './node-state.js';
import type { Peer, RebuiltReplica, RecoveredReplica, ReplicaMessage } from './replica-state.js';

type Out = Effects<ParisMessage>;
/** What a replica without data answers: reads are refused, so that their coordinators go elsewhere. All else waits (D10). */
const ALWAYS: ReadonlySet<ParisMessage['type']> = new Set(['ReadSliceReq', 'ListSliceReq']);

const RESOLVE_INTERVAL_MS = 250;
const COLLECT_INTERVAL_MS = 1_000;
/** A resync request without an answer is repeated after this time. */
const RESYNC_RETRY_MS = 1_000;

export class Replica implements Machine<ParisMessage> {
  readonly cohort: Cohort;
  readonly vv: VersionVector;
  readonly counters = { slices: 0, refusedSlices: 0, applied: 0, replicated: 0, stale: 0, gaps: 0, resyncs: 0 };
  readonly #peers = new Map<RegionId, Peer>();
  readonly #self: Address;
  readonly #copies: Copies;
  /** The version clock that the disk had. */
  readonly #recoveredClock: Timestamp;
  #gcFloor: Timestamp;
  #rollback: RollbackWatch;
  /** Highest timestamp of a version: an idle replica has nothing to collect. */
  #lastVersion: Timestamp;
  #logged: LoggedTimes;
  #truncatedUpTo: Timestamp;
  /** Applied groups that the live streams have not carried yet; those up to `#releasedUpTo` are in the log alone. */
  #unsent: LogGroup[] = [];
  #releasedUpTo: Timestamp = 0;
  #applyAt: WallMs = 0;

  readonly #handlers: Handlers<ReplicaMessage, [now: WallMs, from: Address, out: Out]> = {
    ReadSliceReq: (message, _now, from, out) => this.#onReadSliceReq(message, from, out),
    ListSliceReq: (message, _now, from, out) => this.#onListSliceReq(message, from, out),
    PrepareReq: (message, now, from, out) => {
      this.cohort.onPrepareReq(message, now, from, out);
      this.#awake(now, out);
    },
    CommitTx: (message) => this.cohort.onCommitTx(message),
    AbortTx: (message, now, _from, out) => this.cohort.onAbortTx(message, now, out),
    ResolveReq: (message, now, from, out) => this.cohort.onResolveReq(message, now, from, out),
    ResolveResp: (message, now, _from, out) => this.cohort.onResolveResp(message, now, out),
    OutcomeReq: (message, _now, from, out) => this.cohort.onOutcomeReq(message, from, out),
    Replicate: (message, now, _from, out) => this.#onReplicate(message, now, out),
    Heartbeat: (message, now, _from, out) => this.#onHeartbeat(message, now, out),
    ResyncReq: (message, _now, from, out) => this.#onResyncReq(message, from, out),
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
  ) {
    this.vv = new VersionVector(recovered.versionVector);
    this.cohort = new Cohort(partition, state, recovered.forgottenUpTo);
    this.#gcFloor = recovered.gcFloor;
    this.#lastVersion = Math.max(...recovered.versionVector.map(([, ts]) => ts));
    this.#logged = new LoggedTimes(Math.max(recovered.logged, recovered.truncatedUpTo));
    this.#truncatedUpTo = recovered.truncatedUpTo;
    this.#recoveredClock = this.versionClock;
    this.#rollback = new RollbackWatch(this.#recoveredClock, state.clock.ceiling);
    this.#self = { node: state.node, machine: replicaName(partition) };
    this.#copies = new Copies(this.#self, partition, state, this.vv);
    const addresses = new Addresses(state.topology);
    for (const [region] of recovered.versionVector) {
      if (region === state.region) continue;
      const address = addresses.replica(partition, region);
      this.#peers.set(region, { address, stream: new SendingEnd(), askedAt: 0, clock: 0, group: 0 });
    }
    state.stable.bound(this.vv);
    state.stable.recovered(this.#gcFloor);
  }

  get versionClock(): Timestamp {
    return this.vv.applied(this.state.region);
  }

  get gcFloor(): Timestamp {
    return this.#gcFloor;
  }

  /** Highest commit timestamp that this replica ever logged. */
  get lastLogged(): Timestamp {
    return this.#logged.last;
  }

  /** Takes up its work with data that were copied from its peers, durably (D10). */
  join({ vector, gcFloor, forgottenUpTo, logged, truncatedUpTo }: RebuiltReplica, now: WallMs, out: Out): void {
    for (const [region, ts] of vector) if (this.vv.has(region)) this.vv.raise(region, ts, 0);
    this.#gcFloor = gcFloor;
    this.state.stable.recovered(gcFloor);
    this.#lastVersion = Math.max(...vector.values());
    this.#logged = new LoggedTimes(Math.max(logged, truncatedUpTo));
    this.#truncatedUpTo = truncatedUpTo;
    this.#rollback = new RollbackWatch(this.versionClock, this.state.clock.ceiling);
    this.cohort.join(forgottenUpTo);
    for (const region of this.#peers.keys()) this.#askResync(region, now, out);
  }

  step(input: Input<ParisMessage>, out: Out): void {
    switch (input.kind) {
      case 'message': {
        if (!this.state.membership.joined && !ALWAYS.has(input.message.type)) return;
        const handler = this.#handlers[input.message.type as ReplicaMessage['type']] as
          | ((message: ParisMessage, now: WallMs, from: Address, out: Out) => void)
          | undefined;
        handler?.(input.message, input.now, input.from, out);
        return;
      }
      case 'timer':
        this.#onTimer(input.timer, input.now, out);
        return;
      case 'persisted':
        this.#onPersisted(input.upTo);
        return;
      case 'link':
        this.#onLink(input.node, input.up, input.now, out);
    }
  }

  needs(message: ParisMessage): ReadNeeds | undefined {
    const { partition } = this;
    if (message.type === 'ReadSliceReq') return { kind: 'keys', partition, keys: message.keys };
    if (message.type === 'ListSliceReq') {
      return { kind: 'list', partition, range: message.range, snapshot: message.snapshot };
    }
    if (message.type === 'ReplayLog') {
      return { kind: 'log', partition, after: message.after, upTo: message.upTo };
    }
    if (message.type === 'ReadCopy') return { kind: 'copy', partition, start: message.request.start };
    return undefined;
  }

  invariants(): void {
    const clock = this.versionClock;
    const pt = this.cohort.prepared.minPt();
    const ct = this.cohort.committed.minCt();
    invariant(
      pt === undefined || pt > clock || pt <= this.#recoveredClock,
      () => `PR1: prepared at ${pt}, version clock ${clock}`,
    );
    invariant(ct === undefined || ct > clock, () => `PR2: committed at ${ct}, version clock ${clock}`);
    invariant(clock <= this.state.clock.ceiling, () => `PR3: version clock ${clock} above the durable ceiling`);
  }

  describe(): object {
    return {
      partition: this.partition,
      versionVector: this.vv.durableEntries(),
      prepared: this.cohort.prepared.size,
      committed: this.cohort.committed.size,
      gcFloor: this.#gcFloor,
      counters: { ...this.counters, ...this.cohort.counters },
    };
  }

  /** Alg. 3 lines 1–8. */
  #onReadSliceReq(request: ReadSliceReq, from: Address, out: Out): void {
    const { ref, partition, snapshot, keys } = request;
    if (!this.#serves(ref, snapshot, from, out)) return;
    const versions = keys.map((key) => this.state.reader.read(partition, key, snapshot) ?? null);
    out.send(from, { type: 'ReadSliceResp', ref, partition, versions });
  }

  #onListSliceReq(request: ListSliceReq, from: Address, out: Out): void {
    const { ref, partition, snapshot, range } = request;
    if (!this.#serves(ref, snapshot, from, out)) return;
    const { entries, next } = this.state.reader.list(partition, range, snapshot);
    out.send(from, { type: 'ListSliceResp', ref, partition, entries, next });
  }

  /** A snapshot that is not installed, or no longer whole, is refused, never answered wrongly (P5, P9). */
  #serves(ref: number, snapshot: Timestamp, from: Address, out: Out): boolean {
    this.counters.slices++;
    this.state.stable.learn(snapshot);
    if (snapshot >= this.#gcFloor && snapshot <= this.vv.durableMin) return true;
    this.counters.refusedSlices++;
    const old = snapshot < this.#gcFloor;
    out.send(from, {
      type: 'Refused',
      ref,
      code: old ? 'SNAPSHOT_TOO_OLD' : 'SNAPSHOT_UNAVAILABLE',
      detail: old
        ? 'Versions of this snapshot were garbage collected; start a new transaction.'
        : 'This replica has not recovered up to the snapshot yet; try again.',
    });
    return false;
  }

  #onTimer(timer: string, now: WallMs, out: Out): void {
    if (timer === 'start') {
      this.#scheduleApply(now, out);
      out.setTimer('resolve', now + RESOLVE_INTERVAL_MS);
      out.setTimer('collect', now + COLLECT_INTERVAL_MS);
    } else if (timer === 'apply') {
      this.#apply(now, out);
      this.#replicate(out);
      this.#scheduleApply(now, out);
    } else if (timer === 'resolve') {
      this.cohort.resolveOverdue(now, out);
      for (const [region, { askedAt }] of this.#peers) {
        if (askedAt !== 0 && now - askedAt > RESYNC_RETRY_MS) this.#askResync(region, now, out);
      }
      out.setTimer('resolve', now + RESOLVE_INTERVAL_MS);
    } else if (timer === 'collect') {
      this.#collect(now, out);
      out.setTimer('collect', now + COLLECT_INTERVAL_MS);
    }
  }

  #scheduleApply(now: WallMs, out: Out): void {
    this.#applyAt = this.state.activity.nextRound(now, this.state.settings.applyIntervalMs);
    out.setTimer('apply', this.#applyAt);
  }

  /** A transaction came: an idle replica's next round is brought forward. */
  #awake(now: WallMs, out: Out): void {
    this.state.activity.touch(now);
    if (this.#applyAt > now + this.state.settings.applyIntervalMs) this.#scheduleApply(now, out);
  }

  /** Alg. 4 lines 5–23, with P1–P4. */
  #apply(now: WallMs, out: Out): void {
    const { clock, region, membership } = this.state;
    if (!membership.joined) return;
    const minPt = this.cohort.prepared.minPt();
    const bound = Math.min(minPt === undefined ? Number.POSITIVE_INFINITY : minPt - 1, clock.publishable(now, out));
    const from = this.versionClock;
    if (bound <= from) return;
    clock.observe(bound);
    const groups = this.cohort.committed.drain(bound);
    for (const group of groups) this.#applyOwn(group, out);
    this.#raise(region, bound, groups.length > 0, out);
    this.#rollback.published(bound);
    for (const { ct, txs } of groups) this.#unsent.push({ ct, txs });
  }

  /**
   * Alg. 4 lines 15 and 21: a Replicate is a promise (D1), so a round sends what the disk has by now, and one frame to each peer
   * carries it together with the round's gossip (P12).
   */
  #replicate(out: Out): void {
    const upTo = this.vv.durable(this.state.region);
    for (const { address, stream } of this.#peers.values()) {
      const from = stream.sentUpTo;
      if (from === undefined || from >= upTo) continue;
      const groups = this.#unsent.filter(({ ct }) => ct > from && ct <= upTo);
      this.#sendStretches(address, from, upTo, groups, false, out);
      stream.live(upTo);
    }
    this.#unsent = this.#unsent.filter(({ ct }) => ct > upTo);
    this.#releasedUpTo = upTo;
  }

  #applyOwn({ ct, txs }: CommittedGroup, out: Out): void {
    const { partition } = this;
    const { region } = this.state;
    this.#lastVersion = Math.max(this.#lastVersion, ct);
    this.#logged.add(ct);
    this.#rollback.applied(ct);
    for (const { txId, writes, logged, attempt, digest } of txs) {
      for (const { key, value } of writes) {
        out.write({ kind: 'version', partition, key, version: { ts: ct, txId, region, value } });
      }
      this.counters.applied++;
      if (logged) continue;
      this.cohort.writeCommitted(txId, { status: 'committed', ts: ct, attempt, digest }, writes, out);
      out.write({ kind: 'prepared', partition, txId, record: null });
    }
  }

  /** Raises a VV entry; with new versions the vector goes to disk in their batch. */
  #raise(region: RegionId, ts: Timestamp, wrote: boolean, out: Out): void {
    const seq: WriteSeq = wrote ? out.lastWrite() : 0;
    this.vv.raise(region, ts, seq);
    if (wrote) out.write({ kind: 'meta', name: `vv/${this.partition}`, value: this.vv.entries() });
  }

  #sendStretches(
    to: Address,
    from: Timestamp,
    upTo: Timestamp,
    groups: readonly LogGroup[],
    more: boolean,
    out: Out,
  ): void {
    const { partition } = this;
    const source = this.state.region;
    if (groups.length === 0 && !more) {
      out.send(to, { type: 'Heartbeat', partition, source, from, to: upTo });
      return;
    }
    const cut = stretches(from, upTo, groups);
    cut.forEach((stretch, i) => {
      out.send(to, {
        type: 'Replicate',
        partition,
        source,
        ...stretch,
        more: more && i === cut.length - 1,
      });
    });
  }

  /** Alg. 4 lines 23–30, with P3 and D6. */
  #onReplicate(message: Replicate, now: WallMs, out: Out): void {
    const { source, from, to, groups, more } = message;
    if (!this.#follows(source, from, now, out)) return;
    const { partition } = this;
    const have = this.vv.applied(source);
    let wrote = false;
    for (const { ct, txs } of groups) {
      if (ct <= have || (ct > to && from !== to)) {
        this.counters.stale++;
        continue;
      }
      this.#lastVersion = Math.max(this.#lastVersion, ct);
      const peer = this.#peers.get(source)!;
      // A fragment proves nothing yet: its source may lose the rest.
      if (ct <= to) peer.group = Math.max(peer.group, ct);
      for (const { txId, writes } of txs) {
        for (const { key, value } of writes) {
          out.write({ kind: 'version', partition, key, version: { ts: ct, txId, region: source, value } });
        }
        this.counters.replicated++;
        wrote ||= writes.length > 0;
      }
    }
    this.#heard(source, to, wrote, out);
    if (wrote) this.#awake(now, out);
    if (more) this.#askResync(source, now, out);
  }

  /** Alg. 4 lines 31–33. */
  #onHeartbeat({ source, from, to }: Heartbeat, now: WallMs, out: Out): void {
    if (this.#follows(source, from, now, out)) this.#heard(source, to, false, out);
  }

  /** A peer's version clock came from itself. */
  #heard(source: RegionId, to: Timestamp, wrote: boolean, out: Out): void {
    const peer = this.#peers.get(source)!;
    peer.clock = Math.max(peer.clock, to);
    this.#raise(source, to, wrote, out);
  }

  /** Accepts a stretch only if it begins at or below what is there already; else asks for the gap (D6). */
  #follows(source: RegionId, from: Timestamp, now: WallMs, out: Out): boolean {
    const peer = this.#peers.get(source);
    if (peer === undefined) return false;
    if (from <= this.vv.applied(source)) {
      peer.askedAt = 0;
      return true;
    }
    this.counters.gaps++;
    if (peer.askedAt === 0) this.#askResync(source, now, out);
    return false;
  }

  #askResync(source: RegionId, now: WallMs, out: Out): void {
    const peer = this.#peers.get(source)!;
    peer.askedAt = now;
    const { partition } = this;
    const { region } = this.state;
    const { clock, group } = peer;
    const from = this.vv.applied(source);
    out.send(peer.address, { type: 'ResyncReq', partition, region, from, clock, group });
  }

  #onResyncReq({ region, from, clock, group }: ResyncReq, sender: Address, out: Out): void {
    const peer = this.#peers.get(region);
    if (peer === undefined || sender.node !== peer.address.node) return;
    this.counters.resyncs++;
    const { partition } = this;
    if (this.#rollback.lost(clock, group)) {
      throw new IsochronError(
        'REBUILD_NEEDED',
        `${region} has seen versions of partition ${partition} from here that the disk does not have: it was rolled back.`,
      );
    }
    const truncatedUpTo = this.#truncatedUpTo;
    if (from < truncatedUpTo) {
      out.send(peer.address, { type: 'ResyncRefused', partition, source: this.state.region, truncatedUpTo });
      return;
    }
    this.#replay(region, from, out);
  }

  /** A log is truncated below what every replica has had on its disk: one that lacks it has lost it (D10). */
  #onResyncRefused({ source, truncatedUpTo }: ResyncRefused, sender: Address): void {
    const peer = this.#peers.get(source);
    // Only who was asked may say so: what follows is drastic (D12).
    if (peer === undefined || sender.node !== peer.address.node || peer.askedAt === 0) return;
    if (this.vv.applied(source) >= truncatedUpTo) return;
    throw new IsochronError(
      'REBUILD_NEEDED',
      `The disk lacks versions of partition ${this.partition} that it once confirmed to ${source}: it was rolled back.`,
    );
  }

  /**
   * The log is read in a step of its own, so that the driver can bring the stretch to memory, and only as far as it is
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
    this.#sendStretches(address, after, page.upTo, page.groups, more, out);
    if (more)
      stream.broken(); // the peer asks for the next page when it has this one
    else if (upTo < this.#releasedUpTo)
      this.#replay(region, upTo, out); // a round has passed meanwhile
    else stream.live(upTo);
  }

  #onPersisted(upTo: WriteSeq): void {
    this.vv.persisted(upTo);
    this.cohort.persisted(upTo);
  }

  #onLink(node: string, up: boolean, now: WallMs, out: Out): void {
    for (const [region, { address, stream }] of this.#peers) {
      if (address.node !== node) continue;
      stream.broken();
      if (up && this.state.membership.joined) this.#askResync(region, now, out);
    }
  }

  /** P9 and D5: garbage below the floor, log entries below UST, outcomes below the retention. */
  #collect(now: WallMs, out: Out): void {
    const { stable, settings, membership } = this.state;
    if (!membership.joined) return;
    const { partition } = this;
    const floor = Math.min(stable.sOld, stable.aggregated, packWall(now - settings.retentionMs));
    if (floor > this.#gcFloor && this.#gcFloor < this.#lastVersion) {
      this.#gcFloor = floor;
      stable.collected(floor);
      out.write({ kind: 'collect', partition, floor });
    }
    const covered = this.#logged.upTo(stable.aggregated);
    if (covered > this.#truncatedUpTo) {
      this.#truncatedUpTo = covered;
      out.write({ kind: 'truncateLog', partition, upTo: covered });
    }
    this.cohort.forget(now, out);
  }
}

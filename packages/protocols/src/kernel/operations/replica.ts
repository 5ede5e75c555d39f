/**
 * The replica p^m_n of protocols of single operations: it serves GETs, PUTs and its part of read-only transactions. The
 * protocol decides about dependencies and visible versions (`protocol.ts`); replication is in `../replication`.
 *
 * A PUT takes its timestamp, and enters the chain and the outbox, in one step. So a version may be read before it is on
 * disk: an answer that shows it is a promise (D1).
 *
 * Invariants (checked after every step): OR1 durably published timestamps lie at or below the clock's durable ceiling
 * (D7).
 */
import {
  type Belongs,
  type Deps,
  invariant,
  isPlain,
  type PartitionId,
  type QualifiedKey,
  type ReadNeeds,
  type Timestamp,
  type Version,
  type WallMs,
} from '@isochron/core';
import { type Address, dispatch, type Effects, type Handlers, type Input, type Machine } from '../../machine.js';
import { HostedPartition } from '../hosted-partition.js';
import { type NodeState, replicaName } from '../node-state.js';
import type { StreamMessage } from '../replication/messages.js';
import type { RebuildableReplica } from '../replication/rebuild.js';
import type { RebuiltReplica, RecoveredReplica } from '../replication/replica-state.js';
import type { Written } from '../replication/replica-writer.js';
import type { Replication } from '../replication/replication.js';
import { type Refusal, TOO_OLD } from '../transactions/snapshots.js';
import { isWait, type Wait, Waiting } from '../waiting.js';
import { Admission } from './admission.js';
import { DependencyChecks } from './dependency-checks.js';
import type {
  AdmitUpdates,
  DepCheckReq,
  DepCheckResp,
  GetSliceReq,
  OperationMessage,
  RotSliceReq,
  RotVersionsReq,
  SettleReq,
  Slice,
  SnapReq,
  WaitedSlice,
} from './messages.js';
import type { OperationRules, ReplicaPart, ReplicaView } from './protocol.js';
import { Puts } from './puts.js';
import { ReplicaAsks } from './replica-asks.js';
import { Versions } from './versions.js';

type Out = Effects<OperationMessage>;

/** The messages that a replica takes. */
type ReplicaMessage =
  | StreamMessage
  | Slice
  | SettleReq
  | SnapReq
  | RotVersionsReq
  | WaitedSlice
  | DepCheckReq
  | DepCheckResp
  | AdmitUpdates;

interface WaitingSlice {
  readonly request: Slice;
  readonly node: string;
}

export class OperationReplica implements Machine<OperationMessage>, RebuildableReplica {
  readonly replication: Replication;
  readonly versions: Versions;
  readonly puts: Puts;
  readonly counters = { gets: 0, rotSlices: 0, refusedSlices: 0, heldAnswers: 0 };
  /** Waits of reads and of PUTs are counted separately. */
  readonly waitingReads = new Waiting<WaitingSlice>('waitingReads');
  readonly waitingPuts = new Waiting<WaitingSlice>('waitingPuts');
  readonly #hosted: HostedPartition;
  readonly #view: ReplicaView;
  /** Under protocols that track dependencies. */
  readonly #admission: Admission | undefined;
  readonly part: ReplicaPart | undefined;

  readonly #handlers: Handlers<ReplicaMessage, [now: WallMs, from: Address, out: Out]>;

  constructor(
    readonly partition: PartitionId,
    readonly state: NodeState,
    readonly rules: OperationRules,
    recovered: RecoveredReplica,
  ) {
    this.versions = new Versions(partition, state.reader);
    const self = { node: state.node, machine: replicaName(partition) };
    if (rules.admission !== undefined) {
      this.#admission = new Admission(rules.admission, () => this.#view, self, state.topology.regions);
    }
    const written: Written = (key, version, seq) => {
      // Single operations write no updates.
      if (!isPlain(version)) return;
      this.part?.written?.(key, version);
      this.versions.add(key, version, seq);
    };
    this.#hosted = new HostedPartition(partition, state, recovered, { written, gate: this.#admission });
    this.replication = this.#hosted.replication;
    this.puts = new Puts(this.#hosted, this.versions, rules);
    const asks = new ReplicaAsks(self, state);
    const checks = new DependencyChecks(this.replication);
    this.#view = { partition, replication: this.replication, versions: this.versions, asks, checks };
    this.part = rules.part?.(this.#view);
    this.#handlers = {
      ...this.replication.handlers,
      GetSliceReq: (message, now, from, out) => this.#serve(message, now, from, null, out),
      PutSliceReq: (message, now, from, out) => this.#serve(message, now, from, null, out),
      RotSliceReq: (message, now, from, out) => this.#serve(message, now, from, null, out),
      SettleReq: (message, now, from, out) => {
        if (!this.replication.suspects(now)) this.puts.settle(message, now, from, out);
      },
      SnapReq: (message, now, from, out) => this.#onSnapReq(message, now, from, out),
      RotVersionsReq: (message, now, from, out) => {
        if (!this.replication.suspects(now)) this.#onRotVersions(message, from, out);
      },
      WaitedSlice: ({ request, since, node }, now, from, out) => {
        if (from.node === state.node) this.#serve(request, now, { node, machine: 'coordinator' }, since, out);
      },
      DepCheckReq: (message, now, from, out) => checks.onRequest(message, now, from, out),
      DepCheckResp: (message, now, from, out) => asks.take(message, from, now, out),
      AdmitUpdates: (message, _now, from) => {
        if (from.node === state.node) this.#admission?.onAdmitUpdates(message);
      },
    };
  }

  /** A PUT is decided in the step that makes it. */
  get undecided(): boolean {
    return false;
  }

  get droppedUpTo(): Timestamp {
    return this.#hosted.droppedUpTo;
  }

  /** Starts its work with data that were copied from its peers, durably (D10). */
  join(rebuilt: RebuiltReplica, now: WallMs, out: Out): void {
    this.#hosted.join(rebuilt, now, out);
    this.part?.joined?.();
  }

  step(input: Input<OperationMessage>, out: Out): void {
    switch (input.kind) {
      case 'message': {
        // Without data there is no answer: the sender asks again.
        if (!this.state.membership.joined) return;
        const { message, now, from } = input;
        if (!dispatch(this.#handlers, message, now, from, out)) this.part?.take?.(message, now, from, out);
        break;
      }
      case 'timer':
        this.#onTimer(input.timer, input.now, out);
        break;
      case 'persisted':
        this.state.clock.persisted(input.upTo);
        this.#hosted.persisted(input.upTo);
        this.versions.persisted(input.upTo);
        break;
      case 'link':
        this.replication.link(input.node, input.up, input.now, out);
        if (input.up) this.#view.asks.reachable(input.node, input.now, out);
        this.part?.link?.(input.node, input.up, input.now, out);
    }
    this.replication.admit(input.now, out);
    this.#admission?.stepEnded();
    this.#release(input.now, out);
  }

  needs(message: OperationMessage): ReadNeeds | undefined {
    const { partition, rules } = this;
    switch (message.type) {
      case 'WaitedSlice':
        return this.needs(message.request);
      case 'GetSliceReq':
        return { kind: rules.reach.get, partition, keys: [message.key] };
      case 'PutSliceReq': {
        const kind = rules.reach.put;
        return kind === undefined ? undefined : { kind, partition, keys: [message.key] };
      }
      case 'RotVersionsReq':
        return { kind: 'chains', partition, keys: message.keys };
      case 'RotSliceReq':
        return { kind: rules.reach.rot, partition, keys: message.keys };
      case 'ReplayLog':
      case 'ReadCopy':
        return this.#hosted.needs(message);
      case 'AdmitUpdates': {
        const kind = rules.admission?.reads;
        return kind === undefined ? undefined : { kind, partition, keys: message.keys };
      }
      default:
        return this.part?.needs?.(message);
    }
  }

  invariants(): void {
    const clock = this.replication.vv.durable(this.state.region);
    invariant(clock <= this.state.clock.ceiling, () => `OR1: version clock ${clock} above the durable ceiling`);
  }

  describe(): object {
    const { replication, puts, waitingReads: reads, waitingPuts } = this;
    return {
      partition: this.partition,
      versionVector: replication.vv.durableEntries(),
      waiting: reads.size + waitingPuts.size,
      unsettled: this.versions.size,
      held: replication.held,
      gcFloor: replication.gcFloor,
      counters: {
        ...this.counters,
        ...replication.counters,
        ...puts.counters,
        blockedReads: reads.counters.blocked,
        blockedMs: reads.counters.blockedMs,
        longestBlockMs: reads.counters.longestBlockMs,
        blockedPuts: waitingPuts.counters.blocked,
        blockedPutMs: waitingPuts.counters.blockedMs,
        longestPutBlockMs: waitingPuts.counters.longestBlockMs,
        ...this.#admission?.counters,
        ...this.part?.counters,
      },
    };
  }

  /** @param since when the wait began; null before */
  #serve(request: Slice, now: WallMs, from: Address, since: WallMs | null, out: Out): void {
    if (!this.#wellFormed(request)) {
      this.#refuse(request.ref, MALFORMED, from, out);
      return;
    }
    const waiting = request.type === 'PutSliceReq' ? this.waitingPuts : this.waitingReads;
    const wait = this.#waits(request, now, out);
    if (wait !== undefined) {
      waiting.add(`${from.node}/${request.ref}`, { request, node: from.node }, since ?? now, wait, out);
      this.state.activity.wake(now, out);
      return;
    }
    if (since !== null) waiting.ended(since, now);
    if (request.type === 'GetSliceReq') this.#onGet(request, now, from, out);
    else if (request.type === 'RotSliceReq') this.#onRot(request, now, from, out);
    else {
      this.puts.put(request, now, from, out);
      this.state.activity.wake(now, out);
    }
  }

  /** D12: the entries that a peer sends are as many as the protocol's. */
  #wellFormed(request: Slice): boolean {
    const { seen, snapshot } = this.rules.entries;
    if (this.rules.sensible?.(request) === false) return false;
    if (request.type === 'RotSliceReq') return request.snapshot.length === snapshot;
    return this.rules.fits?.(request.seen) ?? request.seen.length === seen;
  }

  /**
   * A replica whose peers may still report that its disk was rolled back shows and decides nothing (D10). One that has
   * lost its disk answers no GET, from any node, before the stable time has passed the loss: it has only the newest
   * versions, and does not know yet whether they are stable.
   */
  #waits(request: Slice, now: WallMs, out: Out): Wait | undefined {
    if (this.replication.suspects(now)) return 'later';
    if (request.type === 'GetSliceReq') {
      const { stable, membership } = this.state;
      return stable.aggregated < membership.incarnation ? 'later' : this.rules.lacks(request.seen, this.#view, now);
    }
    if (request.type === 'RotSliceReq') {
      const obstacle = this.rules.obstacle(request.snapshot, this.#view, now);
      return isWait(obstacle) ? obstacle : undefined;
    }
    const notBefore = this.puts.notBefore(request, now);
    if (notBefore !== undefined) return { notBefore };
    return this.part?.put !== undefined && this.puts.writes(request, now)
      ? this.part.put(request, now, out)
      : undefined;
  }

  #onGet({ ref, key, seen }: GetSliceReq, now: WallMs, from: Address, out: Out): void {
    this.counters.gets++;
    const { version, seen: sees } = this.rules.get(key, seen, this.#view, now);
    const answer: OperationMessage = { type: 'GetSliceResp', ref, version: bare(version), seen: sees };
    if (this.#settled(key, version)) out.send(from, answer);
    else this.#hold(answer, from, out);
  }

  #onRot({ ref, keys, snapshot, id }: RotSliceReq, now: WallMs, from: Address, out: Out): void {
    const refusal = this.rules.obstacle(snapshot, this.#view, now);
    if (refusal !== undefined) {
      if (!isWait(refusal)) this.#refuse(ref, refusal, from, out);
      return;
    }
    this.counters.rotSlices++;
    const found = keys.map((key) => this.rules.read(key, snapshot, this.#view, id));
    const answer: OperationMessage = { type: 'RotSliceResp', ref, versions: found.map(bare) };
    const closes = this.rules.closes(snapshot);
    const closed = closes === 0 || this.state.clock.leaveBehind(closes, out);
    const outlives = this.rules.outlives?.(snapshot) ?? 0;
    const reserved = outlives === 0 || this.state.clock.reserve(outlives, out);
    if (closed && reserved && found.every((version, i) => this.#settled(keys[i]!, version))) out.send(from, answer);
    else this.#hold(answer, from, out);
  }

  /** A ROT's second round: versions that its first one has named. */
  #onRotVersions({ ref, keys, wanted }: RotVersionsReq, from: Address, out: Out): void {
    const { regions } = this.state.topology;
    const found = keys.map((key, i) => {
      const asked = wanted[i] ?? [];
      const belongs: Belongs = ({ region, ts }) =>
        asked.some((at, j) => j % 2 === 1 && at === ts && regions[asked[j - 1]!] === region);
      return this.versions.find(key, belongs);
    });
    // A deletion below the GC floor is gone, with all versions before it. Any other missing version was lost with a
    // disk.
    const gone = (key: QualifiedKey, at: Deps) =>
      at.every((ts, j) => j % 2 === 0 || (ts <= this.replication.gcFloor && this.versions.at(key, ts) === undefined));
    if (!found.every((version, i) => version !== undefined || gone(keys[i]!, wanted[i] ?? []))) {
      this.#refuse(ref, TOO_OLD, from, out);
      return;
    }
    this.counters.rotSlices++;
    const answer: OperationMessage = { type: 'RotSliceResp', ref, versions: found.map(bare) };
    if (found.every((version, i) => this.#settled(keys[i]!, version))) out.send(from, answer);
    else this.#hold(answer, from, out);
  }

  #onSnapReq({ ref, seen }: SnapReq, now: WallMs, from: Address, out: Out): void {
    if (!(this.rules.fits?.(seen) ?? seen.length === this.rules.entries.seen)) return;
    const snapshot = this.rules.choose(seen, now);
    if (!isWait(snapshot)) out.send(from, { type: 'SnapResp', ref, snapshot });
  }

  #settled(key: QualifiedKey, version: Version | undefined): boolean {
    return version === undefined || this.versions.settled(key, version);
  }

  /** D1: the versions in an answer are on disk when it leaves. */
  #hold(answer: OperationMessage, from: Address, out: Out): void {
    this.counters.heldAnswers++;
    out.sendAfterPersist(from, answer);
  }

  #refuse(ref: number, { code, detail }: Refusal, from: Address, out: Out): void {
    this.counters.refusedSlices++;
    out.send(from, { type: 'Refused', ref, code, detail });
  }

  /** Each request that may go on comes as a message of its own. */
  #release(now: WallMs, out: Out): void {
    for (const waiting of [this.waitingReads, this.waitingPuts]) {
      waiting.release(
        ({ request }) => this.#waits(request, now, out),
        ({ request, node }, since) => out.send(this.#hosted.self, { type: 'WaitedSlice', node, request, since }),
        out,
      );
    }
    this.#view.checks.release(now, out);
  }

  #onTimer(timer: string, now: WallMs, out: Out): void {
    if (timer === 'start') {
      this.replication.start(now, out);
    } else if (timer === 'round') {
      this.#publish(now, out);
      this.part?.round?.(now, out);
      this.replication.release(out);
    } else if (timer === 'retry') {
      this.replication.retry(now, out);
      this.#view.asks.retry(now, out);
      this.#admission?.retry();
      // Their senders repeat the question.
      this.#view.checks.waiting.expired(now, this.state.settings.readDeadlineMs);
      // Their coordinators have given them up.
      this.waitingReads.expired(now, this.state.settings.readDeadlineMs);
      this.waitingPuts.expired(now, this.state.settings.commitTimeoutMs);
    } else if (timer === 'collect') this.#hosted.collect(now, out);
  }

  /** Heartbeats: the version clock follows the clock, which moves above it (P1). */
  #publish(now: WallMs, out: Out): void {
    const bound = this.#hosted.nextVersionClock(now, Number.POSITIVE_INFINITY, out);
    if (bound !== undefined) this.replication.publish(bound, false, out);
  }
}

/** The part of a version that coordinators need: of its dependencies, the keys. */
function bare(version: Version | undefined): Version | null {
  if (version === undefined) return null;
  const { ts, txId, region, value, depends } = version;
  return { ts, txId, region, value, ...(depends && { depends }) };
}

const MALFORMED: Refusal = {
  code: 'INVALID_REQUEST',
  detail: 'No session can have seen this under this protocol.',
};

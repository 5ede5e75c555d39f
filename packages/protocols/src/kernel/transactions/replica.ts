/**
 * The replica p^m_n of interactive transactions: reads in snapshots, the cohort of two-phase commit, and applying
 * committed transactions (PaRiS Algorithm 3, Algorithm 4 lines 1–23). The protocol defines its snapshots
 * (`snapshots.ts`); replication is in `../replication`.
 *
 * Deviations from the pseudo-code: P1 (the HLC moves with the published bound), P2 (`ct <= ub`), P3 (groups and version clock in
 * every round, VV raised after the groups), P4 (one `ct`, one group), P5, P9, D1, D5–D7; see the SPEC.md of PaRiS.
 *
 * Invariants (checked after every step): PR1 every timestamp proposed since the start lies above the own version clock.
 * An earlier one may lie below, if its commit had been decided in memory above the clock: it is decided again (D2). PR2
 * every committed, unapplied transaction lies above it, too. PR3 the own version clock is not above the durable HLC
 * ceiling.
 */
import { invariant, type PartitionId, packWall, type ReadNeeds, type Timestamp, type WallMs } from '@isochron/core';
import type { Address, Effects, Handlers, Input, Machine } from '../../machine.js';
import { SETTLEMENT_MACHINE } from '../node.js';
import type { NodeState } from '../node-state.js';
import { replicaName } from '../node-state.js';
import type { Loss } from '../replication/losses.js';
import type { StreamMessage } from '../replication/messages.js';
import type { RebuildableReplica } from '../replication/rebuild.js';
import type { RebuiltReplica, RecoveredReplica } from '../replication/replica-state.js';
import { Replication } from '../replication/replication.js';
import { Cohort } from './cohort.js';
import type { CommittedGroup } from './committed-queue.js';
import type { ListSliceReq, ReadSliceReq, ReadSuspects, SuspectsReq, TransactionMessage } from './messages.js';
import type { ReadRules, Refusal, SnapshotRules, TransactionProtocol } from './snapshots.js';
import { isWait, WaitingReads } from './waiting-reads.js';

type Out = Effects<TransactionMessage>;

/** The messages that a replica takes. */
type ReplicaMessage =
  | StreamMessage
  | Extract<
      TransactionMessage,
      {
        type:
          | 'ReadSliceReq'
          | 'ListSliceReq'
          | 'WaitedRead'
          | 'PrepareReq'
          | 'CommitTx'
          | 'AbortTx'
          | 'ResolveReq'
          | 'ResolveNow'
          | 'ResolveResp'
          | 'OutcomeReq'
          | 'OutcomeResp'
          | 'SuspectsReq'
          | 'ReadSuspects';
      }
    >;

/**
 * The messages that a replica without data answers: reads are refused, so that their coordinators go elsewhere. All
 * others wait (D10).
 */
const ALWAYS: ReadonlySet<TransactionMessage['type']> = new Set(['ReadSliceReq', 'ListSliceReq']);
/**
 * The messages that decide something: while peers may still report that the disk was rolled back, a replica leaves them
 * until they are repeated (D10).
 */
const NOT_SUSPECTED: ReadonlySet<TransactionMessage['type']> = new Set(['PrepareReq', 'ResolveReq', 'ResolveResp']);

/**
 * The messages that a replica leaves until the losses of its lost disk are settled (D10): decisions, and its own
 * stream.
 */
const SETTLED: ReadonlySet<TransactionMessage['type']> = new Set([...NOT_SUSPECTED, 'ResyncReq']);

/** Requests that may wait, and a wait that is over. */
const READS: ReadonlySet<TransactionMessage['type']> = new Set(['ReadSliceReq', 'ListSliceReq', 'WaitedRead']);

export class Replica implements Machine<TransactionMessage>, RebuildableReplica {
  readonly replication: Replication;
  readonly cohort: Cohort;
  readonly waiting: WaitingReads;
  readonly counters = { slices: 0, refusedSlices: 0, applied: 0 };
  readonly #reading: ReadRules;
  /** The version clock on the disk at the start. */
  readonly #recoveredClock: Timestamp;

  readonly #handlers: Handlers<ReplicaMessage, [now: WallMs, from: Address, out: Out]>;

  constructor(
    readonly partition: PartitionId,
    readonly state: NodeState,
    protocol: TransactionProtocol,
    readonly rules: SnapshotRules,
    recovered: RecoveredReplica,
  ) {
    this.replication = new Replication(partition, state, recovered, (now) => state.activity.touch(now));
    this.cohort = new Cohort(partition, state, rules, recovered.forgottenUpTo);
    this.waiting = new WaitingReads({ node: state.node, machine: replicaName(partition) });
    this.#recoveredClock = this.replication.versionClock;
    const { replication } = this;
    const { prepared, committed } = this.cohort;
    this.#reading = protocol.reading({ partition, replication, prepared, committed }, state);
    this.#handlers = this.#createHandlers();
  }

  /** Whether it has transactions that are undecided or not applied. */
  get undecided(): boolean {
    return this.cohort.prepared.size > 0 || this.cohort.committed.size > 0;
  }

  /** Starts its work with data that were copied from its peers, durably (D10). */
  join(rebuilt: RebuiltReplica, now: WallMs, out: Out): void {
    this.cohort.outcomes.join(rebuilt.forgottenUpTo);
    this.replication.join(rebuilt, now, out);
  }

  step(input: Input<TransactionMessage>, out: Out): void {
    switch (input.kind) {
      case 'message': {
        if (!this.state.membership.joined && !ALWAYS.has(input.message.type)) return;
        if (this.replication.suspects(input.now) && NOT_SUSPECTED.has(input.message.type)) return;
        if (!this.state.membership.settled && SETTLED.has(input.message.type)) return;
        const handler = this.#handlers[input.message.type as ReplicaMessage['type']] as
          | ((message: TransactionMessage, now: WallMs, from: Address, out: Out) => void)
          | undefined;
        handler?.(input.message, input.now, input.from, out);
        break;
      }
      case 'timer':
        this.#onTimer(input.timer, input.now, out);
        break;
      case 'persisted':
        this.replication.persisted(input.upTo);
        this.cohort.outcomes.persisted(input.upTo);
        break;
      case 'link':
        this.replication.link(input.node, input.up, input.now, out);
    }
    // A read does not end another one's wait.
    if (this.waiting.size > 0 && !(input.kind === 'message' && READS.has(input.message.type))) {
      this.waiting.release((snapshot) => this.#reading.obstacle(snapshot, input.now), out);
    }
  }

  needs(message: TransactionMessage): ReadNeeds | undefined {
    const { partition } = this;
    switch (message.type) {
      case 'WaitedRead':
        return this.needs(message.request);
      case 'ReadSliceReq':
        return this.#reading.needs(message.keys);
      case 'ListSliceReq':
        return this.#reading.needsOfList(message.range, { ts: message.snapshot, deps: message.deps });
      case 'ReplayLog':
        return { kind: 'log', partition, after: message.after, upTo: message.upTo };
      case 'ReadSuspects':
        return { kind: 'log', partition, after: message.request.after, upTo: message.upTo };
      case 'ReadCopy':
        return { kind: 'copy', partition, start: message.request.start };
      default:
        return undefined;
    }
  }

  invariants(): void {
    const clock = this.replication.versionClock;
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
    const { replication, cohort, waiting } = this;
    return {
      partition: this.partition,
      versionVector: replication.vv.durableEntries(),
      prepared: cohort.prepared.size,
      committed: cohort.committed.size,
      gcFloor: replication.gcFloor,
      counters: { ...this.counters, ...replication.counters, ...cohort.counters, ...waiting.counters },
    };
  }

  #createHandlers(): Handlers<ReplicaMessage, [now: WallMs, from: Address, out: Out]> {
    return {
      ...this.replication.handlers,
      ReadSliceReq: (message, now, from, out) => this.#onRead(message, now, from, null, out),
      ListSliceReq: (message, now, from, out) => this.#onRead(message, now, from, null, out),
      WaitedRead: ({ request, since, node }, now, from, out) => {
        if (from.node === this.state.node) this.#onRead(request, now, { node, machine: 'coordinator' }, since, out);
      },
      PrepareReq: (message, now, from, out) => {
        this.cohort.onPrepareReq(message, now, from, out);
        this.state.activity.wake(now, out);
      },
      CommitTx: (message) => this.cohort.onCommitTx(message),
      AbortTx: (message, now, _from, out) => this.cohort.onAbortTx(message, now, out),
      ResolveNow: (message, now, _from, out) => this.cohort.resolveOverdue(now, out, message),
      ResolveReq: (message, now, from, out) => this.cohort.onResolveReq(message, now, from, out),
      ResolveResp: (message, now, _from, out) => this.cohort.onResolveResp(message, now, out),
      OutcomeReq: (message, _now, from, out) => this.cohort.onOutcomeReq(message, this.replication.verified, from, out),
      OutcomeResp: (message, now, _from, out) => this.cohort.onOutcomeResp(message, now, out),
      SuspectsReq: (message, _now, from, out) => this.#onSuspectsReq(message, from, out),
      ReadSuspects: (message, _now, from, out) => {
        if (from.node === this.state.node) this.#onReadSuspects(message, out);
      },
    };
  }

  /** The verdict about a transaction of which a lost disk took a part (D10). */
  takeBack(loss: Loss, now: WallMs, out: Out): void {
    const { partition } = this;
    const keys = loss.keys.filter((key) => this.state.topology.partitionOf(key) === partition);
    const logged = this.cohort.takeBack(loss, now, out);
    if (loss.takenBack) this.replication.takeBack(loss, keys, logged, out);
  }

  /**
   * The queues are read first, and then the log up to its present end, in a step of its own as for a replay:
   * transactions move from the queues to the log, never back.
   */
  #onSuspectsReq(request: SuspectsReq, { node }: Address, out: Out): void {
    if (!this.state.topology.hasNode(node)) return;
    const self = { node: this.state.node, machine: replicaName(this.partition) };
    const queued = this.cohort.suspects.report(node);
    const upTo = Math.max(request.after, this.replication.versionClock);
    out.send(self, { type: 'ReadSuspects', node, request, queued, upTo });
  }

  #onReadSuspects({ node, request: { after }, queued, upTo }: ReadSuspects, out: Out): void {
    const { partition } = this;
    const { reader, region } = this.state;
    const page = reader.log(partition, after, upTo);
    const logged = page.groups.flatMap(({ ct, txs }) =>
      txs.flatMap((tx) => this.cohort.suspects.suspect(node, ct, tx, reader.outcome(partition, tx.txId))),
    );
    const next = page.upTo < upTo ? page.upTo : null;
    const suspects = [...queued, ...logged];
    const to = { node, machine: SETTLEMENT_MACHINE };
    out.sendAfterPersist(to, { type: 'SuspectsResp', partition, region, after, suspects, next });
  }

  /**
   * Alg. 3 lines 1–8. A snapshot that is not installed, or no longer whole, is refused or waited for, never answered wrongly (P5, P9).
   *
   * @param since when the wait began; null before
   */
  #onRead(request: ReadSliceReq | ListSliceReq, now: WallMs, from: Address, since: WallMs | null, out: Out): void {
    const { deps } = request;
    if (deps !== undefined && deps.length !== this.state.entries) {
      this.#refuse(request.ref, MALFORMED, from, out);
      return;
    }
    const snapshot = { ts: request.snapshot, deps };
    if (since === null) this.counters.slices++;
    this.rules.observeSnapshot(snapshot);
    const obstacle = this.#reading.obstacle(snapshot, now);
    if (isWait(obstacle)) {
      if (this.state.membership.joined) {
        this.waiting.add({ request, snapshot, node: from.node }, since ?? now, obstacle, out);
        this.state.activity.wake(now, out);
      } else this.#refuse(request.ref, NOT_THERE, from, out);
      return;
    }
    if (since !== null) this.waiting.ended(since, now);
    if (obstacle === undefined) this.#answer(request, from, out);
    else this.#refuse(request.ref, obstacle, from, out);
  }

  /**
   * A snapshot is waited for within a bound. The coordinator asks again, here or elsewhere, as long as its client
   * waits.
   */
  #expire(now: WallMs, out: Out): void {
    for (const { request, node } of this.waiting.expired(now, this.state.settings.snapshotWaitMs)) {
      this.#refuse(request.ref, NOT_IN_TIME, { node, machine: 'coordinator' }, out);
    }
  }

  #answer(request: ReadSliceReq | ListSliceReq, from: Address, out: Out): void {
    const { ref, partition } = request;
    const snapshot = { ts: request.snapshot, deps: request.deps };
    if (request.type === 'ListSliceReq') {
      const { entries, next } = this.#reading.list(request.range, snapshot);
      out.send(from, { type: 'ListSliceResp', ref, partition, entries, next });
    } else {
      const versions = request.keys.map((key) => this.#reading.read(key, snapshot) ?? null);
      out.send(from, { type: 'ReadSliceResp', ref, partition, versions });
    }
  }

  #refuse(ref: number, { code, detail }: Refusal, from: Address, out: Out): void {
    this.counters.refusedSlices++;
    out.send(from, { type: 'Refused', ref, code, detail });
  }

  #onTimer(timer: string, now: WallMs, out: Out): void {
    if (timer === 'start') {
      this.replication.start(now);
    } else if (timer === 'round') {
      this.#apply(now, out);
      this.replication.release(out);
    } else if (timer === 'retry') {
      // An older disk may have transactions as prepared whose outcomes other cohorts have dropped: UST has passed them.
      if (!this.replication.suspects(now)) this.cohort.resolveOverdue(now, out);
      this.replication.retry(now, out);
      this.#expire(now, out);
    } else if (timer === 'collect') this.#collect(now, out);
  }

  /** Alg. 4 lines 5–23, with P1–P4. */
  #apply(now: WallMs, out: Out): void {
    const { clock, membership } = this.state;
    if (!membership.joined || !membership.settled || this.replication.suspects(now)) return;
    const minPt = this.cohort.prepared.minPt();
    const bound = Math.min(minPt === undefined ? Number.POSITIVE_INFINITY : minPt - 1, clock.publishable(now, out));
    if (bound <= this.replication.versionClock) return;
    clock.advance(bound);
    const groups = this.cohort.committed.drain(bound);
    for (const group of groups) this.#applyOwn(group, out);
    this.replication.publish(bound, groups.length > 0, out);
  }

  #applyOwn({ ct, txs }: CommittedGroup, out: Out): void {
    this.replication.apply({ ct, txs }, out);
    for (const tx of txs) this.cohort.keepCommitted(tx, out);
    this.counters.applied += txs.length;
  }

  /** P9 and D5: garbage below the floor, log entries below UST, outcomes below the retention. */
  #collect(now: WallMs, out: Out): void {
    const { stable, settings, membership } = this.state;
    if (!membership.joined) return;
    const kept = packWall(this.state.drift.stampable(now) - settings.retentionMs);
    this.replication.collect(Math.min(stable.sOld, stable.aggregated, kept), out);
    this.cohort.outcomes.forget(now, out);
  }
}

const NOT_THERE: Refusal = {
  code: 'SNAPSHOT_UNAVAILABLE',
  detail: 'This replica has no data yet; try again.',
};
const NOT_IN_TIME: Refusal = {
  code: 'SNAPSHOT_UNAVAILABLE',
  detail: 'The snapshot was not installed here in time; try again.',
};
const MALFORMED: Refusal = {
  code: 'INVALID_REQUEST',
  detail: 'The snapshot has another number of entries than those of this protocol.',
};

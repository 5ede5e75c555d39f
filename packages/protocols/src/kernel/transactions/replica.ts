/**
 * The replica p^m_n of interactive transactions: a hosted partition with reads in snapshots (`slice-reads.ts`), the
 * cohort of two-phase commit (`cohort.ts`), and rounds that apply committed transactions (PaRiS Algorithm 3, Algorithm
 * 4 lines 1–23). The protocol defines its snapshots (`snapshots.ts`).
 *
 * Deviations from the pseudo-code: P1 (the HLC moves with the published bound), P2 (`ct <= ub`), P3 (groups and version
 * clock in every round, VV raised after the groups), P4 (one `ct`, one group), D1, D7; see the SPEC.md of PaRiS.
 *
 * Invariants (checked after every step): PR1 every timestamp proposed since the start lies above the own version clock.
 * An earlier one may lie below, if its commit had been decided in memory above the clock: it is decided again (D2). PR2
 * every committed, unapplied transaction lies above it, too. PR3 the own version clock is not above the durable HLC
 * ceiling.
 */
import { invariant, type PartitionId, type ReadNeeds, type Timestamp, type WallMs } from '@isochron/core';
import { type Address, dispatch, type Effects, type Handlers, type Input, type Machine } from '../../machine.js';
import { HostedPartition } from '../hosted-partition.js';
import type { NodeState } from '../node-state.js';
import type { Loss } from '../replication/losses.js';
import type { StreamMessage } from '../replication/messages.js';
import type { RebuildableReplica } from '../replication/rebuild.js';
import type { RebuiltReplica, RecoveredReplica } from '../replication/replica-state.js';
import type { OwnTransaction, Replication } from '../replication/replication.js';
import { Cohort } from './cohort.js';
import type { Committed, CommittedGroup } from './committed-queue.js';
import type { TransactionMessage } from './messages.js';
import { SliceReads } from './slice-reads.js';
import type { SnapshotRules, TransactionProtocol } from './snapshots.js';
import type { WaitingReads } from './waiting-reads.js';

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
          | 'DropDeferred'
          | 'ReadSuspects'
          | 'FindCommit';
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
  readonly #hosted: HostedPartition;
  readonly #reads: SliceReads;
  #applied = 0;
  /** The version clock on the disk at the start. */
  readonly #recoveredClock: Timestamp;

  readonly #handlers: Handlers<ReplicaMessage, [now: WallMs, from: Address, out: Out]>;

  constructor(
    readonly partition: PartitionId,
    readonly state: NodeState,
    protocol: TransactionProtocol,
    rules: SnapshotRules,
    recovered: RecoveredReplica,
  ) {
    this.#hosted = new HostedPartition(partition, state, recovered);
    const { replication, outcomes, self } = this.#hosted;
    this.replication = replication;
    this.cohort = new Cohort(partition, state, rules, outcomes);
    this.#recoveredClock = replication.versionClock;
    const { prepared, committed } = this.cohort.slices;
    const reading = protocol.reading({ partition, replication, prepared, committed }, state);
    this.#reads = new SliceReads(self, state, rules, reading);
    this.#handlers = this.#createHandlers();
  }

  get waiting(): WaitingReads {
    return this.#reads.waiting;
  }

  get counters(): Readonly<Record<'slices' | 'refusedSlices' | 'applied', number>> {
    return { ...this.#reads.counters, applied: this.#applied };
  }

  /** Whether it has transactions that are undecided or not applied. */
  get undecided(): boolean {
    const { prepared, committed } = this.cohort.slices;
    return prepared.size > 0 || committed.size > 0;
  }

  get droppedUpTo(): Timestamp {
    return this.#hosted.droppedUpTo;
  }

  /** Starts its work with data that were copied from its peers, durably (D10). */
  join(rebuilt: RebuiltReplica, now: WallMs, out: Out): void {
    this.#hosted.join(rebuilt, now, out);
  }

  step(input: Input<TransactionMessage>, out: Out): void {
    switch (input.kind) {
      case 'message': {
        if (!this.state.membership.joined && !ALWAYS.has(input.message.type)) return;
        if (this.replication.suspects(input.now) && NOT_SUSPECTED.has(input.message.type)) return;
        if (!this.state.membership.settled && SETTLED.has(input.message.type)) return;
        dispatch(this.#handlers, input.message, input.now, input.from, out);
        break;
      }
      case 'timer':
        this.#onTimer(input.timer, input.now, out);
        break;
      case 'persisted':
        this.#hosted.persisted(input.upTo);
        this.cohort.slices.writeCounters.persisted(input.upTo);
        break;
      case 'link':
        this.replication.link(input.node, input.up, input.now, out);
    }
    // A read does not end another one's wait.
    if (!(input.kind === 'message' && READS.has(input.message.type))) this.#reads.release(input.now, out);
  }

  needs(message: TransactionMessage): ReadNeeds | undefined {
    const { partition } = this;
    switch (message.type) {
      case 'WaitedRead':
        return this.needs(message.request);
      case 'ReadSliceReq':
      case 'ListSliceReq':
        return this.#reads.needs(message);
      case 'ReadSuspects':
        return { kind: 'log', partition, after: message.request.after, upTo: message.upTo };
      case 'FindCommit':
        return { kind: 'changes', partition, after: message.after, upTo: message.upTo };
      case 'ReplayLog':
      case 'ReadUnstable':
      case 'ReadCopy':
        return this.#hosted.needs(message);
      default:
        return undefined;
    }
  }

  invariants(): void {
    const clock = this.replication.versionClock;
    const pt = this.cohort.slices.prepared.minPt();
    const ct = this.cohort.slices.committed.minCt();
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
      prepared: cohort.slices.prepared.size,
      committed: cohort.slices.committed.size,
      gcFloor: replication.gcFloor,
      counters: { ...this.counters, ...replication.counters, ...cohort.counters, ...waiting.counters },
    };
  }

  #createHandlers(): Handlers<ReplicaMessage, [now: WallMs, from: Address, out: Out]> {
    return {
      ...this.replication.handlers,
      ReadSliceReq: (message, now, from, out) => this.#reads.onRead(message, now, from, out),
      ListSliceReq: (message, now, from, out) => this.#reads.onRead(message, now, from, out),
      WaitedRead: (message, now, from, out) => this.#reads.onWaitedRead(message, now, from, out),
      FindCommit: (message, now, from, out) => {
        if (from.node === this.state.node) this.cohort.onFindCommit(message, now, out);
      },
      PrepareReq: (message, now, from, out) => {
        this.cohort.onPrepareReq(message, now, from, out);
        this.state.activity.wake(now, out);
      },
      CommitTx: (message, _now, from) => this.cohort.onCommitTx(message, from),
      AbortTx: (message, now, from, out) => this.cohort.onAbortTx(message, now, from, out),
      ResolveNow: (message, now, from, out) => this.cohort.onResolveNow(message, now, from, out),
      ResolveReq: (message, now, from, out) => this.cohort.resolver.onResolveReq(message, now, from, out),
      ResolveResp: (message, now, from, out) => this.cohort.resolver.onResolveResp(message, now, from, out),
      OutcomeReq: (message, _now, from, out) =>
        this.cohort.resolver.onOutcomeReq(message, this.replication.verified, from, out),
      OutcomeResp: (message, now, from, out) => this.cohort.onOutcomeResp(message, now, from, out),
      DropDeferred: (message, now, from, out) => this.cohort.onDropDeferred(message, now, from, out),
      SuspectsReq: (message, _now, from, out) =>
        this.cohort.suspects.onSuspectsReq(message, this.replication.versionClock, from, out),
      ReadSuspects: (message, _now, from, out) => this.cohort.suspects.onReadSuspects(message, from, out),
    };
  }

  /** The verdict about a transaction of which a lost disk took a part (D10). */
  takeBack(loss: Loss, now: WallMs, out: Out): void {
    const { partition } = this;
    const keys = loss.keys.filter((key) => this.state.topology.partitionOf(key) === partition);
    const logged = this.cohort.suspects.takeBack(loss, now, out);
    if (!loss.takenBack) return;
    this.replication.takeBack(loss, keys, logged, out);
    this.cohort.slices.writeCounters.takenBack(loss.txId, keys, loss.ts, out.lastWrite());
  }

  #onTimer(timer: string, now: WallMs, out: Out): void {
    if (timer === 'start') {
      this.replication.start(now, out);
    } else if (timer === 'round') {
      this.#apply(now, out);
      this.replication.release(out);
    } else if (timer === 'retry') {
      // An older disk may have transactions as prepared whose outcomes other cohorts have dropped: UST has passed them.
      if (!this.replication.suspects(now)) this.cohort.resolver.resolveOverdue(now, out);
      this.replication.retry(now, out);
      this.#reads.expire(now, out);
    } else if (timer === 'collect') {
      this.cohort.slices.forgetDeferred(out);
      this.#hosted.collect(now, out);
    }
  }

  /** Alg. 4 lines 5–23, with P1–P4. */
  #apply(now: WallMs, out: Out): void {
    if (!this.state.membership.settled) return;
    const minPt = this.cohort.slices.prepared.minPt();
    const limit = minPt === undefined ? Number.POSITIVE_INFINITY : minPt - 1;
    const bound = this.#hosted.nextVersionClock(now, limit, out);
    if (bound === undefined) return;
    const groups = this.cohort.slices.committed.drain(bound);
    for (const group of groups) this.#applyOwn(group, out);
    this.replication.publish(bound, groups.length > 0, out);
  }

  #applyOwn({ ct, txs }: CommittedGroup, out: Out): void {
    this.replication.apply(ct, txs.map(ownTransaction), out);
    const { writeCounters } = this.cohort.slices;
    for (const { txId, writes } of txs) writeCounters.applied(txId, writes, ct, out.lastWrite());
    this.#applied += txs.length;
  }
}

const ownTransaction = ({
  txId,
  writes,
  deps,
  siblings,
  repeatable,
  needs,
  at,
  attempt,
  digest,
}: Committed): OwnTransaction => ({
  tx: { txId, writes, deps, siblings, attempt: repeatable ? attempt : undefined, needs, at },
  outcome: { attempt, digest },
  prepared: true,
});

/**
 * The transaction coordinator (Algorithm 2). Any node coordinates any transaction. It assigns snapshots and keeps the
 * table of open transactions; reads and commits are in `reads.ts` and `commits.ts`.
 *
 * Deviations: the client makes the transaction id (P8); a transaction has a lease (P9); a request may name a snapshot
 * (`at`), and one that this node does not have yet is waited for within a bound, or refused (P5); one-shot forms (P11).
 *
 * Invariants: PC1 an assigned snapshot is at least the client's `seen`, and one that this node may assign: the
 * protocol's rules check it. PC2 a transaction's snapshot never changes.
 */
import { IsochronError, type PartitionId, type Timestamp, type TxId, type WallMs } from '@isochron/core';
import { type Address, dispatch, type Effects, type Handlers, type Input, type Machine } from '../../machine.js';
import { Addresses, type NodeState } from '../node-state.js';
import type { Cohort } from './cohort.js';
import { Commits } from './commits.js';
import type {
  EndTxReq,
  ListReq,
  OutcomeResp,
  ReadReq,
  StartTxReq,
  TransactionMessage,
  TransactionStatus,
  TxStatusReq,
} from './messages.js';
import { OnePhase } from './one-phase.js';
import { Reads, type Requester } from './reads.js';
import { Settles } from './settles.js';
import type { Snapshot, SnapshotRules } from './snapshots.js';
import { TransactionTable } from './transaction-table.js';

type Out = Effects<TransactionMessage>;
type CoordinatorMessage = Extract<
  TransactionMessage,
  {
    type:
      | 'StartTxReq'
      | 'ReadReq'
      | 'ListReq'
      | 'CommitReq'
      | 'EndTxReq'
      | 'TxStatusReq'
      | 'SettleCommitReq'
      | 'ReadSliceResp'
      | 'ListSliceResp'
      | 'PrepareResp'
      | 'PrepareRefused'
      | 'ResolveResp'
      | 'OutcomeResp'
      | 'Refused';
  }
>;

/** How often the coordinator looks for expired transactions, unanswered reads and undecided commits. */
const SWEEP_INTERVAL_MS = 50;

/** The snapshot that a request needs: one above its session's `seen`, or this very snapshot. */
type Wanted = { readonly seen: Snapshot } | { readonly seen: Pick<Snapshot, 'ts'>; readonly at: Snapshot };

const wantedBy = ({ ust, at, deps }: StartTxReq | ReadReq | ListReq): Wanted =>
  at === null ? { seen: { ts: ust, deps } } : { seen: { ts: ust }, at: { ts: at, deps } };

/** A request that waits for its snapshot (P5). */
interface BlockedRequest {
  readonly requester: Requester;
  readonly wanted: Wanted;
  readonly until: WallMs;
  readonly proceed: (snapshot: Snapshot, out: Out, now: WallMs) => void;
}

/** A question to the replicas about a transaction's end. */
interface StatusQuestion {
  readonly requester: Requester;
  until: WallMs;
  readonly txId: TxId;
  waiting: number;
  /** Unreachable replicas: they are asked when they are back, because they may be the only ones that know. */
  unasked: { readonly partition: PartitionId; readonly to: Address }[];
  /** The responses so far, each with the highest attempt and timestamp. */
  readonly responses: Map<OutcomeResp['state'], { readonly attempt: number; readonly ts: Timestamp }>;
}

export class Coordinator implements Machine<TransactionMessage> {
  readonly table: TransactionTable;
  readonly counters = { started: 0, ended: 0, expired: 0, snapshotWaits: 0 };
  readonly reads: Reads;
  readonly commits: Commits;
  readonly settles: Settles;
  readonly #addresses: Addresses;
  readonly #questions = new Map<number, StatusQuestion>();
  /** As the references of reads: above those of every previous incarnation. 0 before the first question. */
  #nextQuestion = 0;
  #waiting: BlockedRequest[] = [];
  /** When the timer is due; endless while nothing needs it. */
  #sweepAt: WallMs = Number.POSITIVE_INFINITY;
  /** At the start, all other nodes: a link event removes them. */
  readonly #unreachable = new Set<string>();

  readonly #handlers: Handlers<CoordinatorMessage, [now: WallMs, from: Address, out: Out]> = {
    StartTxReq: (message, now, from, out) => {
      this.#serving();
      this.#onStartTxReq(message, now, from, out);
    },
    ReadReq: (message, now, from, out) => {
      this.#serving();
      this.#onReadReq(message, now, from, out);
    },
    ListReq: (message, now, from, out) => {
      this.#serving();
      this.#onListReq(message, now, from, out);
    },
    CommitReq: (message, now, from, out) => {
      this.#accepting();
      this.commits.onCommitReq(message, now, from, out);
    },
    EndTxReq: (message, _now, from, out) => this.#onEndTxReq(message, from, out),
    TxStatusReq: (message, now, from, out) => this.#onTxStatusReq(message, now, from, out),
    ReadSliceResp: (message, _now, _from, out) => this.reads.onReadSliceResp(message, out),
    ListSliceResp: (message, _now, _from, out) => this.reads.onListSliceResp(message, out),
    PrepareResp: (message, _now, from, out) => this.commits.onPrepareResp(message, from, out),
    PrepareRefused: (message, _now, from, out) => this.commits.onPrepareRefused(message, from, out),
    SettleCommitReq: (message, now, from, out) => {
      this.#accepting();
      this.settles.onSettleCommitReq(message, now, from, out);
    },
    ResolveResp: (message, now, from, out) => {
      this.commits.onResolveResp(message, now, from, out);
      this.settles.onResolveResp(message, now, from, out);
    },
    OutcomeResp: (message, _now, _from, out) => this.#onOutcomeResp(message, out),
    Refused: (message, now, from, out) => this.reads.onRefused(message, from, now, out),
  };

  constructor(
    readonly state: NodeState,
    readonly rules: SnapshotRules,
    /** The cohorts of all replicas on this node. */
    cohorts: readonly Cohort[],
  ) {
    this.#addresses = new Addresses(state.maps);
    for (const other of state.topology.nodes) if (other !== state.node) this.#unreachable.add(other);
    this.table = new TransactionTable(state.settings.maxTransactionMs);
    this.reads = new Reads(state, this.#addresses, this.#unreachable, rules);
    this.commits = new Commits(state, this.#addresses, this.table, rules, new OnePhase(state, cohorts));
    this.settles = new Settles(state, this.#addresses, rules);
  }

  /**
   * The oldest snapshot that this node's transactions use (P9). It is 0 on a node without data: nothing is collected
   * under a copy (D10).
   */
  get sOld(): Timestamp {
    return Math.min(this.table.oldest() ?? this.state.stable.value, this.state.stable.value);
  }

  /** A map is in force (M5, M6). */
  adopted(out: Out): void {
    this.reads.adopted();
    this.commits.adopted(out);
  }

  step(input: Input<TransactionMessage>, out: Out): void {
    switch (input.kind) {
      case 'message':
        this.#onMessage(input.message, input.now, input.from, out);
        break;
      case 'timer':
        this.#sweepAt = Number.POSITIVE_INFINITY;
        this.#sweep(input.now, out);
        break;
      case 'link':
        if (input.up) this.#unreachable.delete(input.node);
        else {
          this.#unreachable.add(input.node);
          this.reads.lost(input.node, input.now, out);
          this.#hurry(input.now);
        }
        if (input.up) {
          this.commits.reachable(input.node, input.now, out);
          this.settles.reachable(input.node, input.now, out);
          this.#askAgain(input.node, out);
        }
        break;
      case 'persisted':
        this.commits.persisted(input.upTo, out);
    }
    if (this.#isBusy && this.#sweepAt > input.now + SWEEP_INTERVAL_MS) {
      this.#sweepAt = input.now + SWEEP_INTERVAL_MS;
      out.setTimer('sweep', this.#sweepAt);
    }
  }

  /** Whether a transaction may expire, or a request has to be repeated. */
  get #isBusy(): boolean {
    const { table, reads, commits, settles } = this;
    return table.size + reads.size + commits.size + settles.size + this.#questions.size + this.#waiting.length > 0;
  }

  invariants(): void {
    this.rules.invariants();
  }

  describe(): object {
    return {
      openTransactions: this.table.size,
      readsInFlight: this.reads.size,
      commitsInFlight: this.commits.size,
      counters: {
        ...this.counters,
        ...this.reads.counters,
        ...this.commits.counters,
        ...this.commits.onePhase.counters,
        ...this.settles.counters,
      },
    };
  }

  #onMessage(message: TransactionMessage, now: WallMs, from: Address, out: Out): void {
    if ('ref' in message) {
      this.#refusing({ from, ref: message.ref }, out, () => {
        this.#wellFormed(message);
        dispatch(this.#handlers, message, now, from, out);
      });
    } else dispatch(this.#handlers, message, now, from, out);
  }

  /** A client's snapshot has as many entries as the protocol's, or is a timestamp alone. */
  #wellFormed(message: TransactionMessage): void {
    if (!('deps' in message) || message.deps === undefined || message.deps.length === this.state.entries) return;
    const detail = `A snapshot has ${this.state.entries} entries beside its timestamp here; the request has ${message.deps.length}.`;
    throw new IsochronError('INVALID_REQUEST', detail);
  }

  /** @throws IsochronError NOT_READY while the node has no data to serve from (D10) */
  #serving(): void {
    const { membership, stable } = this.state;
    // After a loss, the first snapshot that is whole here is one above it.
    if (membership.joined && stable.value >= membership.incarnation) return;
    throw new IsochronError('NOT_READY', 'This node is fetching its data from its peers; use another one meanwhile.');
  }

  /** @throws IsochronError NOT_READY */
  #accepting(): void {
    this.#serving();
    if (!this.state.membership.settled) {
      const detail = 'This node is settling the losses of its lost disk; commit through another one.';
      throw new IsochronError('NOT_READY', detail);
    }
    if (!this.state.membership.accepts) {
      throw new IsochronError('NOT_READY', 'This node is about to be rebuilt; commit through another one.');
    }
    const { maps, topology, node } = this.state;
    if (maps.isLeaving || !topology.isMember(node)) {
      throw new IsochronError(
        'NOT_READY',
        'This node is about to close, or has just come back; commit through another one.',
      );
    }
  }

  /** Answers the sender with a refusal if the request fails. */
  #refusing({ from, ref }: Requester, out: Out, serve: () => void): void {
    try {
      serve();
    } catch (error) {
      if (!(error instanceof IsochronError)) throw error;
      out.send(from, { type: 'Refused', ref, code: error.code, detail: error.message });
    }
  }

  /** Alg. 2 lines 1–5. */
  #onStartTxReq(request: StartTxReq, now: WallMs, from: Address, out: Out): void {
    const { ref, txId } = request;
    this.#withSnapshot(request, now, from, out, (snapshot, laterOut, at) => {
      const open = this.table.snapshot(txId);
      if (open === undefined) this.table.open(txId, snapshot, this.rules.oldest(snapshot), at);
      this.counters.started++;
      const { ts, deps } = open ?? snapshot;
      laterOut.send(from, { type: 'StartTxResp', ref, snapshot: ts, deps });
    });
  }

  /** Alg. 2 lines 6–16; without an open transaction, start, read and end in one (P11). */
  #onReadReq(request: ReadReq, now: WallMs, from: Address, out: Out): void {
    const { ref, txId } = request;
    if (txId !== null) {
      this.reads.read({ from, ref }, request, this.#snapshotOf(txId), now, out);
      return;
    }
    this.#withSnapshot(request, now, from, out, (snapshot, laterOut, at) => {
      this.reads.read({ from, ref }, request, snapshot, at, laterOut);
    });
  }

  #onListReq(request: ListReq, now: WallMs, from: Address, out: Out): void {
    const { ref, keyspace, range, txId } = request;
    if (txId !== null) {
      this.reads.list({ from, ref }, keyspace, range, this.#snapshotOf(txId), now, out);
      return;
    }
    this.#withSnapshot(request, now, from, out, (snapshot, laterOut, at) => {
      this.reads.list({ from, ref }, keyspace, range, snapshot, at, laterOut);
    });
  }

  #onEndTxReq({ ref, txId }: EndTxReq, from: Address, out: Out): void {
    this.table.end(txId, 'ended');
    this.counters.ended++;
    out.send(from, { type: 'EndTxResp', ref });
  }

  /**
   * Asks every replica of every partition: the id alone does not name the partitions of its writes. A transaction that
   * is open here may have been committed through another node.
   */
  #onTxStatusReq({ ref, txId }: TxStatusReq, now: WallMs, from: Address, out: Out): void {
    const question = this.#nextQuestion === 0 ? this.state.clock.latest(now, 0) : this.#nextQuestion;
    this.#nextQuestion = question + 1;
    let waiting = 0;
    const unasked: StatusQuestion['unasked'] = [];
    for (const partition of this.state.topology.partitions) {
      for (const region of partition.regions) {
        const to = this.#addresses.replica(partition.id, region);
        waiting++;
        if (this.#unreachable.has(to.node)) unasked.push({ partition: partition.id, to });
        else out.send(to, { type: 'OutcomeReq', ref: question, partition: partition.id, txId });
      }
    }
    const until = now + this.state.settings.readDeadlineMs;
    this.#questions.set(question, { requester: { from, ref }, until, txId, waiting, unasked, responses: new Map() });
    if (unasked.length > 0) this.#hurry(now);
  }

  /** A replica cannot be reached: questions that wait for all replicas will hardly get all answers. */
  #hurry(now: WallMs): void {
    const soon = now + this.state.settings.readTimeoutMs;
    for (const question of this.#questions.values()) question.until = Math.min(question.until, soon);
  }

  #askAgain(node: string, out: Out): void {
    for (const [ref, question] of this.#questions) {
      const { txId, unasked } = question;
      for (const { partition, to } of unasked)
        if (to.node === node) out.send(to, { type: 'OutcomeReq', ref, partition, txId });
      question.unasked = unasked.filter(({ to }) => to.node !== node);
    }
  }

  #onOutcomeResp(message: OutcomeResp, out: Out): void {
    const question = this.#questions.get(message.ref);
    if (question === undefined) return;
    question.waiting--;
    const { responses } = question;
    const { state, attempt, ts } = message;
    const before = responses.get(state);
    responses.set(state, { attempt: Math.max(attempt, before?.attempt ?? 0), ts: Math.max(ts, before?.ts ?? 0) });
    if (message.state === 'committed') this.#answerStatus(message.ref, question, message.ts, out);
    else if (question.waiting === 0) this.#answerStatus(message.ref, question, null, out);
  }

  #answerStatus(id: number, question: StatusQuestion, ct: Timestamp | null, out: Out): void {
    this.#questions.delete(id);
    const { requester, responses, waiting, txId } = question;
    const state = ct !== null ? 'committed' : undecided(responses, waiting === 0);
    const attempt = responses.get(state)?.attempt ?? 0;
    const answer = { type: 'TxStatusResp', ref: requester.ref, status: STATUS_OF[state], ts: ct, attempt } as const;
    const open = state === 'unknown' || state === 'lost' ? this.table.snapshot(txId) : undefined;
    out.send(requester.from, open === undefined ? answer : { ...answer, status: 'open', ts: open.ts, attempt: 0 });
  }

  /** @throws IsochronError TRANSACTION_EXPIRED, TRANSACTION_FINISHED, TRANSACTION_UNKNOWN */
  #snapshotOf(txId: TxId): Snapshot {
    const snapshot = this.table.snapshot(txId);
    if (snapshot === undefined) throw this.table.whyNotOpen(txId);
    return snapshot;
  }

  /** Alg. 2 line 2, bounded by P5: the snapshot is there at once, or waited for, or refused. */
  #withSnapshot(
    request: StartTxReq | ReadReq | ListReq,
    now: WallMs,
    from: Address,
    out: Out,
    proceed: BlockedRequest['proceed'],
  ): void {
    const { clock, settings } = this.state;
    const { ref } = request;
    const wanted = wantedBy(request);
    if (this.rules.newest('at' in wanted ? wanted.at : wanted.seen) > clock.latest(now, settings.maxClockDriftMs / 2)) {
      throw new IsochronError('TIMESTAMP_IN_FUTURE', 'The requested snapshot lies in the future; drop the timestamp.');
    }
    const snapshot = this.#assign(wanted, now);
    if (snapshot !== undefined) {
      proceed(snapshot, out, now);
      return;
    }
    this.counters.snapshotWaits++;
    this.state.activity.wake(now, out);
    this.#waiting.push({ requester: { from, ref }, wanted, until: now + settings.snapshotWaitMs, proceed });
  }

  /** The snapshot, or undefined while this node has not reached the request's time. */
  #assign(wanted: Wanted, now: WallMs): Snapshot | undefined {
    return 'at' in wanted ? this.rules.confirm(wanted.at, now, wanted.seen.ts) : this.rules.assign(wanted.seen, now);
  }

  #sweep(now: WallMs, out: Out): void {
    this.counters.expired += this.table.expire(now);
    this.reads.sweep(now, out);
    this.commits.sweep(now, out);
    this.settles.sweep(now, out);
    for (const [id, question] of this.#questions)
      if (question.until <= now) this.#answerStatus(id, question, null, out);
    this.#retryWaiting(now, out);
  }

  #retryWaiting(now: WallMs, out: Out): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const request of waiting) this.#refusing(request.requester, out, () => this.#retry(request, now, out));
  }

  /**
   * @throws IsochronError SNAPSHOT_UNAVAILABLE when the request has waited long enough; or an error of the request
   * itself
   */
  #retry(request: BlockedRequest, now: WallMs, out: Out): void {
    const snapshot = this.#assign(request.wanted, now);
    if (snapshot !== undefined) request.proceed(snapshot, out, now);
    else if (request.until > now) this.#waiting.push(request);
    else {
      throw new IsochronError('SNAPSHOT_UNAVAILABLE', 'The snapshot is not installed in every region yet; try again.');
    }
  }
}

/** The status of a transaction: *lost* only by the verdict of a settlement (D10), never for want of an outcome. */
const STATUS_OF = {
  prepared: 'pending',
  deferred: 'deferred',
  committed: 'committed',
  aborted: 'aborted',
  reported: 'lost',
  lost: 'forgotten',
  unknown: 'unknown',
} as const satisfies Record<OutcomeResp['state'], TransactionStatus>;

/**
 * The state that the answers imply without a *committed* among them: that of all attempts together. The abort or the
 * loss of one attempt decides nothing about a later one, which another region may have committed (D4). So both take the
 * answers of every replica, and *aborted* those of none that may have dropped or lost a later attempt.
 */
function undecided(responses: StatusQuestion['responses'], allAnswered: boolean): OutcomeResp['state'] {
  const [prepared, aborted, lost] = (['prepared', 'aborted', 'lost'] as const).map((state) => responses.get(state));
  const reported = responses.get('reported');
  const ended = Math.max(aborted?.attempt ?? -1, reported?.attempt ?? -1);
  if (prepared !== undefined && prepared.attempt > ended) return 'prepared';
  // M7: a refused round decides nothing about a deferred transaction.
  if (responses.has('deferred') && reported === undefined) return 'deferred';
  if (!allAnswered) return 'unknown';
  if (reported !== undefined) return 'reported';
  const memory = Math.max(lost?.ts ?? 0, responses.get('unknown')?.ts ?? 0);
  if (aborted !== undefined && aborted.ts > memory) return 'aborted';
  return lost === undefined ? 'unknown' : 'lost';
}

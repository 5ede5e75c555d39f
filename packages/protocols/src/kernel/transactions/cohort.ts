/**
 * The cohort's votes in two-phase commit: Algorithm 3 lines 9–19, with the rules of durability and retries around it
 * (D1, D3–D5, P6, P8, P11, T1). The replica owns one and hands it the 2PC messages. `Slices` has the states of the
 * transactions, `Resolver` the decisions that are overdue, `Suspects` those that a lost disk leaves open.
 */
import {
  type CommitCounter,
  counterIn,
  type ErrorCode,
  type NodeId,
  type PartitionId,
  type Timestamp,
  type TxId,
  type WallMs,
} from '@isochron/core';
import type { Address, Effects } from '../../machine.js';
import type { NodeState } from '../node-state.js';
import type { Outcomes } from '../outcomes.js';
import { digestOf, sameCohorts, sliceOf } from './digest.js';
import type { Known } from './known.js';
import type {
  AbortTx,
  CommitTx,
  FindCommit,
  OutcomeResp,
  PrepareReq,
  ResolveNow,
  ResolveResp,
  TransactionMessage,
} from './messages.js';
import { PastCommits } from './past-commits.js';
import { addCoordinator, isCoordinator, type Prepared } from './prepared-queue.js';
import { isCohortOf, type PrepareRefusal, refusalOf } from './refusals.js';
import { isRepeatable, Repeats } from './repeats.js';
import { Resolver } from './resolver.js';
import type { DropDeferred } from './return-messages.js';
import { Slices } from './slices.js';
import type { SnapshotRules } from './snapshots.js';
import { Suspects } from './suspects.js';

type Out = Effects<TransactionMessage>;

export class Cohort {
  readonly slices: Slices;
  readonly suspects: Suspects;
  readonly resolver: Resolver;
  readonly #repeats: Repeats;
  readonly #past: PastCommits;

  constructor(
    readonly partition: PartitionId,
    readonly state: NodeState,
    readonly rules: SnapshotRules,
    readonly outcomes: Outcomes,
  ) {
    this.slices = new Slices(partition, state, rules, outcomes);
    this.suspects = new Suspects(this.slices);
    this.resolver = new Resolver(this.slices, this.suspects);
    this.#repeats = new Repeats(partition, state);
    this.#past = new PastCommits(partition, state);
  }

  get counters(): Slices['counters'] {
    return this.slices.counters;
  }

  /**
   * Alg. 3 lines 9–14. The snapshot may be the word of a client, and of a higher map: no stable time is learnt (M6).
   * @param searched where it was not found: at the peers, whose answers count for a lost disk, too; or in the own log
   */
  onPrepareReq(request: PrepareReq, now: WallMs, from: Address, out: Out, searched?: 'peers' | 'log'): void {
    const { identity } = request;
    if (!isCohortOf(identity, this.partition, this.state)) {
      this.counters.ignored++;
      return;
    }
    const known = this.slices.known(identity.txId, request.sentAfter);
    if (known === undefined && !this.state.membership.accepts) {
      this.counters.ignored++; // neither prepared nor refused: the commit continues elsewhere, or is sent again
      return;
    }
    if (known !== undefined && this.#answerKnown(request, known, now, from, out)) return;
    const counter = counterIn(request.writes, this.partition);
    if (counter !== undefined) {
      if (this.#answerCounted(request, counter, known?.state === 'deferred', from, out)) return;
    } else if (searched === undefined) {
      if (known === undefined && this.#repeats.ask(request, from, now, out)) return;
      // What is deferred here is in no log, also after a later round was refused.
      const isDeferred = this.slices.deferred.get(identity.txId) !== undefined;
      if (!isDeferred && this.#past.look(request, from, out)) return;
    }
    const remembers = searched === 'peers' || counter !== undefined;
    const refusal = this.#refusalOf(request, now, remembers ? 0 : this.outcomes.rememberedFrom);
    if (refusal !== undefined) {
      this.#refuse(request, refusal.code, refusal.detail, from, out);
      if (refusal.durable) this.outcomes.tombstone(identity.txId, identity.attempt, now, out);
      return;
    }
    this.#prepare(request, now, from, out);
  }

  /**
   * Whether a prepare would be accepted without a question or a refusal: then the transaction may commit in one phase
   * (P11).
   */
  takesAtOnce(request: PrepareReq, now: WallMs): boolean {
    const { txId } = request.identity;
    const counter = counterIn(request.writes, this.partition);
    return (
      isCohortOf(request.identity, this.partition, this.state) &&
      this.state.membership.accepts &&
      this.slices.known(txId, request.sentAfter) === undefined &&
      (counter === undefined
        ? !this.#repeats.mustAsk(request) && !this.#past.mustLook(request)
        : this.slices.writeCounters.judge(counter, txId).is === 'new') &&
      this.#refusalOf(request, now, counter === undefined ? this.outcomes.rememberedFrom : 0) === undefined
    );
  }

  /**
   * OF2: the counter of a commit without an outcome here stands in for the outcomes of peers, and for the log.
   * Returns false if the commit is new.
   *
   * @param isDeferred a later number decides nothing about a commit that a map has deferred (M7)
   */
  #answerCounted(request: PrepareReq, counter: CommitCounter, isDeferred: boolean, from: Address, out: Out): boolean {
    const { txId, attempt } = request.identity;
    const counted = this.slices.writeCounters.judge(counter, txId);
    if (counted.is === 'new') return false;
    const isOpen = isDeferred || request.digest !== undefined;
    if (counted.is === 'reused') {
      this.#refuse(request, 'TX_ID_REUSED', `Another commit of the queue has the number ${counter.n}.`, from, out);
    } else {
      if (isOpen && counted.shownBy === 'above') return false;
      this.counters.repeats++;
      this.#answerCommitted(txId, { attempt, ts: counted.ts, counted: counted.shownBy }, from, out);
    }
    return true;
  }

  /**
   * Commits a slice without a prepare (P11): all cohorts are on this node, and commit in the same step, at the same
   * timestamp.
   */
  commitAtOnce(request: PrepareReq, ct: Timestamp, coordinator: NodeId, out: Out): void {
    this.slices.commitAtOnce(request, ct, coordinator, out);
  }

  /** A peer has answered about a request that may be a repetition (`repeats.ts`). */
  onOutcomeResp(message: OutcomeResp, now: WallMs, peer: Address, out: Out): void {
    const answered = this.#repeats.answered(message, peer);
    if (answered === undefined) return;
    const { request, from, committed } = answered;
    if (committed === undefined) this.onPrepareReq(request, now, from, out, 'peers');
    else this.#sendCommitted({ ct: committed, attempt: request.identity.attempt }, request, from, out);
  }

  /** A page of the log, for an attempt that commits again (`past-commits.ts`). */
  onFindCommit(message: FindCommit, now: WallMs, out: Out): void {
    const searched = this.#past.onFindCommit(message, now, out);
    if (searched === undefined) return;
    const { request, from, past } = searched;
    if (past.is === 'new') this.onPrepareReq(request, now, from, out, 'log');
    else if (past.is === 'forgotten') this.#refuse(request, past.refusal.code, past.refusal.detail, from, out);
    else this.#sendCommitted(past, request, from, out);
  }

  /** Alg. 3 lines 15–19. A commit message for an unknown transaction is counted and ignored (D2). */
  onCommitTx(message: CommitTx, from: Address): void {
    const prepared = this.#decided(message, from);
    if (prepared === undefined) return;
    if (message.ct >= prepared.record.pt && prepared.waitsFor === undefined) this.slices.commit(prepared, message.ct);
    else this.counters.ignored++;
  }

  onAbortTx(message: AbortTx, now: WallMs, from: Address, out: Out): void {
    const prepared = this.#decided(message, from);
    if (prepared !== undefined) this.slices.abort(prepared, now, out);
  }

  /** Another cohort has refused the attempt: the others are asked, on behalf of its coordinator alone. */
  onResolveNow(message: ResolveNow, now: WallMs, from: Address, out: Out): void {
    if (this.#decided(message, from) !== undefined) this.resolver.resolveOverdue(now, out, message);
  }

  /** The prepare of which a message states the decision; undefined unless it comes from a coordinator of it (D12). */
  #decided({ type, txId, attempt }: CommitTx | AbortTx | ResolveNow, from: Address): Prepared | undefined {
    const prepared = this.slices.prepared.get(txId);
    if (prepared?.record.attempt !== attempt) {
      this.counters.ignored++;
      return undefined;
    }
    if (isCoordinator(prepared, from)) return prepared;
    this.slices.ignoreOutsider(type, txId, from);
    return undefined;
  }

  /**
   * A part of a deferred transaction is nowhere: the slice here never commits. Nodes that return decide that, and heirs
   * of evicted nodes (D12).
   */
  onDropDeferred({ txId, attempt }: DropDeferred, now: WallMs, from: Address, out: Out): void {
    const { maps, topology } = this.state;
    const mayOwe = maps.suspendedSince(0, [from.node]) || topology.evicted.length > 0;
    if (topology.isMember(from.node) && mayOwe) this.slices.dropDeferred(txId, attempt, now, out);
    else this.slices.ignoreOutsider('DropDeferred', txId, from);
  }

  #refusalOf(request: PrepareReq, now: WallMs, rememberedFrom: Timestamp): PrepareRefusal | undefined {
    return refusalOf(request, now, this.state, rememberedFrom, this.slices.pendingBytes);
  }

  /** D4: retries find the result of the first send. Returns false if a newer attempt starts afresh. */
  #answerKnown(request: PrepareReq, known: Known, now: WallMs, from: Address, out: Out): boolean {
    const { txId, attempt } = request.identity;
    // Undecided (M7): a later attempt begins afresh, and no answer decides an earlier one.
    if (known.state === 'deferred') return attempt <= known.record.attempt;
    if (known.state === 'aborted') {
      if (known.attempt < attempt) return false;
      this.#refuse(
        request,
        'TRANSACTION_ABORTED',
        'This attempt was aborted before; start a new transaction.',
        from,
        out,
      );
      return true;
    }
    const stored = known.state === 'prepared' ? known.prepared.record : known;
    if (known.state === 'prepared' && stored.attempt < attempt)
      return !this.resolver.giveUp(known.prepared, now, from, out);
    this.counters.repeats++;
    if (known.state === 'committed' && known.digest === '') {
      this.#sendCommitted(known, request, from, out);
    } else if (sliceOf(stored.digest) !== '' && sliceOf(stored.digest) !== digestOf(request)) {
      this.#refuse(request, 'TX_ID_REUSED', 'The transaction id was used for other writes; make a new one.', from, out);
    } else if (stored.attempt === attempt && !sameCohorts(stored.digest, request.identity, this.state.maps)) {
      this.#refuse(request, 'ATTEMPT_MISMATCH', `The transaction is known with cohorts ${stored.digest}.`, from, out);
    } else if (known.state === 'committed') {
      this.#sendCommitted(known, request, from, out);
    } else if (stored.attempt > attempt) {
      // Another sender of a request under a key is ahead: the attempt is over, and the next one is for both (D4).
      const code = isRepeatable(request) ? 'TRANSACTION_ABORTED' : 'ATTEMPT_MISMATCH';
      this.#refuse(request, code, `Attempt ${stored.attempt} has begun.`, from, out);
    } else if (known.prepared.record.map !== request.identity.map) {
      // The slices of a commit belong to one map, or a cut could divide them (M4): the old ones are decided first.
      this.resolver.resolveOverdue(now, out, { type: 'ResolveNow', partition: this.partition, txId, attempt });
      this.#refuse(request, 'OUTCOME_PENDING', 'The attempt was begun in an older map; send it again.', from, out);
    } else if (known.prepared.waitsFor === undefined) {
      addCoordinator(known.prepared, from);
      const { pt } = known.prepared.record;
      out.sendAfterPersist(from, { type: 'PrepareResp', txId, attempt, partition: this.partition, pt });
    }
    return true;
  }

  #sendCommitted(
    { ct, attempt }: Pick<Extract<Known, { state: 'committed' }>, 'ct' | 'attempt'>,
    { identity: { txId } }: PrepareReq,
    from: Address,
    out: Out,
  ): void {
    this.slices.keepDecided(txId, out);
    this.#answerCommitted(txId, { attempt, ts: ct }, from, out);
  }

  #answerCommitted(
    txId: TxId,
    commit: Pick<ResolveResp, 'attempt' | 'ts'> & Partial<Pick<ResolveResp, 'counted'>>,
    from: Address,
    out: Out,
  ): void {
    const { partition } = this;
    out.sendAfterPersist(from, { type: 'ResolveResp', txId, partition, state: 'committed', ...commit });
  }

  #prepare(request: PrepareReq, now: WallMs, from: Address, out: Out): void {
    const { txId, attempt, cohorts } = request.identity;
    const pt = this.state.clock.propose(now, Math.max(request.ht, request.ust, request.sentAfter), out);
    this.counters.prepares++;
    // P11: a sole cohort commits at its own pt, with one durable write.
    if (cohorts.length === 1) this.commitAtOnce(request, pt, from.node, out);
    else this.slices.prepare(request, pt, from.node, now, out);
    out.sendAfterPersist(from, { type: 'PrepareResp', txId, attempt, partition: this.partition, pt });
  }

  #refuse(request: PrepareReq, code: ErrorCode, detail: string, from: Address, out: Out): void {
    this.counters.refusals++;
    const { txId, attempt } = request.identity;
    out.sendAfterPersist(from, { type: 'PrepareRefused', txId, attempt, partition: this.partition, code, detail });
  }
}

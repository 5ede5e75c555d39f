/**
 * The cohort's half of two-phase commit: Algorithm 3 lines 9–19, with the rules of durability, retries and resolution
 * around it (D1–D5, P6, P8, P11, T1). The replica owns one and hands it the 2PC messages.
 */
import {
  type ErrorCode,
  IsochronError,
  type LoggedTx,
  type NodeId,
  type OutcomeRecord,
  type PartitionId,
  type PreparedRecord,
  type Timestamp,
  type TxId,
  type WallMs,
} from '@isochron/core';
import type { Address, Effects } from '../../machine.js';
import { Addresses, type NodeState } from '../node-state.js';
import type { Outcomes } from '../outcomes.js';
import type { Loss } from '../replication/losses.js';
import { type Committed, CommittedQueue } from './committed-queue.js';
import { digestWrites, fullDigest, sameList, sliceOf } from './digest.js';
import { attemptOf, type Known, timeOf } from './known.js';
import type {
  AbortTx,
  CommitIdentity,
  CommitTx,
  OutcomeReq,
  OutcomeResp,
  PrepareReq,
  ResolveNow,
  ResolveReq,
  ResolveResp,
  TransactionMessage,
} from './messages.js';
import { type Prepared, PreparedQueue } from './prepared-queue.js';
import { type PrepareRefusal, refusalOf } from './refusals.js';
import { isRepeatable, Repeats } from './repeats.js';
import { Resolution } from './resolution.js';
import type { SnapshotRules } from './snapshots.js';
import { Suspects } from './suspects.js';

type Out = Effects<TransactionMessage>;

export class Cohort {
  readonly prepared = new PreparedQueue();
  readonly committed = new CommittedQueue();
  readonly suspects: Suspects;
  readonly #repeats: Repeats;
  readonly counters = { prepares: 0, repeats: 0, refusals: 0, commits: 0, aborts: 0, resolved: 0, ignored: 0 };
  readonly #resolutions = new Map<TxId, Resolution>();
  readonly #addresses: Addresses;

  constructor(
    readonly partition: PartitionId,
    readonly state: NodeState,
    readonly rules: SnapshotRules,
    readonly outcomes: Outcomes,
  ) {
    this.#addresses = new Addresses(state.topology);
    this.#repeats = new Repeats(partition, state);
    this.suspects = new Suspects(partition, state, this.prepared, this.committed);
  }

  /**
   * Alg. 3 lines 9–14.
   * @param isNew a lost disk may have known it, but its peers have answered that it was not carried out
   */
  onPrepareReq(request: PrepareReq, now: WallMs, from: Address, out: Out, isNew = false): void {
    const { identity } = request;
    if (!this.#isCohortOf(identity)) {
      this.counters.ignored++;
      return;
    }
    this.rules.observeSnapshot({ ts: request.ust });
    const known = this.#known(identity.txId, request.sentAfter);
    if (known === undefined && !this.state.membership.accepts) {
      this.counters.ignored++; // neither prepared nor refused: the commit continues elsewhere, or is sent again
      return;
    }
    if (known !== undefined && this.#answerKnown(request, known, now, from, out)) return;
    if (known === undefined && !isNew && this.#repeats.ask(request, from, now, out)) return;
    const refusal = this.#refusalOf(request, now, isNew ? 0 : this.outcomes.rememberedFrom);
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
    return (
      this.#isCohortOf(request.identity) &&
      this.state.membership.accepts &&
      this.#known(txId, request.sentAfter) === undefined &&
      !this.#repeats.mustAsk(request) &&
      this.#refusalOf(request, now, this.outcomes.rememberedFrom) === undefined
    );
  }

  /**
   * Commits a slice without a prepare (P11): all cohorts are on this node, and commit in the same step, at the same
   * timestamp.
   */
  commitAtOnce(request: PrepareReq, ct: Timestamp, out: Out): void {
    this.rules.observeSnapshot({ ts: request.ust });
    const { identity, writes } = request;
    const { txId, attempt } = identity;
    const digest = fullDigest(digestWrites(writes, request.principal), identity);
    const deps = this.rules.stamp(request.deps, ct, this.state.region);
    const siblings = this.#siblings(identity);
    const repeatable = isRepeatable(request) || undefined;
    this.committed.add({ txId, ct, attempt, digest, writes, deps, siblings, repeatable, logged: true });
    this.counters.commits++;
    this.#writeCommitted(
      { txId, writes, deps, siblings, repeatable },
      { status: 'committed', ts: ct, attempt, digest },
      out,
    );
  }

  /** A peer has answered about a request that may be a repetition (`repeats.ts`). */
  onOutcomeResp(message: OutcomeResp, now: WallMs, out: Out): void {
    const answered = this.#repeats.answered(message);
    if (answered === undefined) return;
    const { request, from, committed } = answered;
    if (committed === undefined) this.onPrepareReq(request, now, from, out, true);
    else this.#sendCommitted({ ct: committed, attempt: request.identity.attempt }, request, from, out);
  }

  /** Alg. 3 lines 15–19. A commit message for an unknown transaction is counted and ignored (D2). */
  onCommitTx(message: CommitTx): void {
    const prepared = this.prepared.get(message.txId);
    const waits = this.suspects.awaitVerdict(message.txId);
    if (prepared?.record.attempt !== message.attempt || message.ct < prepared.record.pt || waits) {
      this.counters.ignored++;
      return;
    }
    this.#commit(prepared, message.ct);
  }

  onAbortTx(message: AbortTx, now: WallMs, out: Out): void {
    const prepared = this.prepared.get(message.txId);
    if (prepared?.record.attempt !== message.attempt) {
      this.counters.ignored++;
      return;
    }
    this.#abort(prepared, now, out);
  }

  /** D2: a cohort that never prepared the attempt writes a tombstone, and only then answers *aborted*. */
  onResolveReq({ identity, sentAfter }: ResolveReq, now: WallMs, from: Address, out: Out): void {
    if (!this.#isCohortOf(identity)) {
      this.counters.ignored++;
      return;
    }
    const { txId, attempt } = identity;
    const known = this.#known(txId);
    const { partition } = this;
    const answer = (state: ResolveResp['state'], ts: Timestamp) => {
      out.sendAfterPersist(from, { type: 'ResolveResp', txId, attempt, partition, state, ts });
    };
    if (known?.state === 'prepared' && known.prepared.record.attempt === attempt) {
      const { record } = known.prepared;
      const same = sameList(record, identity);
      // An attempt with another list will never be prepared here.
      answer(same ? 'prepared' : 'aborted', same ? record.pt : 0);
    } else if (known?.state === 'committed') {
      // An outcome that was found among copied versions has no digest (D10).
      this.#keepDecided(txId, out);
      const found = known.digest === '';
      const same = found || (known.attempt === attempt && known.digest.endsWith(fullDigest('', identity)));
      answer(same ? 'committed' : 'aborted', same ? known.ct : 0);
    } else if (known === undefined && sentAfter < this.#unknownUpTo(from)) {
      // The answer is never *aborted* if the outcome was dropped (D5), or possibly known to a lost disk. A late prepare
      // is refused without a tombstone.
      answer('lost', 0);
    } else {
      // The sender of a question about an attempt knows that earlier ones are aborted (D4): a prepare of an earlier one
      // is given up, durably.
      if (known?.state === 'prepared' && known.prepared.record.attempt < attempt) this.#abort(known.prepared, now, out);
      if (known === undefined || attemptOf(known) < attempt) {
        this.outcomes.tombstone(txId, attempt, now, out);
      }
      answer('aborted', 0);
    }
  }

  /**
   * A cohort that is still prepared holds UST back below any commit, so the outcome is not dropped; and no vote of a
   * lost disk counts after the settlement (D10). So a transaction that is unknown here has not been committed.
   */
  #unknownUpTo(from: Address): Timestamp {
    if (from.machine !== 'coordinator') return 0;
    return this.outcomes.rememberedFrom;
  }

  onResolveResp(message: ResolveResp, now: WallMs, out: Out): void {
    const prepared = this.prepared.get(message.txId);
    const resolution = this.#resolutions.get(message.txId);
    if (prepared?.record.attempt !== message.attempt || resolution === undefined) return;
    if (message.state === 'aborted') this.#abort(prepared, now, out);
    else if (message.state === 'committed') this.#onCommitted(prepared, message.ts, now, out);
    else if (message.state === 'prepared') {
      resolution.prepared(message.partition, message.ts);
      const ct = this.suspects.awaitVerdict(prepared.txId) ? undefined : resolution.decided();
      if (ct !== undefined) this.#commit(prepared, ct);
    }
    if (this.prepared.get(message.txId) === undefined) this.counters.resolved++;
  }

  /**
   * A commit timestamp below the own proposal: the disk has lost the proposal that was counted, and made this one later
   * (D10).
   */
  #onCommitted(prepared: Prepared, ct: Timestamp, now: WallMs, out: Out): void {
    if (ct >= prepared.record.pt) {
      this.#commit(prepared, ct);
      return;
    }
    if (this.state.topology.partitions[this.partition]!.regions.length > 1) {
      const detail = `${prepared.txId} was committed below the proposal of partition ${this.partition}: its disk was rolled back.`;
      throw new IsochronError('REBUILD_NEEDED', detail);
    }
    // There is no better copy.
    const { txId, record } = prepared;
    const { node, losses } = this.state;
    const keys = record.writes.map(({ key }) => key);
    const lost = { txId, ts: ct, attempt: record.attempt, partitions: [this.partition], keys, node };
    losses.add([{ ...lost, committed: true, takenBack: false, acknowledged: false }], out);
    this.#abort(prepared, now, out);
  }

  /** A node has lost its disk (D10): the votes of its cohorts, and decisions based on them, no longer count. */
  dropVotes(node: NodeId): void {
    for (const txId of [...this.#resolutions.keys()]) {
      const record = this.prepared.get(txId)?.record;
      if (record === undefined || this.suspects.partitionsOn(node, record).length > 0) this.#resolutions.delete(txId);
    }
  }

  /** The verdict about a transaction of which a lost disk took a part (D10). Returns whether it was logged here. */
  takeBack(loss: Loss, now: WallMs, out: Out): boolean {
    const { txId, attempt, ts, committed, takenBack } = loss;
    const prepared = this.prepared.get(txId);
    if (prepared?.record.attempt === attempt) {
      if (committed && !takenBack && ts >= prepared.record.pt) this.#commit(prepared, ts);
      else this.#abort(prepared, now, out);
    }
    if (!takenBack) return false;
    const known = this.#known(txId);
    const isHere = known?.state === 'committed' && known.ct === ts;
    // The coordinator may have the votes of the other cohorts: the lost one never gives its own again.
    const wasLostHere = loss.node === this.state.node && loss.partitions.includes(this.partition);
    const waiting = this.committed.get(txId);
    const outcome = this.outcomes.get(txId, 0);
    if (waiting?.ct === ts) {
      this.committed.remove(waiting);
      if (!waiting.logged) out.write({ kind: 'prepared', partition: this.partition, txId, record: null });
    }
    const endsAt = known === undefined ? -1 : attemptOf(known);
    if (isHere || (wasLostHere && endsAt < attempt)) this.outcomes.tombstone(txId, attempt, now, out);
    return outcome?.status === 'committed' && outcome.ts === ts;
  }

  /** @param verified whether every peer has verified the disk: a rolled-back one knows less than before (D10) */
  onOutcomeReq(request: OutcomeReq, verified: boolean, from: Address, out: Out): void {
    const known = this.#known(request.txId);
    const { incarnation } = this.state.membership;
    const { ref } = request;
    if (known?.state === 'committed') this.#keepDecided(request.txId, out);
    const state =
      this.suspects.reportedState(request.txId, known) ??
      (incarnation > this.outcomes.forgottenUpTo ? 'lost' : 'unknown');
    const memory = Math.max(this.outcomes.rememberedFrom, verified ? 0 : this.state.clock.last);
    const ts = known === undefined ? memory : timeOf(known);
    const attempt = known === undefined ? 0 : attemptOf(known);
    out.sendAfterPersist(from, { type: 'OutcomeResp', ref, partition: this.partition, state, ts, attempt });
  }

  /** Asks about prepares whose decision is overdue (D2), and about the one that a coordinator names. */
  resolveOverdue(now: WallMs, out: Out, named?: ResolveNow): void {
    for (const { txId, record, since } of this.prepared.values()) {
      let resolution = this.#resolutions.get(txId);
      const isNamed = named?.txId === txId && named.attempt === record.attempt;
      if (resolution === undefined && !isNamed && since + this.state.settings.resolveAfterMs > now) continue;
      if (resolution === undefined) {
        resolution = new Resolution(txId, record.cohorts, { partition: this.partition, pt: record.pt }, now);
        this.#resolutions.set(txId, resolution);
      }
      const identity = {
        txId,
        attempt: record.attempt,
        home: record.home,
        epoch: record.epoch,
        cohorts: record.cohorts,
        avoid: record.avoid,
      };
      for (const partition of resolution.ask(now)) {
        out.send(this.#addresses.cohort(partition, identity), {
          type: 'ResolveReq',
          partition,
          identity,
          sentAfter: record.sentAfter,
        });
      }
    }
  }

  #refusalOf(request: PrepareReq, now: WallMs, rememberedFrom: Timestamp): PrepareRefusal | undefined {
    const pendingBytes = this.prepared.bytes + this.committed.bytes;
    return refusalOf(request, now, this.state, rememberedFrom, pendingBytes);
  }

  /**
   * Whether a peer's identity makes sense here (D12): this replica is in the list, and each cohort in it exists, once.
   */
  #isCohortOf({ home, cohorts, avoid }: CommitIdentity): boolean {
    const { topology, region } = this.state;
    return (
      topology.regions.includes(home) &&
      topology.isAvoidList(avoid ?? []) &&
      cohorts.every((partition, i) => partition < topology.partitions.length && partition > (cohorts[i - 1] ?? -1)) &&
      cohorts.includes(this.partition) &&
      topology.cohort(this.partition, home, avoid).region === region
    );
  }

  /** A known `sentAfter` saves new transactions the look at the disk. */
  #known(txId: TxId, sentAfter = 0): Known | undefined {
    const prepared = this.prepared.get(txId);
    if (prepared !== undefined) return { state: 'prepared', prepared };
    const committed = this.committed.get(txId);
    if (committed !== undefined) {
      return { state: 'committed', ct: committed.ct, attempt: committed.attempt, digest: committed.digest };
    }
    const outcome = this.outcomes.get(txId, sentAfter);
    if (outcome?.status === 'committed') {
      return { state: 'committed', ct: outcome.ts, attempt: outcome.attempt, digest: outcome.digest ?? '' };
    }
    return outcome === undefined ? undefined : { state: 'aborted', ts: outcome.ts, attempt: outcome.attempt };
  }

  /** D4: retries find the result of the first send. Returns false if a newer attempt starts afresh. */
  #answerKnown(request: PrepareReq, known: Known, now: WallMs, from: Address, out: Out): boolean {
    const { txId, attempt } = request.identity;
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
    if (known.state === 'prepared' && stored.attempt < attempt) {
      // The coordinator of a later attempt holds a cohort's durable answer that this one is aborted (D4).
      this.#abort(known.prepared, now, out);
      return false;
    }
    this.counters.repeats++;
    if (known.state === 'committed' && known.digest === '') {
      this.#sendCommitted(known, request, from, out);
    } else if (sliceOf(stored.digest) !== digestWrites(request.writes, request.principal)) {
      this.#refuse(request, 'TX_ID_REUSED', 'The transaction id was used for other writes; make a new one.', from, out);
    } else if (stored.attempt === attempt && !stored.digest.endsWith(fullDigest('', request.identity))) {
      this.#refuse(request, 'ATTEMPT_MISMATCH', `The transaction is known with cohorts ${stored.digest}.`, from, out);
    } else if (known.state === 'committed') {
      this.#sendCommitted(known, request, from, out);
    } else if (stored.attempt > attempt) {
      this.#refuse(request, 'ATTEMPT_MISMATCH', `Attempt ${stored.attempt} has begun.`, from, out);
    } else if (!this.suspects.awaitVerdict(txId)) {
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
    this.#keepDecided(txId, out);
    const { partition } = this;
    out.sendAfterPersist(from, {
      type: 'ResolveResp',
      txId,
      attempt,
      partition,
      state: 'committed',
      ts: ct,
    });
  }

  #prepare(request: PrepareReq, now: WallMs, from: Address, out: Out): void {
    const { identity, writes } = request;
    const { txId, attempt, home, epoch, cohorts, avoid } = identity;
    const pt = this.state.clock.propose(now, Math.max(request.ht, request.ust, request.sentAfter), out);
    this.counters.prepares++;
    if (cohorts.length === 1) {
      // P11: a sole cohort commits at its own pt, with one durable write.
      this.commitAtOnce(request, pt, out);
    } else {
      const { sentAfter } = request;
      const record: PreparedRecord = {
        pt,
        home,
        attempt,
        sentAfter,
        epoch,
        cohorts,
        digest: fullDigest(digestWrites(writes, request.principal), identity),
        coordinator: from.node,
        writes,
        deps: request.deps,
        repeatable: isRepeatable(request) || undefined,
        avoid,
      };
      this.prepared.add({ txId, record, since: now });
      out.write({ kind: 'prepared', partition: this.partition, txId, record });
    }
    out.sendAfterPersist(from, { type: 'PrepareResp', txId, attempt, partition: this.partition, pt });
  }

  /** Log entry and outcome of a slice in place of its prepare; nothing if that has been done. */
  keepCommitted(tx: Committed, out: Out): void {
    if (tx.logged) return;
    const { txId, ct, attempt, digest, writes, deps, siblings, repeatable } = tx;
    const outcome = { status: 'committed' as const, ts: ct, attempt, digest };
    this.#writeCommitted({ txId, writes, deps, siblings, repeatable }, outcome, out);
    out.write({ kind: 'prepared', partition: this.partition, txId, record: null });
  }

  /**
   * A commit decision stands after any crash and any loss (D10): it is on disk before it is sent, also if it is not
   * applied yet.
   */
  #keepDecided(txId: TxId, out: Out): void {
    const tx = this.committed.get(txId);
    if (tx === undefined || tx.logged) return;
    this.keepCommitted(tx, out);
    this.committed.logged(tx);
  }

  #writeCommitted(tx: LoggedTx, outcome: OutcomeRecord, out: Out): void {
    out.write({ kind: 'log', partition: this.partition, ct: outcome.ts, tx });
    this.outcomes.write(tx.txId, outcome, out);
  }

  #commit(prepared: Prepared, ct: Timestamp): void {
    const { txId, record } = prepared;
    this.state.clock.observe(ct);
    this.#removePrepared(txId);
    this.counters.commits++;
    const { attempt, digest, writes, repeatable } = record;
    const deps = this.rules.stamp(record.deps, ct, this.state.region);
    const siblings = this.#siblings(record);
    this.committed.add({ txId, ct, attempt, digest, writes, deps, siblings, repeatable, logged: false });
  }

  /** The other partitions of a transaction that have their cohorts on this node; undefined without any. */
  #siblings(record: Pick<PreparedRecord, 'home' | 'avoid' | 'cohorts'>): readonly PartitionId[] | undefined {
    const here = this.suspects.partitionsOn(this.state.node, record);
    const others = here.filter((partition) => partition !== this.partition);
    return others.length === 0 ? undefined : others;
  }

  #removePrepared(txId: TxId): void {
    this.prepared.remove(txId);
    this.#resolutions.delete(txId);
    this.suspects.ended(txId);
  }

  #abort(prepared: Prepared, now: WallMs, out: Out): void {
    this.#removePrepared(prepared.txId);
    this.counters.aborts++;
    out.write({ kind: 'prepared', partition: this.partition, txId: prepared.txId, record: null });
    this.outcomes.tombstone(prepared.txId, prepared.record.attempt, now, out);
  }

  #refuse(request: PrepareReq, code: ErrorCode, detail: string, from: Address, out: Out): void {
    this.counters.refusals++;
    const { txId, attempt } = request.identity;
    out.sendAfterPersist(from, { type: 'PrepareRefused', txId, attempt, partition: this.partition, code, detail });
  }
}

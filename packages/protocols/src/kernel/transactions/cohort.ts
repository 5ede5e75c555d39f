/**
 * The cohort's half of two-phase commit: Algorithm 3 lines 9–19, with the rules of durability, retries and resolution around it
 * (D1–D5, P6, P8, P11, T1). The replica owns one and hands it the 2PC messages.
 */
import {
  type ErrorCode,
  HLC_TICKS_PER_MS,
  IsochronError,
  type LoggedTx,
  type OutcomeRecord,
  type PartitionId,
  type PreparedRecord,
  packWall,
  type Timestamp,
  type TxId,
  type WallMs,
} from '@isochron/core';
import type { Address, Effects, WriteSeq } from '../../machine.js';
import { Addresses, type NodeState } from '../node-state.js';
import { type Committed, CommittedQueue } from './committed-queue.js';
import { digestWrites } from './digest.js';
import type {
  AbortTx,
  CommitIdentity,
  CommitTx,
  OutcomeReq,
  PrepareReq,
  ResolveReq,
  ResolveResp,
  TransactionMessage,
} from './messages.js';
import { type Prepared, PreparedQueue } from './prepared-queue.js';
import { RecentOutcomes } from './recent-outcomes.js';
import { Resolution } from './resolution.js';
import type { SnapshotRules } from './snapshots.js';

type Out = Effects<TransactionMessage>;

/** What a cohort knows about a transaction. */
type Known =
  | { readonly state: 'prepared'; readonly prepared: Prepared }
  | { readonly state: 'committed'; readonly ct: Timestamp; readonly attempt: number; readonly digest: string }
  | { readonly state: 'aborted'; readonly ts: Timestamp; readonly attempt: number };

/** The slice's digest and the identity's, so that a retry with other writes and one with another list are told apart. */
const fullDigest = (slice: string, identity: Pick<CommitIdentity, 'home' | 'epoch' | 'cohorts'>): string =>
  `${slice}:${identity.home}:${identity.epoch}:${identity.cohorts.join(',')}`;
const sliceOf = (digest: string): string => digest.slice(0, digest.indexOf(':'));

export class Cohort {
  readonly prepared = new PreparedQueue();
  readonly committed = new CommittedQueue();
  readonly counters = { prepares: 0, repeats: 0, refusals: 0, commits: 0, aborts: 0, resolved: 0, ignored: 0 };
  readonly #resolutions = new Map<TxId, Resolution>();
  /** Prepared with a cohort that has lost its disk: they commit on nothing but another cohort's commit (D10). */
  readonly #frozen = new Set<TxId>();
  readonly #addresses: Addresses;
  #recent: RecentOutcomes;
  #forgottenUpTo: Timestamp;

  constructor(
    readonly partition: PartitionId,
    readonly state: NodeState,
    readonly rules: SnapshotRules,
    forgottenUpTo: Timestamp,
  ) {
    this.#addresses = new Addresses(state.topology);
    this.#forgottenUpTo = forgottenUpTo;
    this.#recent = new RecentOutcomes(state.clock.last);
  }

  /** Outcomes below are forgotten (D5). */
  get forgottenUpTo(): Timestamp {
    return this.#forgottenUpTo;
  }

  /** What the disk says was frozen, of what is still prepared (D10). */
  recoverFrozen(txIds: Iterable<TxId>): void {
    for (const txId of txIds) if (this.prepared.get(txId) !== undefined) this.#frozen.add(txId);
  }

  /** Starts anew after a lost disk: of what was born before, only what came back with the copy is known (D10). */
  join(forgottenUpTo: Timestamp): void {
    this.#forgottenUpTo = forgottenUpTo;
    this.#recent = new RecentOutcomes(this.state.membership.lostUpTo);
  }

  persisted(upTo: WriteSeq): void {
    this.#recent.persisted(upTo);
  }

  /** Alg. 3 lines 9–14. */
  onPrepareReq(request: PrepareReq, now: WallMs, from: Address, out: Out): void {
    const { identity } = request;
    if (!this.#isCohortOf(identity)) {
      this.counters.ignored++;
      return;
    }
    this.rules.heard({ ts: request.ust });
    const known = this.#known(identity.txId, request.birth);
    if (known === undefined && !this.state.membership.accepts) {
      this.counters.ignored++; // neither prepared nor refused: the commit goes on elsewhere, or is sent again
      return;
    }
    if (known !== undefined && this.#answerKnown(request, known, now, from, out)) return;
    const refusal = this.#refusal(request, now);
    if (refusal !== undefined) {
      this.#refuse(request, refusal.code, refusal.detail, from, out);
      if (refusal.durable) this.#tombstone(identity.txId, identity.attempt, now, out);
      return;
    }
    this.#prepare(request, now, from, out);
  }

  /** Alg. 3 lines 15–19. A commit message for an unknown transaction is counted and ignored (D2). */
  onCommitTx(message: CommitTx): void {
    const prepared = this.prepared.get(message.txId);
    const frozen = this.#frozen.has(message.txId);
    if (prepared?.record.attempt !== message.attempt || message.ct < prepared.record.pt || frozen) {
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

  /** D2: a cohort that never prepared the attempt writes a tombstone, and only then says *aborted*. */
  onResolveReq({ identity, birth, lost }: ResolveReq, now: WallMs, from: Address, out: Out): void {
    if (!this.#isCohortOf(identity)) {
      this.counters.ignored++;
      return;
    }
    const { txId, attempt } = identity;
    const known = this.#known(txId);
    const { partition } = this;
    const answer = (state: ResolveResp['state'], ts: Timestamp) => {
      const frozen = this.#frozen.has(txId);
      out.sendAfterPersist(from, { type: 'ResolveResp', txId, attempt, partition, state, ts, frozen });
    };
    if (known?.state === 'prepared' && known.prepared.record.attempt === attempt) {
      const { record } = known.prepared;
      const same = sameList(record, identity);
      if (lost && same) this.#freeze(txId, now, out);
      // With another list it will never be prepared here.
      answer(same ? 'prepared' : 'aborted', same ? record.pt : 0);
    } else if (known?.state === 'committed') {
      // An outcome that was found among copied versions has no digest (D10).
      this.#keepDecided(txId, out);
      const found = known.digest === '';
      const same = found || (known.attempt === attempt && known.digest.endsWith(fullDigest('', identity)));
      answer(same ? 'committed' : 'aborted', same ? known.ct : 0);
    } else if (known === undefined && birth < this.#unknownUpTo(from)) {
      // Never *aborted* about what was forgotten (D5), or what a lost disk may have known. A late prepare is refused without a tombstone.
      answer('lost', 0);
    } else {
      // Who asks about an attempt knows that those before it are aborted (D4): a prepare of one of them is given up, durably.
      if (known?.state === 'prepared' && known.prepared.record.attempt < attempt) this.#abort(known.prepared, now, out);
      if (known === undefined || attemptOf(known) < attempt) {
        this.#tombstone(txId, attempt, now, out);
      }
      answer('aborted', 0);
    }
  }

  /** Whoever is still prepared holds UST back below any commit: it would not be forgotten, and only a lost disk would not know it. */
  #unknownUpTo(from: Address): Timestamp {
    const { lostUpTo } = this.state.membership;
    return from.machine === 'coordinator' ? Math.max(lostUpTo, this.#forgottenUpTo) : lostUpTo;
  }

  onResolveResp(message: ResolveResp, now: WallMs, out: Out): void {
    const prepared = this.prepared.get(message.txId);
    const resolution = this.#resolutions.get(message.txId);
    if (prepared?.record.attempt !== message.attempt || resolution === undefined) return;
    if (message.state === 'aborted') this.#abort(prepared, now, out);
    else if (message.state === 'committed') this.#onCommitted(prepared, message.ts, now, out);
    else if (message.state === 'prepared') {
      resolution.prepared(message.partition, message.ts, message.frozen);
      const ct = this.#frozen.has(prepared.txId) ? undefined : resolution.decided();
      if (ct !== undefined) this.#commit(prepared, ct);
    } else if (message.state === 'lost') {
      resolution.lost(message.partition, now);
      this.#freeze(prepared.txId, now, out);
    }
    if (resolution.hopeless) this.#abortLost(prepared, now, out);
    if (this.prepared.get(message.txId) === undefined) this.counters.resolved++;
  }

  /** A commit timestamp below the own proposal: the disk has lost the proposal that was counted, and this one came after (D10). */
  #onCommitted(prepared: Prepared, ct: Timestamp, now: WallMs, out: Out): void {
    if (ct >= prepared.record.pt) {
      this.#commit(prepared, ct);
      return;
    }
    if (this.state.topology.partitions[this.partition]!.regions.length > 1) {
      const detail = `${prepared.txId} was committed below what partition ${this.partition} has proposed: its disk was rolled back.`;
      throw new IsochronError('REBUILD_NEEDED', detail);
    }
    // Nobody has a better copy.
    this.#abortLost(prepared, now, out);
  }

  /** @param vouched whether everybody has said that the disk is not an old one, which knows less than it did (D10) */
  onOutcomeReq(request: OutcomeReq, vouched: boolean, from: Address, out: Out): void {
    const known = this.#known(request.txId);
    const { lostUpTo } = this.state.membership;
    const { ref } = request;
    if (known?.state === 'committed') this.#keepDecided(request.txId, out);
    const state = known?.state ?? (lostUpTo > this.#forgottenUpTo ? 'lost' : 'unknown');
    const memory = Math.max(lostUpTo, this.#forgottenUpTo, vouched ? 0 : this.state.clock.last);
    const ts = known === undefined ? memory : timeOf(known);
    const attempt = known === undefined ? 0 : attemptOf(known);
    out.sendAfterPersist(from, { type: 'OutcomeResp', ref, partition: this.partition, state, ts, attempt });
  }

  /** Asks about prepares whose decision is overdue (D2). */
  resolveOverdue(now: WallMs, out: Out): void {
    for (const { txId, record, since } of this.prepared.values()) {
      if (since + this.state.settings.resolveAfterMs > now) continue;
      let resolution = this.#resolutions.get(txId);
      if (resolution === undefined) {
        resolution = new Resolution(txId, record.cohorts, { partition: this.partition, pt: record.pt }, now);
        if (this.#frozen.has(txId)) resolution.freeze(now);
        this.#resolutions.set(txId, resolution);
      }
      const identity = {
        txId,
        attempt: record.attempt,
        home: record.home,
        epoch: record.epoch,
        cohorts: record.cohorts,
      };
      for (const partition of resolution.ask(now)) {
        out.send(this.#addresses.cohort(partition, record.home), {
          type: 'ResolveReq',
          partition,
          identity,
          birth: record.birth,
          lost: resolution.frozen,
        });
      }
    }
  }

  /** D5: outcomes below `min(ust, now - outcomeRetention)` go. Moves in steps of a minute: each step is a scan. */
  forget(now: WallMs, out: Out): void {
    const { stable, settings, drift } = this.state;
    const kept = packWall(drift.stampable(now) - settings.outcomeRetentionMs);
    const upTo = Math.min(stable.aggregated, kept);
    if (upTo < this.#forgottenUpTo + 60_000 * HLC_TICKS_PER_MS) return;
    this.#forgottenUpTo = upTo;
    out.write({ kind: 'forget', partition: this.partition, upTo });
  }

  /** Whether a peer's identity makes sense here (D12): this replica is in the list, and the list can be asked, each of it once. */
  #isCohortOf({ home, cohorts }: CommitIdentity): boolean {
    const { topology, region } = this.state;
    return (
      topology.regions.includes(home) &&
      cohorts.every((partition, i) => partition < topology.partitions.length && partition > (cohorts[i - 1] ?? -1)) &&
      cohorts.includes(this.partition) &&
      topology.cohort(this.partition, home).region === region
    );
  }

  /** `birth`, where it is known, spares new transactions the look at the disk. */
  #known(txId: TxId, birth = 0): Known | undefined {
    const prepared = this.prepared.get(txId);
    if (prepared !== undefined) return { state: 'prepared', prepared };
    const committed = this.committed.get(txId);
    if (committed !== undefined) {
      return { state: 'committed', ct: committed.ct, attempt: committed.attempt, digest: committed.digest };
    }
    const outcome = this.#outcome(txId, birth);
    if (outcome?.status === 'committed') {
      return { state: 'committed', ct: outcome.ts, attempt: outcome.attempt, digest: outcome.digest ?? '' };
    }
    return outcome === undefined ? undefined : { state: 'aborted', ts: outcome.ts, attempt: outcome.attempt };
  }

  /** What is below `forgottenUpTo` is forgotten, wherever it may still lie (D5). */
  #outcome(txId: TxId, birth: Timestamp): OutcomeRecord | undefined {
    const recent = this.#recent.get(txId);
    if (recent === undefined && this.#recent.complete(birth)) return undefined;
    const outcome = recent ?? this.state.reader.outcome(this.partition, txId);
    return outcome === undefined || outcome.ts < this.#forgottenUpTo ? undefined : outcome;
  }

  /** D4: retries find what the first send did. Returns false where a newer attempt starts afresh. */
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
      // The coordinator of a later attempt holds a cohort's durable word that this one is aborted (D4).
      this.#abort(known.prepared, now, out);
      return false;
    }
    this.counters.repeats++;
    if (known.state === 'committed' && known.digest === '') {
      this.#sayCommitted(known, request, from, out);
    } else if (sliceOf(stored.digest) !== digestWrites(request.writes, request.principal)) {
      this.#refuse(request, 'TX_ID_REUSED', 'The transaction id was used for other writes; make a new one.', from, out);
    } else if (stored.attempt === attempt && !stored.digest.endsWith(fullDigest('', request.identity))) {
      this.#refuse(request, 'ATTEMPT_MISMATCH', `The transaction is known with cohorts ${stored.digest}.`, from, out);
    } else if (known.state === 'committed') {
      this.#sayCommitted(known, request, from, out);
    } else if (stored.attempt > attempt) {
      this.#refuse(request, 'ATTEMPT_MISMATCH', `Attempt ${stored.attempt} has begun.`, from, out);
    } else if (!this.#frozen.has(txId)) {
      const { pt } = known.prepared.record;
      out.sendAfterPersist(from, { type: 'PrepareResp', txId, attempt, partition: this.partition, pt });
    }
    return true;
  }

  #sayCommitted(
    { ct, attempt }: Extract<Known, { state: 'committed' }>,
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
      frozen: false,
    });
  }

  #refusal(request: PrepareReq, now: WallMs): { code: ErrorCode; detail: string; durable: boolean } | undefined {
    const { settings, clock } = this.state;
    if (request.birth < Math.max(this.#forgottenUpTo, this.state.membership.lostUpTo)) {
      const detail = 'The commit is older than the outcomes kept here; whether it happened cannot be known.';
      return { code: 'OUTCOME_FORGOTTEN', detail, durable: false };
    }
    const full = this.state.writable();
    if (full !== undefined) {
      return { code: full, detail: `${this.state.node} takes no writes now; nothing was written.`, durable: true };
    }
    if (this.prepared.bytes + this.committed.bytes > settings.maxPendingBytes) {
      const detail = 'Too many transactions wait for an undecided one on this replica; try again later.';
      return { code: 'OVERLOADED', detail, durable: true };
    }
    if (clock.problem !== undefined) {
      const detail = `${this.state.node} takes no writes now: ${clock.problem}.`;
      return { code: 'CLOCK_DRIFT', detail, durable: true };
    }
    if (Math.max(request.ht, request.ust, request.birth) > clock.latest(now, settings.maxClockDriftMs)) {
      return {
        code: 'TIMESTAMP_IN_FUTURE',
        detail: 'The session has seen a timestamp from the future.',
        durable: true,
      };
    }
    return undefined;
  }

  #prepare(request: PrepareReq, now: WallMs, from: Address, out: Out): void {
    const { identity, writes } = request;
    const { txId, attempt, home, epoch, cohorts } = identity;
    const pt = this.state.clock.propose(now, Math.max(request.ht, request.ust, request.birth), out);
    const digest = fullDigest(digestWrites(writes, request.principal), identity);
    this.counters.prepares++;
    if (cohorts.length === 1) {
      // P11: a sole cohort commits at its own pt, with one durable write.
      const deps = this.rules.stamp(request.deps, pt, this.state.region);
      this.committed.add({ txId, ct: pt, attempt, digest, writes, deps, logged: true });
      this.counters.commits++;
      this.#writeCommitted({ txId, writes, deps }, { status: 'committed', ts: pt, attempt, digest }, out);
    } else {
      const { birth } = request;
      const record: PreparedRecord = {
        pt,
        home,
        attempt,
        birth,
        epoch,
        cohorts,
        digest,
        coordinator: from.node,
        writes,
        deps: request.deps,
      };
      this.prepared.add({ txId, record, since: now });
      out.write({ kind: 'prepared', partition: this.partition, txId, record });
    }
    out.sendAfterPersist(from, { type: 'PrepareResp', txId, attempt, partition: this.partition, pt });
  }

  /** Log entry and outcome of a slice in place of its prepare; nothing where that has been done. */
  keepCommitted(tx: Committed, out: Out): void {
    if (tx.logged) return;
    const { txId, ct, attempt, digest, writes, deps } = tx;
    this.#writeCommitted({ txId, writes, deps }, { status: 'committed', ts: ct, attempt, digest }, out);
    out.write({ kind: 'prepared', partition: this.partition, txId, record: null });
  }

  /** A word of commit stands after any crash and any loss (D10): it is on the disk before it is said, also of what is not applied yet. */
  #keepDecided(txId: TxId, out: Out): void {
    const tx = this.committed.get(txId);
    if (tx === undefined || tx.logged) return;
    this.keepCommitted(tx, out);
    this.committed.logged(tx);
  }

  #writeCommitted(tx: LoggedTx, outcome: OutcomeRecord, out: Out): void {
    out.write({ kind: 'log', partition: this.partition, ct: outcome.ts, tx });
    this.#writeOutcome(tx.txId, outcome, out);
  }

  #writeOutcome(txId: TxId, record: OutcomeRecord, out: Out): void {
    const seq = out.write({ kind: 'outcome', partition: this.partition, txId, record });
    this.#recent.add(txId, record, seq);
  }

  #commit(prepared: Prepared, ct: Timestamp): void {
    const { txId, record } = prepared;
    this.state.clock.observe(ct);
    this.prepared.remove(txId);
    this.#resolutions.delete(txId);
    this.#frozen.delete(txId);
    this.counters.commits++;
    const { attempt, digest, writes } = record;
    const deps = this.rules.stamp(record.deps, ct, this.state.region);
    this.committed.add({ txId, ct, attempt, digest, writes, deps, logged: false });
  }

  #abort(prepared: Prepared, now: WallMs, out: Out): void {
    this.prepared.remove(prepared.txId);
    this.#resolutions.delete(prepared.txId);
    this.#frozen.delete(prepared.txId);
    this.counters.aborts++;
    out.write({ kind: 'prepared', partition: this.partition, txId: prepared.txId, record: null });
    this.#tombstone(prepared.txId, prepared.record.attempt, now, out);
  }

  /** Frozen is frozen for good: what was said so must hold after a crash too. */
  #freeze(txId: TxId, now: WallMs, out: Out): void {
    this.#resolutions.get(txId)?.freeze(now);
    if (this.#frozen.has(txId)) return;
    this.#frozen.add(txId);
    const value = Object.fromEntries([...this.#frozen].map((id) => [id, 1]));
    out.write({ kind: 'meta', name: `frozen/${this.partition}`, value });
  }

  /** D10: a cohort has lost its memory, and all others are frozen. */
  #abortLost(prepared: Prepared, now: WallMs, out: Out): void {
    if (this.prepared.get(prepared.txId) === undefined) return;
    this.state.membership.report(prepared.txId);
    this.#abort(prepared, now, out);
  }

  #tombstone(txId: TxId, attempt: number, now: WallMs, out: Out): void {
    const ts = this.state.clock.propose(now, 0, out);
    const record: OutcomeRecord = { status: 'aborted', ts, attempt, digest: null };
    this.#writeOutcome(txId, record, out);
  }

  #refuse(request: PrepareReq, code: ErrorCode, detail: string, from: Address, out: Out): void {
    this.counters.refusals++;
    const { txId, attempt } = request.identity;
    out.sendAfterPersist(from, { type: 'PrepareRefused', txId, attempt, partition: this.partition, code, detail });
  }
}

const timeOf = (known: Known): Timestamp =>
  known.state === 'prepared' ? known.prepared.record.pt : known.state === 'committed' ? known.ct : known.ts;

const attemptOf = (known: Known): number =>
  known.state === 'prepared' ? known.prepared.record.attempt : known.attempt;

const sameList = (record: PreparedRecord, identity: CommitIdentity): boolean =>
  record.digest.endsWith(fullDigest('', identity));

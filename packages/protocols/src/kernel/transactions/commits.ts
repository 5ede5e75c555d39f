/**
 * The coordinator's commits (Algorithm 2 lines 17–32): two-phase commit over the cohorts that the cluster file and the
 * home fix (D4), answered as soon as every prepare is durable (D3). The coordinator keeps no log (D2): if it loses its
 * state, the cohorts finish.
 */
import {
  counterIn,
  type Deps,
  IsochronError,
  type Need,
  type NodeId,
  type PartitionId,
  RecentMap,
  type RegionId,
  type Timestamp,
  TransientMap,
  type TxId,
  type WallMs,
} from '@isochron/core';
import type { Address, Effects, WriteSeq } from '../../machine.js';
import type { Addresses, NodeState } from '../node-state.js';
import {
  attemptsOf,
  checkAttempts,
  isKeyed,
  neverCommits,
  placeOf,
  refuseHigherMap,
  waitsForFence,
} from './attempts.js';
import { digestWrites } from './digest.js';
import type {
  CommitIdentity,
  CommitReq,
  PrepareRefused,
  PrepareReq,
  PrepareResp,
  ResolveResp,
  TransactionMessage,
} from './messages.js';
import type { OnePhase } from './one-phase.js';
import { DURABLE_REFUSALS, OTHER_TRANSACTION, unremembered } from './refusals.js';
import type { Snapshot, SnapshotRules } from './snapshots.js';
import type { TransactionTable } from './transaction-table.js';
import { Votes } from './two-phase-commit.js';
import { slicesOf } from './write-counters.js';

type Out = Effects<TransactionMessage>;

/** An unanswered prepare is sent again after this time; a cohort that has it repeats its answer. */
const RESEND_MS = 500;

/** How many ids a coordinator keeps, to notice their reuse. */
const REMEMBERED = 10_000;

const DEFERRED = 'A cohort is suspended: the outcome of this attempt waits for its return, or for the next attempt.';
const COHORT_LEFT = {
  code: 'TRANSACTION_ABORTED',
  detail: 'A node of the attempt has left the cluster; the next attempt does without it.',
} as const;

/** A commit that a cohort has; `counted`: as its counter shows (OF2), by any attempt. */
interface Found extends Pick<ResolveResp, 'attempt' | 'counted'> {
  readonly ct: Timestamp;
  readonly since: WallMs;
}

interface PendingCommit {
  readonly identity: CommitIdentity;
  readonly prepares: ReadonlyMap<PartitionId, PrepareReq>;
  readonly votes: Votes;
  readonly sentAfter: Timestamp;
  /** The dependencies of its versions with this home. */
  readonly depsAt: (home: RegionId) => Deps | undefined;
  /** Every attempt so far. */
  readonly attempts: readonly CommitIdentity[];
  readonly until: WallMs;
  /** The client, and clients that sent the same commit again. */
  readonly requesters: { from: Address; ref: number }[];
  /** A cohort has committed. The others have a short time to answer, too: they may know the id with other writes. */
  committed: Found | null;
  /** The writes and the principal. */
  readonly digest: string | undefined;
  /**
   * The earlier attempts. Before this one may prepare, and before a question about the next of them, the durable abort
   * of each must be known: a question about an attempt implies that earlier ones are aborted (D4).
   */
  readonly previous: CommitIdentity[];
  /** Cohorts of the first of them that have lost their disks (D10). */
  readonly lost: Set<PartitionId>;
  /** Attempts of earlier maps may have an effect that the request does not name: not before the fence (M9). */
  readonly isFenced: boolean;
  sentAt: WallMs;
  /** It has committed in one phase (P11), and is answered when that is on disk. */
  atOnce?: { readonly ct: Timestamp; readonly seq: WriteSeq };
}

export class Commits {
  readonly counters = {
    commits: 0,
    repeatedCommits: 0,
    committed: 0,
    refusedCommits: 0,
    pendingOutcomes: 0,
    outsiders: 0,
  };
  readonly #pending = new TransientMap<TxId, PendingCommit>();
  /** Those that have committed in one phase, in the order of their writes. */
  readonly #atOnce: PendingCommit[] = [];
  /** Digests of the latest commits, by id. */
  readonly #recent = new RecentMap<TxId, string>(REMEMBERED);
  /**
   * Up to which number the attempts of a commit that was given up are known to be aborted: a repetition of the commit
   * does not ask about them again.
   */
  #settled = new RecentMap<TxId, number>(REMEMBERED);

  constructor(
    readonly state: NodeState,
    readonly addresses: Addresses,
    readonly table: TransactionTable,
    readonly rules: SnapshotRules,
    readonly onePhase: OnePhase,
  ) {}

  get size(): number {
    return this.#pending.size;
  }

  /** Alg. 2 lines 17–25. */
  onCommitReq(request: CommitReq, now: WallMs, from: Address, out: Out): void {
    const { ref, txId, writes } = request;
    const snapshot = this.#context(request, now);
    this.table.end(txId, 'committed');
    if (writes.length === 0) {
      const { ts, deps } = snapshot;
      out.send(from, { type: 'CommitResp', ref, txId, ct: ts, deps });
      return;
    }
    const digest = request.digests === undefined ? digestWrites(writes, request.principal) : undefined;
    const running = this.#pending.get(txId);
    this.#refuseReuse(running?.digest ?? this.#recent.get(txId), digest);
    if (running !== undefined && running.attempts.length >= request.attemptRegions.length) {
      this.counters.repeatedCommits++;
      running.requesters.push({ from, ref });
      return;
    }
    const requesters = [...(running?.requesters ?? []), { from, ref }];
    const pending = this.#begin(request, digest, snapshot, now, requesters);
    this.counters.commits++;
    this.#pending.set(txId, pending);
    if (!this.#commitAtOnce(pending, now, out)) this.#send(pending, now, out);
  }

  /** Writes of one-phase commits up to here are on disk (D1, D3). */
  persisted(upTo: WriteSeq, out: Out): void {
    let durable = 0;
    while (durable < this.#atOnce.length && this.#atOnce[durable]!.atOnce!.seq <= upTo) durable++;
    for (const pending of this.#atOnce.splice(0, durable)) {
      // It may have been given up, or a later attempt of it may have begun.
      if (this.#pending.get(pending.identity.txId) === pending) this.#decide(pending, pending.atOnce!.ct, out);
    }
  }

  /** Alg. 2 lines 26–32. */
  onPrepareResp(message: PrepareResp, from: Address, out: Out): void {
    const { partition, pt } = message;
    const pending = this.#answered(message, from);
    if (pending === undefined) return;
    pending.votes.prepared(partition, pt);
    const ct = pending.votes.decided();
    if (ct !== undefined) this.#decide(pending, pending.committed?.ct ?? ct, out);
  }

  onPrepareRefused(message: PrepareRefused, from: Address, out: Out): void {
    const { txId, attempt, code, detail, partition } = message;
    const pending = this.#answered(message, from);
    if (pending === undefined) return;
    // Another cohort's answer that it has committed stands, unless this is another transaction.
    if (pending.committed !== null && !OTHER_TRANSACTION.has(code)) return;
    this.#pending.delete(txId);
    this.counters.refusedCommits++;
    // The others may be prepared. Only a written refusal aborts them; otherwise they ask one another (D2).
    const type = DURABLE_REFUSALS.has(code) ? 'AbortTx' : 'ResolveNow';
    for (const other of pending.identity.cohorts) {
      if (other === partition) continue;
      out.send(this.addresses.cohort(other, pending.identity), { type, partition: other, txId, attempt });
    }
    this.#answer(pending, (ref) => ({ type: 'Refused', ref, code, detail }), out);
  }

  /** A cohort has committed it already, or answers about an earlier attempt (D4). */
  onResolveResp(message: ResolveResp, now: WallMs, from: Address, out: Out): void {
    const { txId, attempt, partition, state, ts, counted } = message;
    const pending = this.#pending.get(txId);
    if (pending === undefined) return;
    const { identity, previous } = pending;
    // About another attempt than the present one: also a cohort of the present one may have committed it.
    const named = pending.attempts.filter((one) => one.attempt === attempt || one === identity);
    if (!this.#isCohort(message, from, named)) return;
    if (state === 'committed') {
      pending.committed ??= { ct: ts, attempt, since: now, counted };
      const isDecided = attempt !== identity.attempt || counted !== undefined;
      if (!isDecided) pending.votes.prepared(partition, ts);
      if (isDecided || pending.votes.waiting.size === 0) this.#decide(pending, ts, out);
    } else if (previous[0]?.attempt !== attempt || !this.#isCohort(message, from, [previous[0]])) {
      return;
    } else if (state === 'aborted' || state === 'deferred') {
      previous.shift();
      pending.lost.clear();
      this.#settled.set(txId, attempt);
      this.#send(pending, now, out);
    } else if (state === 'lost') this.#lost(pending, partition, now, out);
  }

  /** The commit whose prepare a cohort answers. */
  #answered(message: PrepareResp | PrepareRefused, from: Address): PendingCommit | undefined {
    const pending = this.#pending.get(message.txId);
    if (pending?.identity.attempt !== message.attempt) return undefined;
    return this.#isCohort(message, from, [pending.identity]) ? pending : undefined;
  }

  /** Only the cohorts of its attempts decide a commit (D12). */
  #isCohort(
    { type, txId, partition }: PrepareResp | PrepareRefused | ResolveResp,
    from: Address,
    attempts: readonly CommitIdentity[],
  ): boolean {
    if (attempts.some((attempt) => this.addresses.isCohort(from.node, partition, attempt))) return true;
    this.counters.outsiders++;
    this.state.outsider?.({ type, from: from.node, txId, partition });
    return false;
  }

  /** If every cohort of an earlier attempt has lost its disk, the outcome of the attempt is lost for good (D10). */
  #lost(pending: PendingCommit, partition: PartitionId, now: WallMs, out: Out): void {
    const { lost, previous, identity } = pending;
    lost.add(partition);
    if (!previous[0]!.cohorts.every((cohort) => lost.has(cohort))) return;
    this.#pending.delete(identity.txId);
    const refusal = unremembered(pending.sentAfter, now, this.state);
    this.#answer(pending, (ref) => ({ type: 'Refused', ref, ...refusal }), out);
  }

  /**
   * A node has lost its disk (D10): the votes of its cohorts, and their records of earlier attempts, are gone.
   */
  dropVotes(node: NodeId): void {
    this.#settled = new RecentMap(REMEMBERED);
    for (const pending of this.#pending.values()) {
      const { identity, votes, attempts, previous } = pending;
      for (const partition of identity.cohorts)
        if (this.addresses.cohort(partition, identity).node === node) votes.drop(partition);
      previous.splice(0, previous.length, ...attempts.slice(0, -1));
    }
  }

  /**
   * A map is in force. Attempts of an earlier map with a cohort on a node that has left never commit: that node has
   * promised to prepare nothing more in their map, and had decided everything it had prepared. Those with a cohort on a
   * suspended node are deferred (M7): their senders go on with an attempt of this map.
   */
  adopted(out: Out): void {
    for (const [txId, pending] of this.#pending) {
      const { identity, previous, committed } = pending;
      if (committed === null && [identity, ...previous].some((one) => this.#isDeferred(one))) {
        this.#pending.delete(txId);
        this.counters.pendingOutcomes++;
        this.#answer(pending, (ref) => ({ type: 'Refused', ref, code: 'OUTCOME_PENDING', detail: DEFERRED }), out);
        continue;
      }
      if (previous.length > 0 || committed !== null || pending.atOnce !== undefined) continue;
      const isGone = (p: PartitionId) => this.addresses.isGone(this.addresses.cohort(p, identity).node, identity);
      if (!identity.cohorts.some((partition) => isGone(partition))) continue;
      this.#pending.delete(txId);
      this.counters.refusedCommits++;
      const { attempt } = identity;
      for (const partition of identity.cohorts)
        if (!isGone(partition))
          out.send(this.addresses.cohort(partition, identity), { type: 'AbortTx', partition, txId, attempt });
      this.#answer(pending, (ref) => ({ type: 'Refused', ref, ...COHORT_LEFT }), out);
    }
  }

  /** A link came up: messages that were lost with it are sent again. */
  reachable(node: NodeId, now: WallMs, out: Out): void {
    for (const pending of this.#pending.values()) {
      if (this.#waitsFor(pending).some((to) => to.node === node)) this.#send(pending, now, out);
    }
  }

  sweep(now: WallMs, out: Out): void {
    for (const [txId, pending] of this.#pending) {
      const { committed } = pending;
      if (committed !== null && now - committed.since > RESEND_MS) this.#decide(pending, committed.ct, out);
      else if (pending.until <= now) {
        this.#pending.delete(txId);
        this.counters.pendingOutcomes++;
        const detail = 'A cohort did not answer in time; send the same commit again to learn its outcome.';
        this.#answer(pending, (ref) => ({ type: 'Refused', ref, code: 'OUTCOME_PENDING', detail }), out);
      } else if (pending.atOnce === undefined && now - pending.sentAt > RESEND_MS) this.#send(pending, now, out);
    }
  }

  /** The snapshot: of the open transaction, or the request's own (one-shot writes and retries). */
  #context(request: CommitReq, now: WallMs): Snapshot {
    const { txId, snapshot, deps, hwt, sentAfter, maps } = request;
    const latest = this.state.clock.latest(now, this.state.settings.maxClockDriftMs / 2);
    const asked = snapshot === null ? undefined : { ts: snapshot, deps };
    if (Math.max(asked === undefined ? 0 : this.rules.newest(asked), hwt, sentAfter) > latest) {
      throw new IsochronError(
        'TIMESTAMP_IN_FUTURE',
        'The session has seen a timestamp from the future; start a new session.',
      );
    }
    checkAttempts(request, this.state.topology);
    refuseHigherMap(maps, this.state.topology);
    if (asked !== undefined) return asked;
    const open = this.table.snapshot(txId);
    if (open !== undefined) return open;
    const ended = this.table.ended(txId);
    if (ended?.why === 'committed') return ended.snapshot; // the same commit again: its cohorts know the outcome
    throw this.table.whyNotOpen(txId);
  }

  /**
   * P8 at the coordinator: cohorts know an id only if it wrote there. The coordinator notices reuse for writes
   * elsewhere, as long as it keeps the id.
   */
  #refuseReuse(before: string | undefined, digest: string | undefined): void {
    if (before === undefined || digest === undefined || before === digest) return;
    throw new IsochronError('TX_ID_REUSED', 'The transaction id was used for other writes; make a new one.');
  }

  #begin(
    request: CommitReq,
    digest: string | undefined,
    snapshot: Snapshot,
    now: WallMs,
    requesters: PendingCommit['requesters'],
  ): PendingCommit {
    const { txId, hwt, sentAfter, principal, digests, first } = request;
    const slices = slicesOf(request, this.state.topology);
    const cohorts = [...slices.keys()].sort((a, b) => a - b);
    const attempts = attemptsOf(request, cohorts, this.rules, this.state);
    const identity = attempts.at(-1)!;
    const behind = this.#behind(request);
    // Of a commit that is sent again, a write before may have moved above the last write that the session had (M8).
    const ht = Math.max(this.rules.newest(snapshot), hwt, ...(behind ?? []).map(({ ct }) => ct ?? 0));
    const depsAt = (home: RegionId) => this.rules.depsOf(snapshot, { home, hwt });
    const deps = depsAt(identity.home);
    const prepares = new Map<PartitionId, PrepareReq>();
    for (const [partition, slice] of slices) {
      prepares.set(partition, {
        type: 'PrepareReq',
        partition,
        identity,
        ust: snapshot.ts,
        ht,
        sentAfter,
        principal,
        writes: slice,
        deps,
        behind,
        digest: digests?.find((one) => one.partition === partition)?.digest,
        first,
      });
    }
    const settled = this.#settled.get(txId) ?? -1;
    // Behind the fence, all replicas have what attempts of a keyed request have done in earlier maps.
    const isOver = (one: CommitIdentity) => (isKeyed(request) ? one.map < identity.map : this.#isDeferred(one));
    const earlier = attempts.slice(0, -1).filter((one) => one.attempt > settled && !isOver(one));
    return {
      identity,
      prepares,
      votes: new Votes(cohorts),
      sentAfter,
      depsAt,
      attempts,
      digest,
      until: now + this.state.settings.commitTimeoutMs,
      requesters,
      committed: null,
      lost: new Set(),
      isFenced: waitsForFence(request, identity.map, this.state.maps),
      previous: digests === undefined ? earlier : [],
      sentAt: now,
    };
  }

  /** What unstable writes of the session need: any node, if all that is known of a write is its timestamp (M4). */
  #behind({ hwt, behind = [] }: CommitReq): readonly Need[] | undefined {
    const { stableSnapshots, stable } = this.state;
    if (!stableSnapshots) return undefined;
    const unstable = behind.filter(({ ct }) => ct! > stable.value);
    if (hwt > stable.value && unstable.every(({ ct }) => ct! < hwt)) return [...unstable, { ct: hwt }];
    return unstable.length > 0 ? unstable : undefined;
  }

  /** P11: if all cohorts are here. Questions about earlier attempts come first (D4). */
  #commitAtOnce(pending: PendingCommit, now: WallMs, out: Out): boolean {
    if (pending.previous.length > 0 || !this.#mayBegin(pending)) return false;
    const ct = this.onePhase.commit(pending.prepares, now, out);
    if (ct === undefined) return false;
    pending.atOnce = { ct, seq: out.lastWrite() };
    this.#atOnce.push(pending);
    return true;
  }

  /** M9 */
  #mayBegin({ isFenced }: PendingCommit): boolean {
    return !isFenced || this.state.stable.isFenced;
  }

  /** Sends, or sends again, the requests whose answers the commit waits for. */
  #send(pending: PendingCommit, now: WallMs, out: Out): void {
    if (!this.#mayBegin(pending)) return;
    pending.sentAt = now;
    const { previous, identity, votes, prepares } = pending;
    const [before] = previous;
    if (before !== undefined) {
      for (const partition of before.cohorts) {
        out.send(this.addresses.cohort(partition, before), {
          type: 'ResolveReq',
          partition,
          identity: before,
          sentAfter: pending.sentAfter,
          counter: counterIn(prepares.get(partition)!.writes, partition),
        });
      }
      return;
    }
    if (neverCommits(identity, this.state.maps)) return;
    for (const partition of votes.waiting)
      out.send(this.addresses.cohort(partition, identity), prepares.get(partition)!);
  }

  #waitsFor({ previous, identity, votes, atOnce }: PendingCommit): Address[] {
    if (atOnce !== undefined) return [];
    const [before] = previous;
    if (before !== undefined) return before.cohorts.map((p) => this.addresses.cohort(p, before));
    return [...votes.waiting].map((p) => this.addresses.cohort(p, identity));
  }

  /** D3: the client is answered first. If another attempt has committed, the prepares of this one abort. */
  #decide(pending: PendingCommit, ct: Timestamp, out: Out): void {
    const { identity, committed } = pending;
    const { txId } = identity;
    this.#pending.delete(txId);
    if (pending.digest !== undefined) this.#recent.set(txId, pending.digest);
    this.counters.committed++;
    // An attempt that is known only from another client's retry may have any home: then only the timestamp identifies
    // the commit. A cohort of the present attempt knows it, so no map up to that of the attempt has deferred it.
    const decided = committed?.attempt ?? identity.attempt;
    const attempt = pending.attempts.find((one) => one.attempt === decided);
    const deps = attempt === undefined ? undefined : this.rules.stamp(pending.depsAt(attempt.home), ct, attempt.home);
    const counted = committed?.counted;
    const isPlaced = attempt !== undefined && counted === undefined;
    const placed = isPlaced ? placeOf(attempt, this.addresses, this.state) : { map: attempt?.map ?? identity.map };
    const upTo = counted === 'above' ? true : undefined;
    this.#answer(pending, (ref) => ({ type: 'CommitResp', ref, txId, ct, deps, ...placed, upTo }), out);
    if (pending.atOnce !== undefined || counted !== undefined) return;
    if (committed === null || committed.attempt === identity.attempt) this.#sendDecision(identity, ct, out);
  }

  /** Whether an earlier attempt is decided no more: it never commits, or its cohorts know that it is deferred (M7). */
  #isDeferred(identity: CommitIdentity): boolean {
    const nodes = identity.cohorts.map((partition) => this.addresses.cohort(partition, identity).node);
    return neverCommits(identity, this.state.maps) || this.state.maps.suspendedSince(identity.map, nodes);
  }

  /** Alg. 2 lines 28–30; a sole cohort has committed by itself (P11). */
  #sendDecision(identity: CommitIdentity, ct: Timestamp, out: Out): void {
    const { txId, attempt, cohorts } = identity;
    if (cohorts.length === 1) return;
    for (const partition of cohorts) {
      out.send(this.addresses.cohort(partition, identity), { type: 'CommitTx', partition, txId, attempt, ct });
    }
  }

  #answer(pending: PendingCommit, message: (ref: number) => TransactionMessage, out: Out): void {
    for (const { from, ref } of pending.requesters) out.send(from, message(ref));
  }
}

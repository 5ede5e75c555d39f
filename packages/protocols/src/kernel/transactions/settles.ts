/**
 * Ends counted commits whose outcome is not known to their client (OF3): by questions about each attempt, in order, as
 * before a later attempt (D4). A cohort answers with the outcome, or writes the tombstone first. The question about an
 * attempt follows the abort of all earlier attempts: the abort of the last attempt is the abort of the transaction.
 */
import {
  counterKey,
  IsochronError,
  isCounterKey,
  type NodeId,
  type PartitionId,
  TransientMap,
  type TxId,
  type WallMs,
} from '@isochron/core';
import type { Address, Effects } from '../../machine.js';
import type { Addresses, NodeState } from '../node-state.js';
import { attemptsOf, checkAttempts, placeOf, refuseHigherMap } from './attempts.js';
import type { CommitIdentity, ResolveReq, ResolveResp, SettleCommitReq, TransactionMessage } from './messages.js';
import { unremembered } from './refusals.js';
import type { SnapshotRules } from './snapshots.js';

type Out = Effects<TransactionMessage>;

/** An unanswered question is sent again after this time. */
const RESEND_MS = 500;

interface PendingSettle {
  readonly request: SettleCommitReq;
  readonly attempts: readonly CommitIdentity[];
  /** The attempts that are not known to be aborted. */
  open: readonly CommitIdentity[];
  /** Cohorts of the first open attempt that cannot know. */
  readonly unknown: Set<PartitionId>;
  readonly until: WallMs;
  readonly requesters: { readonly from: Address; readonly ref: number }[];
  sentAt: WallMs;
}

export class Settles {
  readonly counters = { settles: 0 };
  readonly #pending = new TransientMap<TxId, PendingSettle>();

  constructor(
    readonly state: NodeState,
    readonly addresses: Addresses,
    readonly rules: Pick<SnapshotRules, 'cohortsAtHome'>,
  ) {}

  get size(): number {
    return this.#pending.size;
  }

  onSettleCommitReq(request: SettleCommitReq, now: WallMs, from: Address, out: Out): void {
    const { txId, ref, keys } = request;
    const running = this.#pending.get(txId);
    if (running !== undefined && running.attempts.length >= request.attemptRegions.length) {
      running.requesters.push({ from, ref });
      return;
    }
    const { topology, settings } = this.state;
    checkAttempts(request, topology);
    refuseHigherMap(request.maps, topology);
    if (keys.length === 0 || keys.some(isCounterKey))
      throw new IsochronError('INVALID_REQUEST', 'A commit that is settled has the keys of its writes.');
    const cohorts = [...new Set(keys.map((key) => topology.partitionOf(key)))].sort((a, b) => a - b);
    const attempts = attemptsOf({ ...request, snapshot: null }, cohorts, this.rules, this.state);
    const pending: PendingSettle = {
      request,
      attempts,
      open: attempts,
      unknown: new Set(),
      until: now + settings.commitTimeoutMs,
      requesters: [...(running?.requesters ?? []), { from, ref }],
      sentAt: now,
    };
    this.counters.settles++;
    this.#pending.set(txId, pending);
    this.#send(pending, now, out);
  }

  /** Only the cohorts of the attempt that was asked about decide (D12). */
  onResolveResp(message: ResolveResp, now: WallMs, from: Address, out: Out): void {
    const { txId, attempt, partition, state, ts, counted } = message;
    const pending = this.#pending.get(txId);
    const asked = pending?.open[0];
    if (pending === undefined || asked?.attempt !== attempt) return;
    if (!this.addresses.isCohort(from.node, partition, asked)) return;
    if (state === 'committed') {
      const place = counted === undefined ? placeOf(asked, this.addresses, this.state) : { map: asked.map };
      const upTo = counted === 'above' ? true : undefined;
      this.#end(pending, (ref) => ({ type: 'SettleCommitResp', ref, txId, ct: ts, ...place, upTo }), out);
    } else if (state === 'aborted') this.#aborted(pending, now, out);
    else if (state === 'deferred') this.#refuse(pending, DEFERRED, out);
    else if (state === 'lost') {
      pending.unknown.add(partition);
      if (asked.cohorts.every((cohort) => pending.unknown.has(cohort)))
        this.#refuse(pending, unremembered(pending.request.sentAfter, now, this.state), out);
    }
  }

  #aborted(pending: PendingSettle, now: WallMs, out: Out): void {
    const { txId } = pending.request;
    pending.open = pending.open.slice(1);
    pending.unknown.clear();
    if (pending.open.length > 0) this.#send(pending, now, out);
    else this.#end(pending, (ref) => ({ type: 'SettleCommitResp', ref, txId, ct: null }), out);
  }

  /** A node has lost its disk (D10), and with it tombstones that were counted. */
  dropVotes(node: NodeId): void {
    for (const pending of this.#pending.values()) {
      const isHere = (one: CommitIdentity) => one.cohorts.some((p) => this.addresses.cohort(p, one).node === node);
      if (!pending.attempts.some(isHere)) continue;
      pending.open = pending.attempts;
      pending.unknown.clear();
    }
  }

  /** A link came up: messages that were lost with it are sent again. */
  reachable(node: NodeId, now: WallMs, out: Out): void {
    for (const pending of this.#pending.values()) {
      const [asked] = pending.open;
      if (asked?.cohorts.some((partition) => this.addresses.cohort(partition, asked).node === node))
        this.#send(pending, now, out);
    }
  }

  sweep(now: WallMs, out: Out): void {
    for (const pending of this.#pending.values()) {
      if (pending.until <= now) this.#refuse(pending, PENDING, out);
      else if (now - pending.sentAt > RESEND_MS) this.#send(pending, now, out);
    }
  }

  #send(pending: PendingSettle, now: WallMs, out: Out): void {
    pending.sentAt = now;
    const { request, open } = pending;
    const { sentAfter, principal, queue } = request;
    const identity = open[0]!;
    for (const partition of identity.cohorts) {
      const counter = { key: counterKey(partition, principal, queue.id), n: queue.n };
      const question: ResolveReq = { type: 'ResolveReq', partition, identity, sentAfter, counter };
      out.send(this.addresses.cohort(partition, identity), question);
    }
  }

  #refuse(pending: PendingSettle, refusal: ReturnType<typeof unremembered>, out: Out): void {
    this.#end(pending, (ref) => ({ type: 'Refused', ref, ...refusal }), out);
  }

  #end(pending: PendingSettle, answer: (ref: number) => TransactionMessage, out: Out): void {
    this.#pending.delete(pending.request.txId);
    for (const { from, ref } of pending.requesters) out.send(from, answer(ref));
  }
}

const PENDING = {
  code: 'OUTCOME_PENDING',
  detail: 'A cohort did not answer in time; settle the transaction again to learn its outcome.',
} as const;
const DEFERRED = {
  code: 'OUTCOME_PENDING',
  detail: 'A map has deferred the transaction: it is committed again, or its session commits it again.',
} as const;

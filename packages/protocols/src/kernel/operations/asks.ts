/**
 * The questions of a coordinator to replicas. Each is repeated until it is answered, or too late. Every question may be
 * repeated: a PUT has an id, and the others change nothing.
 */
import { type ErrorCode, type NodeId, TransientMap, type WallMs } from '@isochron/core';
import type { Address, Effects } from '../../machine.js';
import type { NodeClock } from '../node-clock.js';
import type { Ref } from '../replication/messages.js';
import type { OperationMessage } from './messages.js';

type Out = Effects<OperationMessage>;

/** Waits for the end of an operation: a client, by its own reference. */
export interface Requester {
  readonly from: Address;
  readonly ref: Ref;
}

/** The answers, by their type. */
export type AnswerType =
  | 'GetSliceResp'
  | 'PutSliceResp'
  | 'SettleResp'
  | 'SnapResp'
  | 'RotSliceResp'
  | 'DepCheckResp'
  | 'ReadersCheckResp';
export type AnswerOf<T extends AnswerType> = Extract<OperationMessage, { type: T }>;

export interface Ask<T extends AnswerType> {
  readonly requester: Requester;
  readonly to: Address;
  readonly request: (ref: Ref) => OperationMessage;
  readonly answer: T;
  readonly taken: (answer: AnswerOf<T>, now: WallMs, out: Out) => void;
  /**
   * The replica refuses. By default the client is refused with the same code; true if the handler has done otherwise.
   */
  readonly refused?: (code: ErrorCode, now: WallMs, out: Out) => boolean;
  readonly until: WallMs;
  /** The client's refusal when time is up. */
  readonly late: { readonly code: ErrorCode; readonly detail: string };
  /** Takes an answer that arrives after `until`. Without it, such an answer is ignored. */
  readonly takenLate?: (answer: AnswerOf<T>) => void;
}

/** How long a late answer is accepted. */
const LATE_ANSWER_MS = 60_000;

type PendingAsk = Omit<Ask<AnswerType>, 'taken' | 'takenLate'> & {
  readonly taken: (answer: never, now: WallMs, out: Out) => void;
  readonly takenLate?: (answer: never) => void;
  sentAt: WallMs;
  /** The requester was refused; only a late answer is still accepted. */
  expired: boolean;
};

export class Asks {
  readonly counters = { asked: 0, askedAgain: 0, unanswered: 0 };
  readonly #pending = new TransientMap<Ref, PendingAsk>();
  /** Begins at the clock: responses to a previous incarnation are ignored. 0 before the first question. */
  #nextRef: Ref = 0;

  constructor(
    readonly clock: NodeClock,
    readonly retryMs: number,
  ) {}

  /** Questions that a requester waits for. Expired ones, whose late answers are accepted for a minute, do not count. */
  get size(): number {
    let size = 0;
    for (const { expired } of this.#pending.values()) if (!expired) size++;
    return size;
  }

  ask<T extends AnswerType>(ask: Ask<T>, now: WallMs, out: Out): void {
    const ref = this.#nextRef === 0 ? this.clock.last : this.#nextRef;
    this.#nextRef = ref + 1;
    this.counters.asked++;
    this.#pending.set(ref, { sentAt: now, expired: false, ...ask });
    out.send(ask.to, ask.request(ref));
  }

  /** Takes an answer. Late ones, and those from other nodes, are ignored. */
  take(answer: AnswerOf<AnswerType>, from: Address, now: WallMs, out: Out): void {
    const pending = this.#of(answer.ref, from);
    if (pending?.answer !== answer.type) return;
    this.#pending.delete(answer.ref);
    if (pending.expired) pending.takenLate?.(answer as never);
    else pending.taken(answer as never, now, out);
  }

  refuse(ref: Ref, code: ErrorCode, detail: string, from: Address, now: WallMs, out: Out): void {
    const pending = this.#of(ref, from);
    if (pending === undefined) return;
    this.#pending.delete(ref);
    if (pending.expired || pending.refused?.(code, now, out)) return;
    this.end(pending.requester);
    this.#refuseRequester(pending.requester, code, detail, out);
  }

  /** Repeats the questions to a node that was unreachable. */
  reachable(node: NodeId, now: WallMs, out: Out): void {
    for (const [ref, pending] of this.#pending)
      if (pending.to.node === node && !pending.expired) this.#again(ref, pending, now, out);
  }

  sweep(now: WallMs, out: Out): void {
    for (const [ref, pending] of this.#pending) {
      if (pending.expired) {
        if (now > pending.until + LATE_ANSWER_MS) this.#pending.delete(ref);
      } else if (now > pending.until) {
        this.counters.unanswered++;
        this.#expire(pending.requester);
        this.#refuseRequester(pending.requester, pending.late.code, pending.late.detail, out);
      } else if (now - pending.sentAt > this.retryMs) this.#again(ref, pending, now, out);
    }
  }

  /** The operation has ended: its other questions are dropped. */
  end(requester: Requester): void {
    for (const [ref, pending] of this.#pending) if (pending.requester === requester) this.#pending.delete(ref);
  }

  /** As `end`, but keeps the questions whose late answers are still useful. */
  #expire(requester: Requester): void {
    for (const [ref, pending] of this.#pending) {
      if (pending.requester !== requester) continue;
      if (pending.takenLate === undefined) this.#pending.delete(ref);
      else pending.expired = true;
    }
  }

  #of(ref: Ref, from: Address): PendingAsk | undefined {
    const pending = this.#pending.get(ref);
    return pending?.to.node === from.node && pending.to.machine === from.machine ? pending : undefined;
  }

  #again(ref: Ref, pending: PendingAsk, now: WallMs, out: Out): void {
    this.counters.askedAgain++;
    pending.sentAt = now;
    out.send(pending.to, pending.request(ref));
  }

  #refuseRequester(requester: Requester, code: ErrorCode, detail: string, out: Out): void {
    out.send(requester.from, { type: 'Refused', ref: requester.ref, code, detail });
  }
}

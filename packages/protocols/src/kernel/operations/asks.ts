/**
 * What a coordinator has asked of replicas: asked again until it is answered, or too late. Every question may be asked twice: a PUT is known by its
 * id, and the rest changes nothing.
 */
import { type ErrorCode, type NodeId, TransientMap, type WallMs } from '@isochron/core';
import type { Address, Effects } from '../../machine.js';
import type { NodeClock } from '../node-clock.js';
import type { Ref } from '../replication/messages.js';
import type { OperationMessage } from './messages.js';

type Out = Effects<OperationMessage>;

/** Who waits for the end of an operation: a client, by its own reference. */
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
export type Answer<T extends AnswerType> = Extract<OperationMessage, { type: T }>;

export interface Ask<T extends AnswerType> {
  readonly requester: Requester;
  readonly to: Address;
  readonly request: (ref: Ref) => OperationMessage;
  readonly answer: T;
  readonly taken: (answer: Answer<T>, now: WallMs, out: Out) => void;
  /** The replica refuses; by default the client is told so. Returns whether that was taken care of. */
  readonly refused?: (code: ErrorCode, now: WallMs, out: Out) => boolean;
  readonly until: WallMs;
  /** What the client is told then. */
  readonly late: { readonly code: ErrorCode; readonly detail: string };
  /** Takes an answer that arrives after `until`. Without it, such an answer is ignored. */
  readonly takenLate?: (answer: Answer<T>) => void;
}

/** How long a late answer is taken. */
const LATE_ANSWER_MS = 60_000;

type Pending = Omit<Ask<AnswerType>, 'taken' | 'takenLate'> & {
  readonly taken: (answer: never, now: WallMs, out: Out) => void;
  readonly takenLate?: (answer: never) => void;
  sentAt: WallMs;
  /** The requester was refused; only a late answer is still taken. */
  expired: boolean;
};

export class Asks {
  readonly counters = { asked: 0, askedAgain: 0, unanswered: 0 };
  readonly #pending = new TransientMap<Ref, Pending>();
  /** Begins at the clock: an answer to a question of a previous incarnation is nobody's. 0 before the first question. */
  #nextRef: Ref = 0;

  constructor(
    readonly clock: NodeClock,
    readonly retryMs: number,
  ) {}

  /**
   * Questions that a requester waits for. Not among them are those whose late answers are still taken, for a minute.
   */
  get size(): number {
    let size = 0;
    for (const { expired } of this.#pending.values()) if (!expired) size++;
    return size;
  }

  ask<T extends AnswerType>(ask: Ask<T>, now: WallMs, out: Out): void {
    const ref = this.#nextRef === 0 ? this.clock.last : this.#nextRef;
    this.#nextRef = ref + 1;
    this.counters.asked++;
    this.#pending.set(ref, { ...ask, sentAt: now, expired: false });
    out.send(ask.to, ask.request(ref));
  }

  /** An answer came. Late ones, and those of others, answer nothing. */
  take(answer: Answer<AnswerType>, from: Address, now: WallMs, out: Out): void {
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
    this.#tell(pending.requester, code, detail, out);
  }

  /** Asks a node again that was away. */
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
        this.#tell(pending.requester, pending.late.code, pending.late.detail, out);
      } else if (now - pending.sentAt > this.retryMs) this.#again(ref, pending, now, out);
    }
  }

  /** The operation has ended: what else was asked for it is nobody's any more. */
  end(requester: Requester): void {
    for (const [ref, pending] of this.#pending) if (pending.requester === requester) this.#pending.delete(ref);
  }

  /** As `end`, except for the questions whose answers are still of use. */
  #expire(requester: Requester): void {
    for (const [ref, pending] of this.#pending) {
      if (pending.requester !== requester) continue;
      if (pending.takenLate === undefined) this.#pending.delete(ref);
      else pending.expired = true;
    }
  }

  #of(ref: Ref, from: Address): Pending | undefined {
    const pending = this.#pending.get(ref);
    return pending?.to.node === from.node && pending.to.machine === from.machine ? pending : undefined;
  }

  #again(ref: Ref, pending: Pending, now: WallMs, out: Out): void {
    this.counters.askedAgain++;
    pending.sentAt = now;
    out.send(pending.to, pending.request(ref));
  }

  #tell(requester: Requester, code: ErrorCode, detail: string, out: Out): void {
    out.send(requester.from, { type: 'Refused', ref: requester.ref, code, detail });
  }
}

/** Requests to the `sessions` machines of other nodes, and their answers. */
import { type NodeId, TransientMap, type WallMs } from '@isochron/core';
import type { Address, Effects } from '@isochron/protocols';
import type { SessionMessage } from './messages.js';

/** An answer of another node. */
export type PeerAnswer = Extract<SessionMessage, { type: `${string}Resp` }>;

/** Undefined: the node did not answer in time, or its link is down. */
export type OnAnswer = (answer: PeerAnswer | undefined) => void;

interface PendingMessage {
  readonly node: NodeId;
  readonly awaits: PeerAnswer['type'];
  readonly message: SessionMessage;
  readonly done: OnAnswer;
  /** Undefined until it is sent. */
  deadline?: WallMs;
}

const TIMER = 'answers';

export class Exchange {
  readonly #pending = new TransientMap<number, PendingMessage>();
  readonly #down = new Set<NodeId>();
  #unsent: PendingMessage[] = [];
  #lastRef: number;

  constructor(
    readonly machine: string,
    readonly timeoutMs: number,
    /** Requests a step, in which {@link send} is called. */
    readonly wake: () => void,
    /** Begins anywhere: an answer to a request of a previous incarnation matches none. */
    firstRef: number,
  ) {
    this.#lastRef = firstRef;
  }

  /** Requests without an answer. */
  get size(): number {
    return this.#pending.size;
  }

  /** Whether the link to a node is known to be down. */
  isDown(node: NodeId): boolean {
    return this.#down.has(node);
  }

  ask(node: NodeId, awaits: PeerAnswer['type'], message: (ref: number) => SessionMessage, done: OnAnswer): void {
    if (this.#down.has(node)) {
      done(undefined);
      return;
    }
    this.#lastRef = (this.#lastRef + 1) % 2 ** 32;
    const pending = { node, awaits, message: message(this.#lastRef), done };
    this.#pending.set(this.#lastRef, pending);
    this.#unsent.push(pending);
    this.wake();
  }

  /** Sends the requests that were made outside of a step. */
  send(now: WallMs, out: Effects<SessionMessage>): void {
    const unsent = this.#unsent;
    this.#unsent = [];
    for (const pending of unsent) {
      pending.deadline = now + this.timeoutMs;
      out.send({ node: pending.node, machine: this.machine }, pending.message);
    }
    if (unsent.length > 0) this.#setTimer(out);
  }

  /** Takes an answer from the node of its request; any other answer is ignored. */
  answered(message: PeerAnswer, from: Address): void {
    const pending = this.#pending.get(message.ref);
    if (pending?.node === from.node && pending.awaits === message.type) this.#settle(message.ref)?.done(message);
  }

  /** Gives up requests after their deadline. */
  expire(now: WallMs, out: Effects<SessionMessage>): void {
    for (const [ref, { deadline }] of [...this.#pending])
      if (deadline !== undefined && deadline <= now) this.#settle(ref)?.done(undefined);
    this.#setTimer(out);
  }

  link(node: NodeId, up: boolean): void {
    if (up) this.#down.delete(node);
    else {
      this.#down.add(node);
      for (const [ref, pending] of [...this.#pending]) if (pending.node === node) this.#settle(ref)?.done(undefined);
    }
  }

  #setTimer(out: Effects<SessionMessage>): void {
    const deadlines = [...this.#pending.values()].flatMap(({ deadline }) => (deadline === undefined ? [] : [deadline]));
    if (deadlines.length > 0) out.setTimer(TIMER, Math.min(...deadlines));
  }

  #settle(ref: number): PendingMessage | undefined {
    const pending = this.#pending.get(ref);
    this.#pending.delete(ref);
    return pending;
  }
}

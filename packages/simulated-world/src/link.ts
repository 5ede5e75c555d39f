import type { Random } from '@isochron/core';
import { between, exponential } from './draws.js';
import type { VirtualTime } from './virtual-time.js';

/** One end of a link: a node, as the link sees it. */
export interface LinkEnd<F> {
  readonly id: string;
  /** Whether its process runs, and how many have run before it. */
  readonly up: boolean;
  readonly incarnation: number;
  link(peer: string, up: boolean): void;
  receive(peer: string, frame: F): void;
}

export interface LinkPace {
  /** Mean one-way delay, ms. */
  readonly delayMs: number;
  readonly jitter: number;
  readonly noticeMs: number;
  readonly reconnectMs: readonly [number, number];
  readonly lateFrames: boolean;
  /** Whether both ends accept each other; by default always. */
  readonly greet?: () => boolean;
}

/** Links do not become slower than this: such a connection would have been given up. */
const MAX_DELAY_MS = 2_000;

/** The frames that travel to one end. */
class Direction {
  /** Frames keep their order: none arrives before this. */
  lastArrival = 0;
  /** Frames of a connection that dropped arrive no later than this. */
  cutAt = Number.POSITIVE_INFINITY;
  /** The sending end believes that the link is up. */
  open = false;
}

/**
 * The link between two nodes: FIFO while connected. A drop loses the frames in flight, in each direction from a moment
 * of its own on, and each end notices it when it does. Frames that an end sends before it notices are lost too. After a
 * crash of an end, or while something blocks it, it stays down.
 */
export class Link<F> {
  /** Multiplies delays while a fault slows the link. */
  slowness = 1;
  /**
   * Share of the frames that are lost, come twice, or come late although the connection stays: while a fault makes it
   * unruly.
   */
  unruliness = 0;
  #connection = 0;
  #connected = false;
  /** Reasons to stay down: a cut, an isolated region, a process that does not run. */
  #blocks = 0;
  /** Ends that have not noticed the last drop. */
  #unnoticed = 0;
  #connecting = false;
  readonly #toA = new Direction();
  readonly #toB = new Direction();

  constructor(
    readonly time: VirtualTime,
    readonly random: Random,
    readonly pace: LinkPace,
    readonly a: LinkEnd<F>,
    readonly b: LinkEnd<F>,
  ) {}

  /** Sends a frame from an end; lost where the end has no connection, or the connection has dropped. */
  send(from: LinkEnd<F>, frame: F): void {
    const direction = from === this.a ? this.#toB : this.#toA;
    const to = from === this.a ? this.b : this.a;
    if (!direction.open) return;
    const connection = this.#connection;
    for (const arrival of this.#arrivals(direction)) {
      const { cutAt } = direction;
      if (arrival > cutAt) continue;
      this.time.at(arrival, () => {
        if (connection === this.#connection && arrival <= direction.cutAt && to.up) to.receive(from.id, frame);
      });
    }
  }

  /** The arrival times of a frame: once and in its order, if nothing makes the link unruly. */
  #arrivals(direction: Direction): number[] {
    const arrival = Math.max(direction.lastArrival, this.time.now + this.#delay());
    direction.lastArrival = arrival;
    if (this.unruliness === 0 || !this.random.chance(this.unruliness)) return [arrival];
    const late = arrival + this.random.float() * MAX_DELAY_MS;
    return this.random.pick([[], [late], [arrival, late]]);
  }

  /** Whether its connection is whole: frames get through. */
  get whole(): boolean {
    return this.#connected;
  }

  /** Something keeps the link down from now on. */
  block(): void {
    this.#blocks++;
    this.drop();
  }

  unblock(): void {
    this.#blocks--;
    this.connectSoon();
  }

  /** The connection breaks. It comes back by itself unless something blocks it. */
  drop(): void {
    if (!this.#connected) return;
    this.#connected = false;
    this.#lose(this.#toA, this.a, this.b);
    this.#lose(this.#toB, this.b, this.a);
    this.connectSoon();
  }

  /** Connects after a while, or later, once everything permits it. */
  connectSoon(): void {
    if (this.#connecting || this.#connected) return;
    this.#connecting = true;
    const [least, most] = this.pace.reconnectMs;
    this.time.after(between(this.random, least, most), () => {
      this.#connecting = false;
      if (this.#connected || this.#blocks > 0) return;
      if (this.#unnoticed > 0 || this.pace.greet?.() === false) this.connectSoon();
      else this.#connect();
    });
  }

  #connect(): void {
    this.#connected = true;
    this.#connection++;
    // Each end notices the connection before any frame arrives over it.
    for (const [direction, end] of [
      [this.#toA, this.a],
      [this.#toB, this.b],
    ] as const) {
      direction.cutAt = Number.POSITIVE_INFINITY;
      direction.lastArrival = this.time.now + this.#delay();
      const connection = this.#connection;
      this.time.at(direction.lastArrival, () => {
        if (connection !== this.#connection || !this.#connected || !end.up) return;
        (end === this.a ? this.#toB : this.#toA).open = true;
        end.link(end === this.a ? this.b.id : this.a.id, true);
      });
    }
  }

  /** `direction` leads to `end`, which will notice that `peer` is gone. */
  #lose(direction: Direction, end: LinkEnd<F>, peer: LinkEnd<F>): void {
    const noticeMs = between(this.random, 0, this.pace.noticeMs);
    direction.cutAt = this.pace.lateFrames ? this.time.now + between(this.random, 0, noticeMs) : this.time.now;
    const outgoing = direction === this.#toA ? this.#toB : this.#toA;
    if (!end.up || !outgoing.open) {
      outgoing.open = false;
      return;
    }
    const { incarnation } = end;
    this.#unnoticed++;
    this.time.after(noticeMs, () => {
      this.#unnoticed--;
      if (incarnation !== end.incarnation || !end.up) return;
      outgoing.open = false;
      end.link(peer.id, false);
    });
  }

  /** An end's process died: its connection state is gone, and no frame reaches its successor. */
  endDied(end: LinkEnd<F>): void {
    (end === this.a ? this.#toB : this.#toA).open = false;
    (end === this.a ? this.#toA : this.#toB).cutAt = this.time.now;
  }

  #delay(): number {
    const { delayMs, jitter } = this.pace;
    const share = jitter === 0 ? 1 : 1 - jitter / 2 + exponential(this.random, jitter);
    return Math.min(MAX_DELAY_MS, Math.max(0.01, delayMs * this.slowness * Math.max(0.05, share)));
  }
}

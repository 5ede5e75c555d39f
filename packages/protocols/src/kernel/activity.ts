import type { NodeId, WallMs } from '@isochron/core';
import type { Address, Effects } from '../machine.js';
import type { ReplicationMessage } from './replication/messages.js';

/** Name of the machine that begins a node's rounds (`rounds.ts`). */
export const ROUNDS_MACHINE = 'rounds';

/**
 * After this time without a write the rounds of a node begin to back off: each time it passes, their interval doubles.
 */
const IDLE_AFTER_MS = 1_000;

/** Writes at a node wake the other nodes again after this time: well before their rounds back off. */
const WAKE_EVERY_MS = IDLE_AFTER_MS / 2;

/**
 * Whether anything is written in the cluster: rounds keep their interval while it is, and slow down while it is idle.
 */
export class Activity {
  #lastAt: WallMs;
  #wokeAt: WallMs = Number.NEGATIVE_INFINITY;
  readonly #rounds: Address;

  /** @param idleBackoff the greatest factor of the interval of an idle node */
  constructor(
    node: NodeId,
    now: WallMs,
    readonly idleBackoff: number,
  ) {
    this.#lastAt = now;
    this.#rounds = { node, machine: ROUNDS_MACHINE };
  }

  /** Data were written here or at another node. */
  touch(now: WallMs): void {
    this.#lastAt = now;
  }

  /**
   * A client has written here, or waits for the rounds of other nodes. Stable time advances at the pace of the slowest
   * node: this node takes rounds at once, all others as soon as they receive its `Wake`.
   */
  wake(now: WallMs, out: Pick<Effects<ReplicationMessage>, 'send'>): void {
    this.touch(now);
    if (Math.abs(now - this.#wokeAt) < WAKE_EVERY_MS) return;
    this.#wokeAt = now;
    out.send(this.#rounds, { type: 'Wake' });
  }

  /** Whether the rounds have backed off. */
  isIdle(now: WallMs): boolean {
    return now - this.#lastAt > IDLE_AFTER_MS;
  }

  /**
   * When the next round of an interval is due. Rounds lie on a grid, so that all nodes with the same clock act together
   * and the messages of a node share frames.
   */
  nextRound(now: WallMs, intervalMs: number): WallMs {
    const idleFor = Math.max(0, now - this.#lastAt);
    const interval = intervalMs * Math.min(this.idleBackoff, 2 ** Math.floor(idleFor / IDLE_AFTER_MS));
    return (Math.floor(now / interval) + 1) * interval;
  }
}

import type { WallMs } from '@isochron/core';

/** After this time without a transaction a node's rounds back off. */
const IDLE_AFTER_MS = 1_000;

/** Whether a node has anything to do: its rounds come at their interval while it has, less often while it is idle. */
export class Activity {
  #lastAt: WallMs;

  constructor(
    now: WallMs,
    readonly idleBackoff: number,
  ) {
    this.#lastAt = now;
  }

  /** A transaction touched the node. */
  touch(now: WallMs): void {
    this.#lastAt = now;
  }

  /**
   * When the next round of an interval is due. Rounds lie on a grid, so that all machines of a node act together and their
   * messages share frames.
   */
  nextRound(now: WallMs, intervalMs: number): WallMs {
    const interval = now - this.#lastAt > IDLE_AFTER_MS ? intervalMs * this.idleBackoff : intervalMs;
    return (Math.floor(now / interval) + 1) * interval;
  }
}

import type { WallMs } from '@isochron/core';

/** Further ahead than this, it does not wait for the machine's clock. */
const MAX_CATCH_UP_MS = 600_000;
/** A longer step of the machine's clock towards a clock that is ahead of it is a correction, not elapsed time. */
const MAX_STEP_MS = 1_000;

/**
 * A wall clock that never steps back. When the machine's clock steps back, this one continues from its last time, at
 * half speed until the machine's clock has caught up: timers and deadlines of a running node do not stop meanwhile.
 * Where that would take very long, it runs at full speed and stays ahead, until the machine's clock is set forward
 * again: timestamps follow the machine's clock itself (`DriftWatch.stampable`).
 */
export class SteadyClock {
  #lastWall = Number.NEGATIVE_INFINITY;
  /** How far this clock is ahead of the machine's. */
  #ahead = 0;

  constructor(readonly wall: () => WallMs) {}

  now(): WallMs {
    const wall = this.wall();
    const passed = wall - this.#lastWall;
    this.#lastWall = wall;
    if (passed < 0) this.#ahead -= passed;
    else if (passed > MAX_STEP_MS) this.#ahead = Math.max(0, this.#ahead - passed);
    else if (this.#ahead <= MAX_CATCH_UP_MS) this.#ahead = Math.max(0, this.#ahead - passed / 2);
    return Math.ceil(wall + this.#ahead);
  }
}

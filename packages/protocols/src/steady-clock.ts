import type { WallMs } from '@isochron/core';

/**
 * A wall clock that never steps back. When the machine's clock does, time goes on from where it was, at half its speed until the machine's
 * clock has caught up: timers and deadlines of a running node do not stand still for as long as the clock was wrong.
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
    else this.#ahead = Math.max(0, this.#ahead - passed / 2);
    return Math.ceil(wall + this.#ahead);
  }

  /** When the machine's clock will show about this time, if it goes on as it does. */
  wallOf(at: WallMs): WallMs {
    return at - this.#ahead;
  }
}

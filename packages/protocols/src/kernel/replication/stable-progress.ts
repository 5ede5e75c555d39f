import { type Timestamp, type WallMs, wallOf } from '@isochron/core';

/**
 * How old stable time is (K4): by the wall clock, and by how long it has stood still on a monotonic clock. A wrong wall
 * clock hides an old snapshot from the first measure, but not from the second.
 */
export class StableProgress {
  #ust: Timestamp = 0;
  #advancedAt: number | undefined;

  /** @param steadyMs a monotonic clock. Call it whenever stable time may have advanced. */
  advance(ust: Timestamp, steadyMs: number): void {
    if (ust <= this.#ust && this.#advancedAt !== undefined) return;
    this.#ust = ust;
    this.#advancedAt = steadyMs;
  }

  /**
   * Age of the stable time in ms: how far it lies behind the wall clock, or since when it has not advanced, whichever
   * is more.
   */
  stalenessMs(ust: Timestamp, now: WallMs, steadyMs: number): number {
    this.advance(ust, steadyMs);
    return Math.max(stalenessOf(ust, now), steadyMs - (this.#advancedAt ?? steadyMs));
  }
}

/** How far a stable time lies behind the wall clock, in ms. */
export const stalenessOf = (ust: Timestamp, now: WallMs): number => Math.max(0, now - wallOf(ust));

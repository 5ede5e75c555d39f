import { HLC_EPOCH_MS, type WallMs } from '@isochron/core';
import type { VirtualTime } from './virtual-time.js';

/** The time of the wall clocks at the beginning. */
export const SIMULATION_START_MS: WallMs = HLC_EPOCH_MS + 30 * 24 * 3_600_000;

/** A node's wall clock: off by an offset, too fast or too slow, and movable. */
export class WallClock {
  #offsetMs: number;
  #rate: number;
  #since = 0;
  /** How far it was set back, in all. */
  #setBackMs = 0;

  constructor(
    readonly time: VirtualTime,
    { skewMs, driftPpm }: { readonly skewMs: number; readonly driftPpm: number },
  ) {
    this.#offsetMs = skewMs;
    this.#rate = driftPpm / 1e6;
  }

  /** Its time, in whole milliseconds as clocks of operating systems return it. */
  now(): WallMs {
    return Math.floor(SIMULATION_START_MS + this.time.now + this.#error());
  }

  /** How far it has moved forward, by itself and by jumps. It never falls; only differences mean anything. */
  get forwardMs(): number {
    return this.time.now + this.#error() + this.#setBackMs;
  }

  /** The time of a right clock. */
  static truth(time: VirtualTime): WallMs {
    return SIMULATION_START_MS + time.now;
  }

  /** How far it is off. */
  get errorMs(): number {
    return this.#error();
  }

  jump(ms: number): void {
    this.#setBackMs += Math.max(0, -ms);
    this.#offsetMs += ms;
  }

  drift(ppm: number): void {
    this.#offsetMs = this.#error();
    this.#since = this.time.now;
    this.#rate = ppm / 1e6;
  }

  /** Right again, and steady. */
  correct(): void {
    this.drift(0);
    this.jump(-this.#offsetMs);
  }

  #error(): number {
    return this.#offsetMs + (this.time.now - this.#since) * this.#rate;
  }
}

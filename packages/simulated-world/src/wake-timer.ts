import type { WallMs } from '@isochron/core';
import type { Scheduled } from './event-queue.js';
import type { VirtualTime } from './virtual-time.js';
import type { WallClock } from './wall-clock.js';

/**
 * The one timer of a node's host. As in the server's driver, it runs on steady time, and is moved only when an earlier
 * time is requested.
 */
export class WakeTimer {
  #next: { readonly at: WallMs; readonly event: Scheduled } | undefined;

  constructor(
    readonly time: VirtualTime,
    readonly clock: WallClock,
    readonly wake: () => void,
  ) {}

  /** Requests a call of `wake` at a time of the node's wall clock. */
  wakeAt(at: WallMs): void {
    if (this.#next !== undefined && this.#next.at <= at) return;
    this.stop();
    const event = this.time.after(Math.max(1, at - this.clock.now()), () => {
      this.#next = undefined;
      this.wake();
    });
    this.#next = { at, event };
  }

  stop(): void {
    if (this.#next !== undefined) this.time.cancel(this.#next.event);
    this.#next = undefined;
  }
}

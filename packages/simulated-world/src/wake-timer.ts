import type { Scheduled } from './event-queue.js';
import type { VirtualTime } from './virtual-time.js';

/**
 * The one timer of a node's host. As in the server's driver, it runs on steady time, and is moved only when an earlier
 * time is requested.
 */
export class WakeTimer {
  #next: { readonly at: number; readonly event: Scheduled } | undefined;

  constructor(
    readonly time: VirtualTime,
    readonly wake: () => void,
  ) {}

  /** Requests a call of `wake` after a time, ms; after 1 ms at least. */
  wakeAfter(ms: number): void {
    const delayMs = Math.max(1, ms);
    const at = this.time.now + delayMs;
    if (this.#next !== undefined && this.#next.at <= at) return;
    this.stop();
    const event = this.time.after(delayMs, () => {
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

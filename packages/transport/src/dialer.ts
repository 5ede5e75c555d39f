import { fullJitterMs } from '@isochron/core';
import { isRefusal } from './close-codes.js';
import { realTime, type Scheduler } from './delay-line.js';
import type { LinkTuning } from './options.js';

/**
 * Decides when to dial a peer: at once, then after failures with backoff, and slowly when the peer refuses this node.
 */
export class Dialer {
  /** Attempts that have failed in a row. */
  #failures = 0;
  /** Connections that were dialled and have not ended. */
  #open = 0;
  #cancel: (() => void) | undefined;
  #upAt: number | undefined;
  #stopped = false;

  constructor(
    readonly dial: () => void,
    readonly tuning: LinkTuning,
    readonly random: () => number,
    readonly scheduler: Scheduler = realTime,
  ) {}

  start(): void {
    this.#after(0);
  }

  /** Dials at once: beside a connection that is up, which is replaced once the new one is accepted. */
  renew(): void {
    if (this.#stopped) return;
    this.#cancel?.();
    this.#dial();
  }

  /** The link is up. */
  connected(): void {
    this.#upAt = this.scheduler.now();
  }

  /**
   * A connection ended, for the reason of this code. One that was replaced is followed by another one, unless the two
   * replaced each other: the peer may have accepted them in another order.
   */
  ended(code: string): void {
    this.#open--;
    if (code === 'LINK_REPLACED' && this.#open > 0) return;
    // A link that lasts only a moment each time keeps its backoff.
    if (this.#upAt !== undefined && this.scheduler.now() - this.#upAt >= this.tuning.backoffCapMs) this.#failures = 0;
    this.#upAt = undefined;
    this.#after(isRefusal(code) ? this.tuning.refusedRetryMs * (0.5 + this.random()) : this.#backoffMs());
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
  }

  #backoffMs(): number {
    const { backoffBaseMs, backoffCapMs } = this.tuning;
    return fullJitterMs(this.random, this.#failures++, backoffBaseMs, backoffCapMs);
  }

  #after(ms: number): void {
    this.#cancel?.();
    if (!this.#stopped) this.#cancel = this.scheduler.after(ms, () => this.#dial());
  }

  #dial(): void {
    this.#open++;
    this.dial();
  }
}

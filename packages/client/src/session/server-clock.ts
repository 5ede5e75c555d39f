import { wallOf } from '@isochron/core/hlc';
import type { Timestamp } from '@isochron/core/ids';
import type { Freshness } from '@isochron/wire/session-frames';

/**
 * The age of timestamps, by the clock of the node whose freshness was received last: a wrong clock of this machine has
 * no effect. Between two reports of a node, this machine's steady clock counts.
 */
export class ServerClock {
  #latest: Freshness | undefined;
  /** The node's clock minus the steady one. */
  #aheadMs = 0;

  /** The newest report. */
  get latest(): Freshness | undefined {
    return this.#latest;
  }

  take(freshness: Freshness, nowMs: number): void {
    this.#latest = freshness;
    this.#aheadMs = freshness.now - nowMs;
  }

  /** The node's clock; the steady one before the first report. */
  nowMs(nowMs: number): number {
    return this.#aheadMs + nowMs;
  }

  /** Age in ms; undefined without a timestamp, or before the first report of a node. */
  ageMs(timestamp: Timestamp, nowMs: number): number | undefined {
    if (timestamp === 0 || this.#latest === undefined) return undefined;
    return Math.max(0, this.nowMs(nowMs) - wallOf(timestamp));
  }
}

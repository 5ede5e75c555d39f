import { wallOf } from '@isochron/core/hlc';
import type { Timestamp } from '@isochron/core/ids';
import type { Freshness } from '@isochron/wire/session-frames';

/**
 * How old timestamps are, by the clock of the node that was heard of last: a wrong clock of this machine counts for nothing. Between two
 * words of a node, time goes on by this machine's monotonic clock.
 */
export class ServerClock {
  #latest: Freshness | undefined;
  /** The node's clock above the monotonic one. */
  #aheadMs = 0;

  /** What the last node that was heard of said. */
  get latest(): Freshness | undefined {
    return this.#latest;
  }

  take(freshness: Freshness): void {
    this.#latest = freshness;
    this.#aheadMs = freshness.now - performance.now();
  }

  /** Age in ms; undefined where there is no timestamp, or no node has been heard of. */
  ageMs(timestamp: Timestamp): number | undefined {
    if (timestamp === 0 || this.#latest === undefined) return undefined;
    return Math.max(0, this.#aheadMs + performance.now() - wallOf(timestamp));
  }
}

import type { Timestamp, WallMs } from '@isochron/core';

/** Samples of a retention: the accuracy of the answers. */
const SAMPLES = 32;

/**
 * The stable times of a node over its retention. What became stable late, as after an outage, is kept as long as what
 * became stable at once: a reader that waited for it can still read it (F7, P9).
 */
export class StableHistory {
  /** Oldest first. */
  #samples: { readonly at: WallMs; readonly ust: Timestamp }[] = [];

  /**
   * The stable time of a retention ago, or a little earlier; of the first call, if that was later.
   * @param ust the present stable time
   */
  before(now: WallMs, retentionMs: number, ust: Timestamp): Timestamp {
    // A clock that was set back begins anew.
    if (this.#samples.some(({ at }) => at > now)) this.#samples = [];
    const last = this.#samples.at(-1);
    if (last === undefined || now - last.at >= retentionMs / SAMPLES) this.#samples.push({ at: now, ust });
    const kept = this.#samples.findLastIndex(({ at }) => at <= now - retentionMs);
    if (kept > 0) this.#samples.splice(0, kept);
    return this.#samples[0]!.ust;
  }
}

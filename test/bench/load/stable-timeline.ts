/** When a node's stable time reached each timestamp, by reads of a session at it. */
import { setTimeout as delay } from 'node:timers/promises';
import type { IsochronClient } from '@isochron/sdk';

const KEPT_MS = 60_000;

export class StableTimeline {
  /** Rising: the stable time of a read, and when its answer came. */
  readonly #points: { readonly ust: number; readonly at: number }[] = [];
  readonly #running: Promise<void>;
  #stopped = false;

  /** @param pauseMs between two reads: the error of the result, with the round trip of a read */
  constructor(
    readonly client: IsochronClient,
    readonly pauseMs: number,
  ) {
    this.#running = this.#probe();
  }

  /**
   * The time since stable time was first seen to have reached a timestamp, in ms; 0 if it has not been seen yet.
   * Undefined if that was before the first read.
   */
  since(ts: number): number | undefined {
    const points = this.#points;
    if (points.length === 0 || ts <= points[0]!.ust) return undefined;
    let [low, high] = [0, points.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (points[middle]!.ust >= ts) high = middle;
      else low = middle + 1;
    }
    return low === points.length ? 0 : performance.now() - points[low]!.at;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  async #probe(): Promise<void> {
    while (!this.#stopped) {
      const snapshot = await this.client.snapshot();
      const [ust, at] = [snapshot.timestamp, performance.now()];
      await snapshot.close();
      if (ust > (this.#points.at(-1)?.ust ?? 0)) this.#points.push({ ust, at });
      while (at - this.#points[0]!.at > KEPT_MS) this.#points.shift();
      await delay(this.pauseMs);
    }
  }
}

/** How long the stable time of nodes stands still while something happens to their cluster. */
import { setTimeout as delay } from 'node:timers/promises';
import { call } from './http.js';

/** Between two looks, ms. */
const LOOK_MS = 20;

export class StableTimeWatch {
  #highest = 0;
  #risenAt = performance.now();
  #longestMs = 0;
  #ends = false;
  #done: Promise<void> = Promise.resolve();

  private constructor(readonly endpoints: readonly string[]) {}

  /** Watches the lowest stable time of these endpoints. */
  static async start(endpoints: readonly string[]): Promise<StableTimeWatch> {
    const watch = new StableTimeWatch(endpoints);
    await watch.#look();
    watch.#done = watch.#watch();
    return watch;
  }

  /** Ends the watch. Resolves with the longest time for which the lowest stable time did not rise, ms. */
  async stop(): Promise<number> {
    this.#ends = true;
    await this.#done;
    return Math.round(this.#longestMs);
  }

  async #watch(): Promise<void> {
    while (!this.#ends) {
      await delay(LOOK_MS);
      await this.#look();
    }
  }

  async #look(): Promise<void> {
    const answers = await Promise.all(this.endpoints.map((endpoint) => call(endpoint, 'GET', '/v1/clock')));
    const lowest = Math.min(...answers.map(({ json }) => (json as { ust: number }).ust));
    const now = performance.now();
    if (lowest > this.#highest) {
      this.#highest = lowest;
      this.#risenAt = now;
    } else this.#longestMs = Math.max(this.#longestMs, now - this.#risenAt);
  }
}

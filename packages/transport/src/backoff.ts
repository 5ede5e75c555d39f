/** Waiting times between attempts: exponential with full jitter, so that nodes that failed together do not retry together. */
export class Backoff {
  #attempt = 0;

  constructor(
    readonly baseMs: number,
    readonly capMs: number,
    /** Uniform in [0, 1). */
    readonly random: () => number,
  ) {}

  /** How long to wait before the next attempt, in ms. */
  next(): number {
    const ceiling = Math.min(this.capMs, this.baseMs * 2 ** this.#attempt);
    this.#attempt = Math.min(this.#attempt + 1, 30);
    return this.random() * ceiling;
  }

  reset(): void {
    this.#attempt = 0;
  }
}

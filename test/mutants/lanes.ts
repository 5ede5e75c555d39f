import { availableParallelism } from 'node:os';

/** Limits how much work runs at a time. Work that waits starts in the order in which it was handed in. */
export class Lanes {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(lanes = availableParallelism()) {
    this.#free = lanes;
  }

  /** Starts the work as soon as a lane is free. */
  async run<R>(work: () => Promise<R>): Promise<R> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      // The lane goes to the next work that waits, or becomes free.
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }
}

/** Deals items out into at most so many shares of about the same size. */
export const sharesOf = <T>(items: readonly T[], count = availableParallelism()): T[][] =>
  Array.from({ length: Math.min(count, items.length) }, (_, share) => items.filter((_, i) => i % count === share));

/** How often each limit of a node was reached since its start, for its metrics. */
export class LimitCounts {
  readonly #counts = new Map<string, number>();

  /** What was asked for is above the limit of this name. */
  readonly reached = (limit: string): void => {
    this.#counts.set(limit, (this.#counts.get(limit) ?? 0) + 1);
  };

  [Symbol.iterator](): IterableIterator<[limit: string, count: number]> {
    return this.#counts[Symbol.iterator]();
  }
}

import type { PartitionId, Timestamp } from '@isochron/core';

/** The coordinator's tally of one two-phase commit: the prepared cohorts, and the highest proposal. */
export class Votes {
  readonly #waiting: Set<PartitionId>;
  #maxPt: Timestamp = 0;

  constructor(readonly cohorts: readonly PartitionId[]) {
    this.#waiting = new Set(cohorts);
  }

  get waiting(): ReadonlySet<PartitionId> {
    return this.#waiting;
  }

  /** Counts a vote, once. */
  prepared(partition: PartitionId, pt: Timestamp): void {
    if (this.#waiting.delete(partition) && pt > this.#maxPt) this.#maxPt = pt;
  }

  /** The cohort has lost its disk, and its vote with it (D10). */
  drop(partition: PartitionId): void {
    if (this.cohorts.includes(partition)) this.#waiting.add(partition);
  }

  /** `max(pt)` (Alg. 2 line 26), once every cohort has prepared. */
  decided(): Timestamp | undefined {
    return this.#waiting.size === 0 ? this.#maxPt : undefined;
  }
}

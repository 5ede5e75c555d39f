import type { Timestamp } from '@isochron/core';

/**
 * Notices that a disk was rolled back (D10): a peer has seen from this replica what neither the disk held at the start nor this life
 * has made. A version clock never leaves above the durable ceiling, and a group never before it is durable; so what a
 * peer knows beyond them, and below the first of this life, was lost.
 */
export class RollbackWatch {
  #firstClock: Timestamp = Number.POSITIVE_INFINITY;
  #firstGroup: Timestamp = Number.POSITIVE_INFINITY;

  /**
   * @param clock own version clock that the disk had
   * @param ceiling durable ceiling of the HLC that the disk had
   */
  constructor(
    readonly clock: Timestamp,
    readonly ceiling: Timestamp,
  ) {}

  /** A version clock of this life. */
  published(clock: Timestamp): void {
    this.#firstClock = Math.min(this.#firstClock, clock);
  }

  /** A group of this life. */
  applied(ct: Timestamp): void {
    this.#firstGroup = Math.min(this.#firstGroup, ct);
  }

  /** Whether a peer's words show a loss: the version clock it has seen from here, and the highest group. */
  lost(clock: Timestamp, group: Timestamp): boolean {
    return (clock > this.ceiling && clock < this.#firstClock) || (group > this.clock && group < this.#firstGroup);
  }
}

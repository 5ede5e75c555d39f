import type { RegionId, Timestamp, WallMs } from '@isochron/core';

/** A peer that says nothing for so long after a start is waited for no more. */
const WAIT_MS = 2_000;

/**
 * Notices that a disk was rolled back (D10): a peer has seen from this replica what neither the disk held at the start nor this life
 * has made. A version clock never leaves above the durable ceiling, and a group never before it is durable; so what a
 * peer knows beyond them, and below the first of this life, was lost.
 *
 * Until every peer has said after the start what it knows, or has had time for it, the disk is under suspicion.
 */
export class RollbackWatch {
  #firstClock: Timestamp = Number.POSITIVE_INFINITY;
  #firstGroup: Timestamp = Number.POSITIVE_INFINITY;
  readonly #silent: Set<RegionId>;
  #waitUntil: WallMs = Number.POSITIVE_INFINITY;

  /**
   * @param clock own version clock that the disk had
   * @param ceiling durable ceiling of the HLC that the disk had
   * @param peers who may know better
   */
  constructor(
    readonly clock: Timestamp,
    readonly ceiling: Timestamp,
    peers: Iterable<RegionId>,
  ) {
    this.#silent = new Set(peers);
  }

  /** The node runs. */
  start(now: WallMs): void {
    this.#waitUntil = now + WAIT_MS;
  }

  /** Whether this replica may still hear that its disk is an old one: it decides nothing meanwhile. */
  suspects(now: WallMs): boolean {
    return this.#silent.size > 0 && now < this.#waitUntil;
  }

  /** A version clock of this life. */
  published(clock: Timestamp): void {
    this.#firstClock = Math.min(this.#firstClock, clock);
  }

  /** A group of this life. */
  applied(ct: Timestamp): void {
    this.#firstGroup = Math.min(this.#firstGroup, ct);
  }

  /** Whether a peer's words show a loss: the version clock it has seen from here, and the highest group. */
  lost(peer: RegionId, clock: Timestamp, group: Timestamp): boolean {
    this.#silent.delete(peer);
    return (clock > this.ceiling && clock < this.#firstClock) || (group > this.clock && group < this.#firstGroup);
  }
}

import { invariant, type Timestamp } from '@isochron/core';

/** Something whose durable data bounds what can be universally stable: a replica of this node. */
export interface StableBound {
  readonly durableMin: Timestamp;
}

/**
 * The universal stable time as one node knows it. It comes from aggregation; a value heard from a client or with a
 * message raises it only as far as this node's own version vectors, because a true UST never exceeds them (P5).
 * Truncation and garbage collection look at `aggregated` alone.
 */
export class StableTime {
  #aggregated: Timestamp;
  #value: Timestamp;
  #sOld: Timestamp = 0;
  #gcFloor: Timestamp = 0;
  #served: Timestamp = 0;
  #wanted: Timestamp = 0;
  #refused = 0;
  readonly #bounds: StableBound[] = [];

  constructor(start: Timestamp) {
    this.#aggregated = start;
    this.#value = start;
  }

  /** The snapshot that new transactions get. */
  get value(): Timestamp {
    return this.#value;
  }

  /** The part of it that came through aggregation. */
  get aggregated(): Timestamp {
    return this.#aggregated;
  }

  /** Oldest snapshot in use anywhere, as last aggregated (P9). */
  get sOld(): Timestamp {
    return this.#sOld;
  }

  /**
   * What every node of every region serves: a session that begins anywhere, now or after any crash, gets a snapshot at
   * or above it. It is the minimum of the stable times that the nodes have on their disks, as last aggregated; it never
   * falls.
   */
  get served(): Timestamp {
    return this.#served;
  }

  /** The highest time that a caller of this node waits for to be served; 0 when none does. */
  get wanted(): Timestamp {
    return this.#wanted > this.#served ? this.#wanted : 0;
  }

  /** Highest garbage collection floor of the node's replicas: snapshots below may be gone. */
  get gcFloor(): Timestamp {
    return this.#gcFloor;
  }

  /** How many claimed stable times exceeded what this node could confirm. */
  get refused(): number {
    return this.#refused;
  }

  bound(source: StableBound): void {
    this.#bounds.push(source);
  }

  /** What aggregation says. A UST above the own version vectors is none: it is not believed at all, and not in part (P5, D12). */
  aggregate(ust: Timestamp, sOld: Timestamp, served: Timestamp = 0): void {
    if (this.confirmed(ust) < ust) {
      this.#refused++;
      return;
    }
    if (ust > this.#aggregated) this.#aggregated = ust;
    if (ust > this.#value) this.#value = ust;
    this.#sOld = sOld;
    // This node's own disk is part of the minimum: what exceeds it is rejected (D12).
    if (served > this.#served && served <= this.#aggregated) this.#served = served;
  }

  /** A caller waits until `ts` is served. */
  want(ts: Timestamp): void {
    if (ts > this.wanted) this.#wanted = ts;
  }

  learn(claimed: Timestamp): void {
    if (claimed <= this.#value) return;
    const limit = this.#bounds.length === 0 ? this.#value : this.confirmed(claimed);
    if (limit < claimed) this.#refused++;
    if (limit > this.#value) this.#value = limit;
  }

  /** As much of a claimed stable time as the own version vectors reach. */
  confirmed(claimed: Timestamp): Timestamp {
    let limit = claimed;
    for (const { durableMin } of this.#bounds) if (durableMin < limit) limit = durableMin;
    return limit;
  }

  collected(floor: Timestamp): void {
    invariant(floor <= this.#aggregated, 'garbage is collected below the aggregated UST only');
    if (floor > this.#gcFloor) this.#gcFloor = floor;
  }

  recovered(gcFloor: Timestamp): void {
    if (gcFloor > this.#gcFloor) this.#gcFloor = gcFloor;
  }
}

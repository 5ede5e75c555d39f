import { invariant, type Timestamp } from '@isochron/core';

/** A replica of this node: its durable data bound the universal stable time. */
export interface StableBound {
  readonly durableMin: Timestamp;
}

/**
 * The universal stable time as one node knows it. It comes from aggregation. A value from a client or a message raises
 * it only up to this node's own version vectors, because a true UST never exceeds them (P5). Truncation and garbage
 * collection look at `aggregated` alone.
 */
export class StableTime {
  #aggregated: Timestamp;
  #value: Timestamp;
  #sOld: Timestamp = 0;
  #gcFloor: Timestamp = 0;
  #served: Timestamp = 0;
  #wanted: Timestamp = 0;
  #fence: Timestamp = 0;
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
   * The time that every node of every region serves: a session that begins anywhere, now or after any crash, gets a
   * snapshot at or above it. It is the minimum of the stable times on the nodes' disks, as last aggregated; it never
   * falls.
   */
  get served(): Timestamp {
    return this.#served;
  }

  /** The highest time that a caller of this node waits for until it is served; 0 without such a caller. */
  get wanted(): Timestamp {
    return this.#wanted > this.#served ? this.#wanted : 0;
  }

  /**
   * M9: whether it has passed the clocks with which all members have adopted the map. So the attempts of earlier maps
   * are decided, and every replica has what they have committed.
   */
  get isFenced(): boolean {
    return this.#aggregated >= this.#fence;
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

  /** The aggregated times. A UST above the own version vectors is rejected as a whole, not in part (P5, D12). */
  aggregate(ust: Timestamp, sOld: Timestamp, served: Timestamp = 0, fence?: Timestamp): void {
    if (this.confirmed(ust) < ust) {
      this.#refused++;
      return;
    }
    if (ust > this.#aggregated) this.#aggregated = ust;
    if (ust > this.#value) this.#value = ust;
    this.#sOld = sOld;
    if (fence !== undefined) this.#fence = fence;
    // This node's own disk is part of the minimum: a higher time is rejected (D12).
    if (served > this.#served && served <= this.#aggregated) this.#served = served;
  }

  /** A map is adopted: its fence is not known until its members have reported. */
  adopted(): void {
    this.#fence = Number.POSITIVE_INFINITY;
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

  /** The part of a claimed stable time that the own version vectors reach. */
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

import type { RegionId, Timestamp } from '@isochron/core';
import type { WriteSeq } from '../../machine.js';

/**
 * The version vector of one replica: one entry for each region that hosts the partition. An entry is raised when its
 * groups are applied, and becomes *durable* with the batch that wrote them; stabilisation sees only the durable part
 * (D1).
 */
export class VersionVector {
  readonly #applied = new Map<RegionId, Timestamp>();
  readonly #durable = new Map<RegionId, Timestamp>();
  #pending: { seq: WriteSeq; region: RegionId; ts: Timestamp }[] = [];
  #persisted: WriteSeq = 0;
  #durableMin: Timestamp;
  #changes = 0;

  /** @param counts whether a region's writes are waited for; by default every region's */
  constructor(
    entries: Iterable<readonly [RegionId, Timestamp]>,
    readonly counts: (region: RegionId) => boolean = () => true,
  ) {
    for (const [region, ts] of entries) {
      this.#applied.set(region, ts);
      this.#durable.set(region, ts);
    }
    this.#durableMin = this.#minimum();
  }

  has(region: RegionId): boolean {
    return this.#applied.has(region);
  }

  /** Everything up to here that the region sourced has been applied. */
  applied(region: RegionId): Timestamp {
    return this.#applied.get(region)!;
  }

  /** All of these. */
  values(): Iterable<Timestamp> {
    return this.#applied.values();
  }

  /** The same, on disk. */
  durable(region: RegionId): Timestamp {
    return this.#durable.get(region)!;
  }

  /** The lowest durable entry that counts: the replica's contribution to UST. */
  get durableMin(): Timestamp {
    return this.#durableMin;
  }

  /** Other regions count from now on. */
  recount(): void {
    this.#durableMin = this.#minimum();
    this.#changes++;
  }

  /** The lowest durable entry of the regions that count in a certain way. */
  minimumOf(counts: (region: RegionId) => boolean): Timestamp {
    let min = Number.POSITIVE_INFINITY;
    for (const [region, ts] of this.#durable) if (ts < min && counts(region)) min = ts;
    return min;
  }

  /** How often a durable entry was raised: items that wait for one need no look until this changes. */
  get changes(): number {
    return this.#changes;
  }

  /** Raises an entry, never lowers it; it is durable once `persisted` reaches `seq`. */
  raise(region: RegionId, ts: Timestamp, seq: WriteSeq): void {
    if (ts <= this.applied(region)) return;
    this.#applied.set(region, ts);
    if (seq > this.#persisted || this.#pending.length > 0) this.#pending.push({ seq, region, ts });
    else this.#settle(region, ts);
  }

  /** A region's writes above `ts` are taken back, and received again. */
  lower(region: RegionId, ts: Timestamp): void {
    if (ts >= this.applied(region)) return;
    this.#applied.set(region, ts);
    this.#durable.set(region, Math.min(ts, this.durable(region)));
    this.#pending = this.#pending.filter((raised) => raised.region !== region);
    this.recount();
  }

  persisted(upTo: WriteSeq): void {
    this.#persisted = upTo;
    if (this.#pending.length === 0) return;
    let settled = 0;
    for (const { seq, region, ts } of this.#pending) {
      if (seq > upTo) break;
      this.#durable.set(region, ts);
      settled++;
    }
    this.#pending.splice(0, settled);
    if (settled > 0) this.#changes++;
    this.#durableMin = this.#minimum();
  }

  /** The applied entries, as they go to disk with their groups. */
  entries(): Record<RegionId, Timestamp> {
    return Object.fromEntries(this.#applied);
  }

  durableEntries(): Record<RegionId, Timestamp> {
    return Object.fromEntries(this.#durable);
  }

  #settle(region: RegionId, ts: Timestamp): void {
    this.#durable.set(region, ts);
    this.#durableMin = this.#minimum();
    this.#changes++;
  }

  #minimum(): Timestamp {
    return this.minimumOf(this.counts);
  }
}

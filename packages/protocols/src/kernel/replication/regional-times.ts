import type { Deps, Timestamp, WallMs } from '@isochron/core';

/**
 * The times that all nodes of one region have installed, entry by entry: the minimum over their contributions (Wren's
 * LST and RST, Cure's and Contrarian's GSS); or the times of all nodes of all regions (Okapi's USV). The meaning of an
 * entry is the protocol's. Aggregated in the same tree as UST.
 */
export class RegionalTimes {
  #entries: Deps;

  /**
   * @param own the times that this node's replicas have installed, durably; empty without replicas
   * @param size number of entries; 0 under protocols that do not use them
   * @param everywhere the roots exchange their regions' minima, and the entries are the minima over all regions
   */
  constructor(
    readonly size: number,
    readonly own: () => Deps,
    readonly everywhere = false,
    /** Whether this node's disk may be an older one, without versions that peers have sent before (D10). */
    readonly lags: (now: WallMs) => boolean = () => false,
  ) {
    this.#entries = new Array<Timestamp>(size).fill(0);
  }

  /** For protocols that do not use them. */
  static none(): RegionalTimes {
    return new RegionalTimes(0, () => []);
  }

  /**
   * The contribution of this node. Under minima over all regions, a version does not name its dependencies: no entry
   * may rise beside one that an older disk has lowered.
   */
  contribution(now: WallMs): Deps {
    const own = this.own();
    return this.everywhere && this.lags(now) ? own.map(() => 0) : own;
  }

  /** As last aggregated; no entry ever falls. */
  get entries(): Deps {
    return this.#entries;
  }

  /** Whether these can be a node's contribution: a node without replicas has none (P13). */
  fits(entries: Deps): boolean {
    return entries.length === 0 || entries.length === this.size;
  }

  /** The aggregated times: accepted up to the own replicas' times, because a true minimum never exceeds them (D12). */
  raise(entries: Deps): void {
    if (!entries.some((ts, i) => ts > this.#entries[i]!)) return;
    const own = this.own();
    // As a whole or not at all: a node on an older disk has less than it once contributed (D10).
    if (this.everywhere && own.some((ts, i) => ts < entries[i]!)) return;
    this.#entries = this.#entries.map((ts, i) => Math.max(ts, Math.min(entries[i] ?? 0, own[i] ?? entries[i]!)));
  }

  /**
   * A session's times of this very region: accepted in the same way, but not without an own replica to confirm them
   * (P5).
   */
  learn(entries: Deps): void {
    if (this.own().length > 0) this.raise(entries);
  }
}

/** Minimum, entry by entry, over non-empty vectors; empty input gives an empty result. */
export function entrywiseMin(vectors: Iterable<Deps>): Deps {
  let min: Timestamp[] | undefined;
  for (const vector of vectors) {
    if (vector.length === 0) continue;
    if (min === undefined) min = [...vector];
    else for (let i = 0; i < min.length; i++) min[i] = Math.min(min[i]!, vector[i]!);
  }
  return min ?? [];
}

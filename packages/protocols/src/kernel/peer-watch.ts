import type { NodeId, RegionId, Topology } from '@isochron/core';

/** How often a driver calls {@link PeerWatch.look}. */
export const LOOK_INTERVAL_MS = 250;
/** A node without a frame for this long does not respond. */
const QUIET_AFTER_MS = 1_000;
/** A look this late means that this process stood still: the peers' frames of that time have not been read yet. */
const STALLED_AFTER_MS = 600;

/** The nodes that do not respond, sorted, and the regions in which one of them hosts partitions. */
export interface Unresponsive {
  readonly nodes: readonly NodeId[];
  readonly regions: readonly RegionId[];
}

const equal = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((name, i) => name === b[i]);

/**
 * Which other nodes do not respond: their link is down, or no frame from them arrived for a second. New attempts of
 * commits avoid their regions. The watch has no clock and no links: its driver calls `look` with a steady time, about
 * every 250 ms and when a link comes up or goes down.
 */
export class PeerWatch {
  readonly #others: readonly NodeId[];
  #lookedAtMs: number;
  /** When this process last continued after it stood still. */
  #resumedAtMs = Number.NEGATIVE_INFINITY;
  #unresponsive: Unresponsive = { nodes: [], regions: [] };

  constructor(
    node: NodeId,
    readonly topology: Topology,
    nowMs: number,
  ) {
    this.#others = topology.nodes.filter((other) => other !== node).sort();
    this.#lookedAtMs = nowMs;
  }

  /** As of the last look. */
  get unresponsive(): Unresponsive {
    return this.#unresponsive;
  }

  /**
   * Looks at all links.
   * @param receivedAtMs when the last frame came from a node, by the same clock as `nowMs`; undefined while its link is
   *   down
   * @returns whether the result has changed
   */
  look(nowMs: number, receivedAtMs: (node: NodeId) => number | undefined): boolean {
    if (nowMs - this.#lookedAtMs > STALLED_AFTER_MS) this.#resumedAtMs = nowMs;
    this.#lookedAtMs = nowMs;
    const nodes = this.#others.filter((node) => !this.#answers(nowMs, receivedAtMs(node)));
    if (equal(nodes, this.#unresponsive.nodes)) return false;
    const regions = nodes
      .filter((node) => this.topology.partitionsOn(node).length > 0)
      .map((node) => this.topology.regionOf(node));
    this.#unresponsive = { nodes, regions: [...new Set(regions)].sort() };
    return true;
  }

  #answers(nowMs: number, receivedAtMs: number | undefined): boolean {
    return receivedAtMs !== undefined && nowMs - Math.max(receivedAtMs, this.#resumedAtMs) <= QUIET_AFTER_MS;
  }
}

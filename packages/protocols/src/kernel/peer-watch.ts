import type { NodeId, RegionId, Topology } from '@isochron/core';
import type { Maps } from './maps/maps.js';

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
 * Which other nodes do not respond: their link is down, no frame from them arrived for a second, or they are about to
 * leave. New attempts of commits avoid the regions of such members. The watch has no clock and no links: its
 * driver calls `look` with a steady time, about every 250 ms and when a link comes up or goes down.
 */
export class PeerWatch {
  readonly #others: readonly NodeId[];
  #lookedAtMs: number;
  /** When this process last continued after it stood still. */
  #resumedAtMs = Number.NEGATIVE_INFINITY;
  #unresponsive: Unresponsive = { nodes: [], regions: [] };
  #silent: readonly NodeId[] = [];

  constructor(
    node: NodeId,
    readonly topology: Topology,
    nowMs: number,
    /** The node's maps. */
    readonly maps: () => Pick<Maps, 'current' | 'leaving'> = () => ({ current: topology, leaving: new Set() }),
  ) {
    this.#others = topology.nodes.filter((other) => other !== node).sort();
    this.#lookedAtMs = nowMs;
  }

  /** The nodes from which nothing was received, as of the last look. */
  get silent(): readonly NodeId[] {
    return this.#silent;
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
    const { current, leaving } = this.maps();
    const others = this.#others.filter((node) => !current.evicted.includes(node));
    const silent = others.filter((node) => !this.#answers(nowMs, receivedAtMs(node)));
    const nodes = others.filter((node) => leaving.has(node) || silent.includes(node));
    const regionsOf = nodes
      .filter((node) => current.isMember(node) && this.topology.partitionsOn(node).length > 0)
      .map((node) => this.topology.regionOf(node));
    const regions = [...new Set(regionsOf)].sort();
    const before = this.#unresponsive;
    const isSame = equal(silent, this.#silent);
    this.#silent = silent;
    const isAsBefore = equal(nodes, before.nodes) && equal(regions, before.regions);
    if (!isAsBefore) this.#unresponsive = { nodes, regions };
    return !isSame || !isAsBefore;
  }

  #answers(nowMs: number, receivedAtMs: number | undefined): boolean {
    return receivedAtMs !== undefined && nowMs - Math.max(receivedAtMs, this.#resumedAtMs) <= QUIET_AFTER_MS;
  }
}

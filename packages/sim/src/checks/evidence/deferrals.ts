import {
  type ClusterMap,
  clusterMap,
  type DurableFact,
  type NodeId,
  type Timestamp,
  type Topology,
} from '@isochron/core';
import type { MemoryState } from '@isochron/storage';
import type { CommittedTx } from './slices.js';

const MAP = /^map\/\d+$/;
const ADOPTED = 'map/adopted';

/** The maps that suspend nodes, as disks show them, and what they defer (M4). */
export class Deferrals {
  readonly #suspending = new Map<number, ClusterMap>();
  readonly #adopted = new Map<NodeId, number>();

  constructor(readonly topology: Topology) {}

  /** A node stores a map: returns whether no node has stored the map before, and the map suspends nodes. */
  learn(fact: DurableFact): boolean {
    if (fact.kind !== 'meta' || !MAP.test(fact.name)) return false;
    const map = clusterMap.decode(JSON.parse(String(fact.value)));
    if (map.suspends.length === 0 || this.#suspending.has(map.version)) return false;
    this.#suspending.set(map.version, map);
    return true;
  }

  /** Whether a map after that of its attempt defers it. */
  defers({ ct, map, slices }: CommittedTx): boolean {
    const { topology } = this;
    const cohorts = [...slices].map(([id, { region }]) => topology.numberOf(topology.replicaNode(id, region)!));
    const needs = [...slices.values()].flatMap((slice) => slice.needs);
    return [...this.#suspending.values()].some(({ version, horizon, suspends }) => {
      const isGone = (node: number | undefined) => node === undefined || suspends.includes(node);
      const follows = needs.some((need) => need.ct !== undefined && need.ct > horizon && isGone(need.node));
      return version > map && ct > horizon && (cohorts.some(isGone) || follows);
    });
  }

  /** Whether the horizon of a map that suspends nodes is not below a snapshot. */
  isBefore(snapshot: Timestamp): boolean {
    return [...this.#suspending.values()].some(({ horizon }) => horizon >= snapshot);
  }

  /** The map that the node had adopted when it asked for a record of a batch. */
  adoptedAt(node: NodeId, records: readonly DurableFact[], at: number): number {
    return lastAdopted(records.slice(0, at)) ?? this.#adopted.get(node) ?? 0;
  }

  durable(node: NodeId, records: readonly DurableFact[]): void {
    const adopted = lastAdopted(records);
    if (adopted !== undefined) this.#adopted.set(node, adopted);
  }

  onDataLoss(node: NodeId, { meta }: MemoryState): void {
    this.#adopted.set(node, Number(meta.get(ADOPTED) ?? 0));
  }
}

function lastAdopted(records: readonly DurableFact[]): number | undefined {
  const last = records.findLast((record) => record.kind === 'meta' && record.name === ADOPTED);
  return last?.kind === 'meta' ? Number(last.value) : undefined;
}

/** Maps: the placement and the membership of a cluster as one table with a version (M1). */
import type { NodeId, RegionId, Timestamp } from './ids.js';
import { boolean, list, object, optional, struct, text, timestamp, uint } from './schema.js';

/** A keyspace: spread round-robin with a `replication` factor, or pinned to `regions` (data residency). */
export interface KeyspaceSpec {
  readonly name: string;
  readonly partitions: number;
  readonly replication?: number | undefined;
  readonly regions?: readonly RegionId[] | undefined;
}

/** The part of the cluster file that decides the placement of data. */
export interface ClusterSpec {
  readonly regions: readonly { readonly id: RegionId; readonly nodes: readonly { readonly id: NodeId }[] }[];
  readonly keyspaces: readonly KeyspaceSpec[];
}

/**
 * Where everything is, under one version. Only {@link firstMap} places data by a rule; every other reader of a map
 * finds the placement in its table, so that a map may place data in any way.
 */
export interface ClusterMap {
  /** 0 for the map that the cluster file gives. */
  readonly version: number;
  readonly regions: readonly RegionId[];
  /** A node's number is its position here. */
  readonly nodes: readonly { readonly id: NodeId; readonly region: RegionId }[];
  /** The partitions of the first keyspace come first, in order: a partition's id is its position among all. */
  readonly keyspaces: readonly { readonly name: string; readonly partitions: number }[];
  /** For each partition the numbers of the nodes that hold a replica of it, at most one of each region. */
  readonly replicas: readonly (readonly number[])[];
  /** Numbers of the nodes whose reports make stable time, ascending. */
  readonly members: readonly number[];
  /** Numbers of the nodes that decide the next map. */
  readonly voters: readonly number[];
  /** No stable time of an earlier map lies above (M3). */
  readonly horizon: Timestamp;
  /**
   * Numbers of the members of the map before that did not answer, and are no members: what needs them above the horizon
   * is deferred (M4). A node that has left in order is not among them.
   */
  readonly suspends: readonly number[];
  /** Numbers of the nodes that stay away until an operator lets them return; absent without any. None is a member. */
  readonly held?: readonly number[] | undefined;
  /** Present if an operator asked for the map. */
  readonly isOrdered?: boolean | undefined;
  /** Numbers of the nodes that never come back; absent without any. None is a member or a voter of any later map. */
  readonly evicted?: readonly number[] | undefined;
}

/** What a map changes in the map before. */
export interface MapChange {
  readonly members: readonly number[];
  /** Former members that have left in order; other former members are suspended. */
  readonly left?: readonly number[];
  /** Nodes that stay away; by default the nodes of the map before. */
  readonly held?: readonly number[] | undefined;
  readonly isOrdered?: boolean;
  /** Further nodes that never come back. */
  readonly evicted?: readonly number[];
}

/**
 * Map 0: what a cluster file gives. The regions of a keyspace's partitions are chosen round-robin, and so are the nodes
 * of a region. Every node is a member.
 */
export function firstMap({ regions, keyspaces }: ClusterSpec): ClusterMap {
  const nodes = regions.flatMap(({ id: region, nodes }) => nodes.map(({ id }) => ({ id, region })));
  const numbersIn = new Map(
    regions.map(({ id }) => [id, [...nodes.keys()].filter((number) => nodes[number]!.region === id)]),
  );
  const turns = new Map<RegionId, number>();
  const next = (region: RegionId): number => {
    const turn = turns.get(region) ?? 0;
    turns.set(region, turn + 1);
    const numbers = numbersIn.get(region)!;
    return numbers[turn % numbers.length]!;
  };
  const replicas: number[][] = [];
  for (const { partitions, replication = 1, regions: pinned } of keyspaces)
    for (let index = 0; index < partitions; index++) {
      const inTurn = () => Array.from({ length: replication }, (_, k) => regions[(index + k) % regions.length]!.id);
      replicas.push((pinned ?? inTurn()).map(next));
    }
  return {
    version: 0,
    regions: regions.map(({ id }) => id),
    nodes,
    keyspaces: keyspaces.map(({ name, partitions }) => ({ name, partitions })),
    replicas,
    members: [...nodes.keys()],
    voters: votersOf(
      regions.map(({ id }) => id),
      nodes,
      [...nodes.keys()],
    ),
    horizon: 0,
    suspends: [],
  };
}

/**
 * The numbers of the voters, among the nodes that are not evicted: with three regions or more the first member of each
 * region, or its first node if it has no member; with fewer regions every node.
 */
function votersOf(
  regions: ClusterMap['regions'],
  nodes: ClusterMap['nodes'],
  members: readonly number[],
  evicted: readonly number[] = [],
): number[] {
  const present = [...nodes.keys()].filter((number) => !evicted.includes(number));
  const byRegion = regions.map((region) => present.filter((number) => nodes[number]!.region === region));
  const left = byRegion.filter((numbers) => numbers.length > 0);
  if (left.length < 3) return present;
  return left.map((numbers) => numbers.find((number) => members.includes(number)) ?? numbers[0]!);
}

/** The map after a map, with other members; a former member is suspended unless the node has `left` in order. */
export function nextMap(map: ClusterMap, change: MapChange, horizon: Timestamp): ClusterMap {
  const { left = [], isOrdered = false } = change;
  const members = sorted(change.members);
  const held = sorted(change.held ?? map.held ?? []);
  const evicted = sorted([...(map.evicted ?? []), ...(change.evicted ?? [])]);
  return {
    ...map,
    version: map.version + 1,
    members,
    voters: votersOf(map.regions, map.nodes, members, evicted),
    horizon,
    suspends: map.members.filter((number) => !members.includes(number) && !left.includes(number)),
    held: held.length === 0 ? undefined : held,
    isOrdered: isOrdered || undefined,
    evicted: evicted.length === 0 ? undefined : evicted,
  };
}

const sorted = (numbers: readonly number[]): readonly number[] => [...new Set(numbers)].sort((a, b) => a - b);

const name = text(128);
const numbers = list(uint, 65_536);
/** A map as it travels, and as disks hold it. */
export const clusterMap = struct<ClusterMap>({
  version: uint,
  regions: list(name, 64),
  nodes: list(object({ id: name, region: name }), 65_536),
  keyspaces: list(object({ name, partitions: uint }), 256),
  replicas: list(list(uint, 64)),
  members: numbers,
  voters: numbers,
  horizon: timestamp,
  suspends: numbers,
  held: optional(numbers),
  isOrdered: optional(boolean),
  evicted: optional(numbers),
});

/** Whether a map names nothing that is not in the map: nodes are in its regions, and numbers are numbers of nodes. */
export function isConsistent(map: ClusterMap): boolean {
  const { regions, nodes, keyspaces, replicas, members, voters, suspends, held = [], evicted = [] } = map;
  const partitions = keyspaces.reduce((sum, keyspace) => sum + keyspace.partitions, 0);
  return (
    nodes.every(({ region }) => regions.includes(region)) &&
    replicas.length === partitions &&
    [...replicas, members, voters, suspends, held, evicted].every((numbers) => numbers.every((n) => n < nodes.length))
  );
}

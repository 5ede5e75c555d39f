import { type ClusterMap, type ClusterSpec, firstMap } from './cluster-map.js';
import { IsochronError } from './errors.js';
import { hashKey } from './hash.js';
import type { NodeId, PartitionId, QualifiedKey, RegionId } from './ids.js';
import { invariant } from './invariant.js';
import { counterPartition } from './write-counters.js';

/** One partition and the regions of its replicas. */
export interface Partition {
  readonly id: PartitionId;
  readonly keyspace: string;
  /** Position inside the keyspace. */
  readonly index: number;
  /** A name that survives a reordering of keyspaces in the file: `default/3`. Used on disk. */
  readonly name: string;
  /** Regions that host a replica, in the order of the map. */
  readonly regions: readonly RegionId[];
}

/**
 * The placement of a map, by key, partition, region and node: the partition of a key, the regions that host it, the
 * node of a region that holds the replica, and the replica that a region without one uses.
 */
export class Topology {
  readonly regions: readonly RegionId[];
  readonly nodes: readonly NodeId[];
  /** The nodes whose reports make stable time. */
  readonly members: readonly NodeId[];
  /** The nodes that decide the next map. */
  readonly voters: readonly NodeId[];
  /** The nodes that stay away until an operator lets them return. */
  readonly held: readonly NodeId[];
  /** The nodes that never come back. */
  readonly evicted: readonly NodeId[];
  readonly partitions: readonly Partition[];
  readonly #keyspaces = new Map<string, { first: PartitionId; count: number }>();
  readonly #numbers: ReadonlyMap<NodeId, number>;
  readonly #regionOf = new Map<NodeId, RegionId>();
  readonly #nodesOf = new Map<RegionId, readonly NodeId[]>();
  /** `region` → per partition the hosting node, or undefined. */
  readonly #host = new Map<RegionId, readonly (NodeId | undefined)[]>();
  readonly #members: ReadonlySet<NodeId>;
  /** Whether every node is a member. */
  readonly isWhole: boolean;

  constructor(readonly map: ClusterMap) {
    this.regions = map.regions;
    this.nodes = map.nodes.map(({ id }) => id);
    this.#numbers = new Map(this.nodes.map((node, number) => [node, number]));
    this.members = map.members.map((number) => this.nodes[number]!);
    this.#members = new Set(this.members);
    this.isWhole = this.members.length === this.nodes.length;
    this.voters = map.voters.map((number) => this.nodes[number]!);
    this.held = (map.held ?? []).map((number) => this.nodes[number]!);
    this.evicted = (map.evicted ?? []).map((number) => this.nodes[number]!);
    for (const { id, region } of map.nodes) this.#regionOf.set(id, region);
    for (const region of this.regions)
      this.#nodesOf.set(
        region,
        this.nodes.filter((node) => this.#regionOf.get(node) === region),
      );
    const hosts = map.replicas.map((numbers) => numbers.map((number) => this.nodes[number]!));
    this.partitions = this.#partitionsIn(hosts);
    for (const region of this.regions)
      this.#host.set(
        region,
        hosts.map((nodes) => nodes.find((node) => this.#regionOf.get(node) === region)),
      );
  }

  /** The topology of map 0 of a cluster file. */
  static of(spec: ClusterSpec): Topology {
    return new Topology(firstMap(spec));
  }

  /** The version of the map. */
  get version(): number {
    return this.map.version;
  }

  #partitionsIn(hosts: readonly (readonly NodeId[])[]): Partition[] {
    const partitions: Partition[] = [];
    for (const { name: keyspace, partitions: count } of this.map.keyspaces) {
      const first = partitions.length;
      this.#keyspaces.set(keyspace, { first, count });
      for (let index = 0; index < count; index++) {
        const id = first + index;
        const regions = hosts[id]!.map((node) => this.#regionOf.get(node)!);
        partitions.push({ id, keyspace, index, name: `${keyspace}/${index}`, regions });
      }
    }
    return partitions;
  }

  /** The region of a node. */
  regionOf(node: NodeId): RegionId {
    const region = this.#regionOf.get(node);
    invariant(region !== undefined, () => `node ${node} is not in the cluster file`);
    return region;
  }

  /** The nodes of a region, in the order of the cluster file. */
  nodesOf(region: RegionId): readonly NodeId[] {
    return this.#nodesOf.get(region) ?? [];
  }

  hasNode(node: NodeId): boolean {
    return this.#regionOf.has(node);
  }

  /** The number of a node in the placement. */
  numberOf(node: NodeId): number {
    const number = this.#numbers.get(node);
    invariant(number !== undefined, () => `node ${node} is not in the cluster file`);
    return number;
  }

  /** Whether a node's reports make stable time. */
  isMember(node: NodeId): boolean {
    return this.#members.has(node);
  }

  hasKeyspace(name: string): boolean {
    return this.#keyspaces.has(name);
  }

  /** Whether a key has a partition, as the keys of counters do (OF1). */
  hasKey(key: QualifiedKey): boolean {
    return this.hasKeyspace(key.slice(0, key.indexOf('/'))) || this.#countedPartition(key) !== undefined;
  }

  get keyspaces(): readonly string[] {
    return [...this.#keyspaces.keys()];
  }

  /** All partitions of a keyspace, in order. */
  partitionsOf(keyspace: string): readonly Partition[] {
    const range = this.#keyspaces.get(keyspace);
    if (range === undefined) throw unknownKeyspace(keyspace);
    return this.partitions.slice(range.first, range.first + range.count);
  }

  /**
   * The partition of a key; the key of a counter names its own (OF1).
   * @throws IsochronError `KEYSPACE_UNKNOWN`
   */
  partitionOf(key: QualifiedKey): PartitionId {
    const keyspace = key.slice(0, key.indexOf('/'));
    const range = this.#keyspaces.get(keyspace);
    if (range !== undefined) return range.first + (hashKey(key) % range.count);
    const named = this.#countedPartition(key);
    if (named === undefined) throw unknownKeyspace(keyspace);
    return named;
  }

  /** The partition of a counter; undefined for any other key. */
  #countedPartition(key: QualifiedKey): PartitionId | undefined {
    const named = counterPartition(key);
    return named !== undefined && named < this.partitions.length ? named : undefined;
  }

  /** The node that holds the replica `p^m_n`, or undefined when the region does not host the partition. */
  replicaNode(partition: PartitionId, region: RegionId): NodeId | undefined {
    return this.#host.get(region)?.[partition];
  }

  /** Partitions whose replica is on the node, ascending. */
  partitionsOn(node: NodeId): PartitionId[] {
    const hosts = this.#host.get(this.regionOf(node))!;
    return this.partitions.filter((p) => hosts[p.id] === node).map((p) => p.id);
  }

  /**
   * Regions to try for a partition, seen from `region`: itself first when it hosts the partition; otherwise the
   * replicas in turn, starting at a place given by a round-robin over partitions and regions, so that load is spread
   * and every node of a region prefers the same replica.
   */
  preferredRegions(partition: PartitionId, region: RegionId): readonly RegionId[] {
    const { regions, index } = this.partitions[partition]!;
    const local = regions.indexOf(region);
    const start = local >= 0 ? local : (index + Math.max(0, this.regions.indexOf(region))) % regions.length;
    return regions.map((_, k) => regions[(start + k) % regions.length]!);
  }

  /** Whether a region's replica of a partition is on a member. */
  hasMember(partition: PartitionId, region: RegionId): boolean {
    return this.isWhole || this.#members.has(this.replicaNode(partition, region)!);
  }

  /**
   * The regions to try for a partition whose replicas are on members, in the order of {@link preferredRegions}; all
   * regions where no replica is on a member.
   */
  memberRegions(partition: PartitionId, region: RegionId): readonly RegionId[] {
    const preferred = this.preferredRegions(partition, region);
    if (this.isWhole) return preferred;
    const held = preferred.filter((other) => this.hasMember(partition, other));
    return held.length === 0 ? preferred : held;
  }

  /** Whether no operator keeps a node away, for a time or for ever. */
  mayReturn(node: NodeId): boolean {
    return !this.held.includes(node) && !this.evicted.includes(node);
  }

  /** Whether each partition on a node has a replica on another member, too: a map without the node has all data. */
  mayLeave(node: NodeId): boolean {
    const isSpare = (partition: PartitionId): boolean =>
      this.partitions[partition]!.regions.some(
        (region) => this.hasMember(partition, region) && this.replicaNode(partition, region) !== node,
      );
    return this.partitionsOn(node).every(isSpare);
  }

  /**
   * The replica that prepares writes of an attempt with the home `home` that avoids the regions `avoid`: the first
   * preferred replica on a member whose region is not avoided, or the first preferred one if all are avoided. Depends
   * on the map and these two alone, never on load or reachability: a retry from anywhere finds the same cohort (D4).
   */
  cohort(partition: PartitionId, home: RegionId, avoid: readonly RegionId[] = []): { region: RegionId; node: NodeId } {
    const preferred = this.memberRegions(partition, home);
    const region = preferred.find((other) => !avoid.includes(other)) ?? preferred[0]!;
    return { region, node: this.replicaNode(partition, region)! };
  }

  /**
   * The home of an attempt under protocols whose commits have all cohorts in their home: `home`, or if that is avoided,
   * the next region of the cluster file that is not. Again a pure function (D4).
   */
  homeOf(home: RegionId, avoid: readonly RegionId[]): RegionId {
    const at = this.regions.indexOf(home);
    const inTurn = this.regions.map((_, k) => this.regions[(at + k) % this.regions.length]!);
    return inTurn.find((other) => !avoid.includes(other)) ?? home;
  }

  /** Whether a list can be an attempt's avoided regions: regions of the cluster file, sorted, none of them twice. */
  isAvoidList(avoid: readonly string[]): boolean {
    return avoid.every((region, i) => this.regions.includes(region) && (i === 0 || region > avoid[i - 1]!));
  }
}

const unknownKeyspace = (name: string): IsochronError =>
  new IsochronError('KEYSPACE_UNKNOWN', `There is no keyspace "${name}". The cluster file lists those that exist.`);

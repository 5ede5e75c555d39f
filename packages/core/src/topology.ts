import { IsochronError } from './errors.js';
import { hashKey } from './hash.js';
import type { NodeId, PartitionId, QualifiedKey, RegionId } from './ids.js';
import { invariant } from './invariant.js';

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

/** One partition and the regions of its replicas. */
export interface Partition {
  readonly id: PartitionId;
  readonly keyspace: string;
  /** Position inside the keyspace. */
  readonly index: number;
  /** A name that survives a reordering of keyspaces in the file: `default/3`. Used on disk. */
  readonly name: string;
  /** Regions that host a replica, in the order of the cluster file's round-robin. */
  readonly regions: readonly RegionId[];
}

/**
 * Placement as a pure function of the cluster file: the partition of a key, the regions that host it, the node of a
 * region that holds the replica, and the replica that a region without one uses.
 */
export class Topology {
  readonly regions: readonly RegionId[];
  readonly nodes: readonly NodeId[];
  readonly partitions: readonly Partition[];
  readonly #keyspaces = new Map<string, { first: PartitionId; count: number }>();
  readonly #regionOf = new Map<NodeId, RegionId>();
  readonly #nodesOf = new Map<RegionId, readonly NodeId[]>();
  /** `region` → per partition the hosting node, or undefined. */
  readonly #host = new Map<RegionId, (NodeId | undefined)[]>();

  constructor(spec: ClusterSpec) {
    this.regions = spec.regions.map((r) => r.id);
    this.nodes = spec.regions.flatMap((r) => r.nodes.map((n) => n.id));
    for (const region of spec.regions) {
      this.#nodesOf.set(
        region.id,
        region.nodes.map((n) => n.id),
      );
      for (const node of region.nodes) this.#regionOf.set(node.id, region.id);
    }
    this.partitions = this.#placePartitions(spec.keyspaces);
    for (const region of this.regions) this.#host.set(region, this.#hostsIn(region));
  }

  #placePartitions(keyspaces: readonly KeyspaceSpec[]): Partition[] {
    const partitions: Partition[] = [];
    for (const keyspace of keyspaces) {
      this.#keyspaces.set(keyspace.name, { first: partitions.length, count: keyspace.partitions });
      for (let index = 0; index < keyspace.partitions; index++) {
        const regions =
          keyspace.regions ??
          Array.from({ length: keyspace.replication ?? 1 }, (_, k) => this.regions[(index + k) % this.regions.length]!);
        const id = partitions.length;
        partitions.push({ id, keyspace: keyspace.name, index, name: `${keyspace.name}/${index}`, regions });
      }
    }
    return partitions;
  }

  /** Spreads a region's replicas over its nodes in turn. */
  #hostsIn(region: RegionId): (NodeId | undefined)[] {
    const nodes = this.nodesOf(region);
    let turn = 0;
    return this.partitions.map((p) => (p.regions.includes(region) ? nodes[turn++ % nodes.length] : undefined));
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

  hasKeyspace(name: string): boolean {
    return this.#keyspaces.has(name);
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
   * The partition of a key.
   * @throws IsochronError `KEYSPACE_UNKNOWN`
   */
  partitionOf(key: QualifiedKey): PartitionId {
    const keyspace = key.slice(0, key.indexOf('/'));
    const range = this.#keyspaces.get(keyspace);
    if (range === undefined) throw unknownKeyspace(keyspace);
    return range.first + (hashKey(key) % range.count);
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

  /**
   * The replica that prepares writes of an attempt with the home `home` that avoids the regions `avoid`: the first
   * preferred replica whose region is not avoided, or the first preferred one if all are avoided. Depends on the
   * cluster file and these two alone, never on load or reachability: a retry from anywhere finds the same cohort (D4).
   */
  cohort(partition: PartitionId, home: RegionId, avoid: readonly RegionId[] = []): { region: RegionId; node: NodeId } {
    const preferred = this.preferredRegions(partition, home);
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

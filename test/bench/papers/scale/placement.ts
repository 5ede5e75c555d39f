/** The papers' placement: a partition for each node, keys in each, clients that draw from them. */
import { type ClusterSpec, type PartitionId, type QualifiedKey, type RegionId, Topology } from '@isochron/core';
import type { ScaleClusterOptions } from '@isochron/sim/scale/scale-cluster';
import { KeyTable, TransactionGenerator, type TransactionMix } from '@isochron/workload';

export interface Placement {
  readonly regions: readonly RegionId[];
  readonly nodesPerRegion: number;
  readonly replication: number;
  readonly keysPerPartition: number;
  /** By default the number of nodes over the replication: each node has one replica then. */
  readonly partitions?: number;
}

export interface Placed {
  readonly topology: Topology;
  options(mix: TransactionMix): Pick<ScaleClusterOptions, 'spec' | 'keysOf' | 'transactions'>;
}

export function placed(placement: Placement): Placed {
  const spec = specOf(placement);
  const topology = Topology.of(spec);
  const table = new KeyTable(topology, placement.keysPerPartition);
  return {
    topology,
    options: (mix) => ({
      spec,
      keysOf: (partition: PartitionId): readonly QualifiedKey[] => table.keysOf(partition),
      transactions: (region: RegionId, seed: number) => new TransactionGenerator({ table, mix, region, seed }),
    }),
  };
}

function specOf({ regions, nodesPerRegion, replication, partitions }: Placement): ClusterSpec {
  return {
    regions: regions.map((id) => ({
      id,
      nodes: Array.from({ length: nodesPerRegion }, (_, n) => ({ id: `${id}-${n + 1}` })),
    })),
    keyspaces: [
      { name: 'default', partitions: partitions ?? (regions.length * nodesPerRegion) / replication, replication },
    ],
  };
}

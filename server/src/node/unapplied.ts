/** Transactions that a restarted node has committed and not applied (D7). */
import { type LogGroup, MAX_TIMESTAMP, type NodeId, type PartitionId, type Topology } from '@isochron/core';
import { unappliedAfter } from '@isochron/protocols';
import type { OpenedData } from './data-folder.js';

/** The committed transactions of each partition that were not applied before the restart. */
export async function loadUnapplied(
  { store, recovered }: OpenedData,
  topology: Topology,
  node: NodeId,
): Promise<Map<PartitionId, LogGroup[]>> {
  const unapplied = new Map<PartitionId, LogGroup[]>();
  for (const partition of topology.partitionsOn(node)) {
    const groups: LogGroup[] = [];
    let after = unappliedAfter(recovered, partition, topology.regionOf(node));
    while (after < MAX_TIMESTAMP) {
      await store.prefetch({ kind: 'log', partition, after, upTo: MAX_TIMESTAMP });
      const page = store.log(partition, after, MAX_TIMESTAMP);
      groups.push(...page.groups);
      after = page.upTo;
    }
    unapplied.set(partition, groups);
  }
  return unapplied;
}

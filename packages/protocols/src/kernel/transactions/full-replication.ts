import type { Topology } from '@isochron/core';

/**
 * Why a protocol that needs a replica of every partition in every region cannot run on a placement; undefined if it
 * can.
 */
export function notFullyReplicated(topology: Topology): string | undefined {
  for (const { name, regions } of topology.partitions) {
    const missing = topology.regions.find((region) => !regions.includes(region));
    if (missing === undefined) continue;
    return `partition ${name} has no replica in ${missing}, and this protocol needs one in every region`;
  }
  return undefined;
}

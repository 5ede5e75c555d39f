import type { Topology } from '@isochron/core';

/** What keeps a protocol that needs a replica of everything in every region from running on a placement; undefined: nothing. */
export function notFullyReplicated(topology: Topology): string | undefined {
  for (const { name, regions } of topology.partitions) {
    const missing = topology.regions.find((region) => !regions.includes(region));
    if (missing === undefined) continue;
    return `partition ${name} has no replica in ${missing}, and this protocol needs one in every region`;
  }
  return undefined;
}

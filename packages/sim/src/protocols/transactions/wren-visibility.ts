import type { RegionId, Topology } from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';
import type { Visibility } from '../../checks/evidence/visibility.js';

/** `lt` and `rt`, and their region; without a region, both are the greater one. */
function partsOf({ ts, deps: [rt = ts, place = 0] = [] }: Snapshot, { regions }: Topology) {
  const t = Math.max(ts, rt);
  return place === 0 ? { lt: t, rt: t, local: undefined } : { lt: ts, rt, local: regions[place - 1] };
}

/**
 * Wren Algorithm 3 lines 7–8. A snapshot's timestamp is `lt`; beside it stand `rt` and the region that assigned it, as
 * its place in the cluster. A version has the remote time that it depends on.
 */
export function wrenVisibility(topology: Topology): Visibility {
  const upTo = (snapshot: Snapshot, region: RegionId) => {
    const { lt, rt, local } = partsOf(snapshot, topology);
    return region === local ? lt : rt;
  };
  return {
    shows(snapshot, { ts: ut, region, deps: [rdt = ut] = [] }) {
      const { lt, rt, local } = partsOf(snapshot, topology);
      return region === local ? ut <= lt && rdt <= rt : ut <= rt && rdt <= lt;
    },
    lowest(snapshot) {
      const { lt, rt } = partsOf(snapshot, topology);
      return Math.min(lt, rt);
    },
    follows: (before, snapshot) => topology.regions.every((region) => upTo(snapshot, region) >= upTo(before, region)),
    stamp: (deps) => deps,
  };
}

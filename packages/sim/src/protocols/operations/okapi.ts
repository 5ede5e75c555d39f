import type { Deps, Topology } from '@isochron/core';
import { okapi as protocol, type Snapshot } from '@isochron/protocols';
import type { Visibility } from '../../checks/visibility.js';
import { isWithin } from '../vector-visibility.js';
import { CAUSAL, operationAdapter } from './adapter.js';

/**
 * Okapi Alg. 2 lines 32–37. A snapshot's timestamp is `lts`; beside it stand USV and the region that reads, as its place in the cluster. Local
 * versions have a vector, which lies within USV, with `lts` as the own entry; others, and local ones in the eyes of who has seen them
 * elsewhere, are there when USV has reached them.
 */
export function okapiVisibility({ regions }: Topology): Visibility {
  const parts = ({ deps = [] }: Snapshot) => ({ usv: deps.slice(0, -1), place: deps.at(-1)! });
  const upTo = (snapshot: Snapshot): Deps => {
    const { usv, place } = parts(snapshot);
    return usv.map((ts, i) => (i === place ? snapshot.ts : ts));
  };
  return {
    shows(snapshot, { ts, region, deps }) {
      const entries = upTo(snapshot);
      const from = regions.indexOf(region);
      // From elsewhere, or come back from there with a copy (D10): its timestamp is all there is.
      if (from !== parts(snapshot).place || deps === undefined) return ts <= entries[from]!;
      return ts <= parts(snapshot).usv[from]! || isWithin(deps, entries);
    },
    lowest: (snapshot) => Math.min(snapshot.ts, ...parts(snapshot).usv),
    follows: (before, snapshot) => upTo(before).every((ts, i) => ts <= upTo(snapshot)[i]!),
    stamp: (deps) => deps,
    localDeps: true,
  };
}

/** Versions of other regions are shown once every region has them; ROTs see local ones up to their clock. */
export const okapi = operationAdapter({
  protocol,
  clocks: 'hybrid',
  promises: CAUSAL,
  readsWait: 'for-lost-data',
  snapshots: {
    visibility: okapiVisibility,
    snapshot: ([lts = 0, ...usv], region, { regions }) => ({ ts: lts, deps: [...usv, regions.indexOf(region)] }),
    closes: ([lts = 0]) => lts,
  },
  // `[dt, ...USVc]`: a version lies above all of it, and its vector covers the stable part.
  seen: {
    inSnapshot: isWithin,
    inVersion: ([dt = 0, ...usv], { ts, deps = [] }) => isWithin(usv, deps) && dt < ts && usv.every((u) => u < ts),
    hasVersion: ([dt = 0, ...usv], version, region, topology) =>
      okapiVisibility(topology).shows({ ts: dt, deps: [...usv, topology.regions.indexOf(region)] }, version),
  },
});

import type { Deps, Topology } from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';
import type { Visibility } from '../../checks/evidence/visibility.js';
import { isWithin } from '../vector-visibility.js';

/**
 * Okapi Alg. 2 lines 32–37. A snapshot's timestamp is `lts`; beside it stand USV and the region that reads, as its
 * place in the cluster. Local versions have a vector, which lies within USV, with `lts` as the own entry. Other
 * versions, and local ones for a session that has seen them elsewhere, are visible when USV has reached them.
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
      // From elsewhere, or come back from there with a copy (D10): only its timestamp is known.
      if (from !== parts(snapshot).place || deps === undefined) return ts <= entries[from]!;
      return ts <= parts(snapshot).usv[from]! || isWithin(deps, entries);
    },
    lowest: (snapshot) => Math.min(snapshot.ts, ...parts(snapshot).usv),
    follows: (before, snapshot) => upTo(before).every((ts, i) => ts <= upTo(snapshot)[i]!),
    stamp: (deps) => deps,
    localDeps: true,
  };
}

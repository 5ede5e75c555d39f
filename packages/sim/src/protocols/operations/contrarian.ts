import { contrarian as protocol } from '@isochron/protocols';
import { isWithin, vectorVisibility } from '../vector-visibility.js';
import { CAUSAL, operationAdapter } from './adapter.js';

/** Snapshots have an entry for each region; after an answer a replica writes nothing at or below its own. */
export const contrarian = operationAdapter({
  protocol,
  clocks: 'hybrid',
  promises: CAUSAL,
  readsWait: 'for-lost-data',
  snapshots: {
    visibility: vectorVisibility,
    snapshot: (asked, region, { regions }) => ({ ts: asked[regions.indexOf(region)]!, deps: asked }),
    closes: (asked, region, { regions }) => asked[regions.indexOf(region)]!,
  },
  // DVc: SV lies nowhere below it, DV is it with the version's own timestamp, and what a GET shows lies within it.
  seen: {
    inSnapshot: isWithin,
    inVersion: (seen, { ts, deps = [] }) => isWithin(seen, deps) && seen.every((before) => before < ts),
    hasVersion: (seen, { deps = [] }) => isWithin(deps, seen),
  },
});

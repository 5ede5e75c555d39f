/** The checks of each protocol of single operations. */
import type { OperationName } from '@isochron/protocols';
import { UP_TO_A_TIMESTAMP } from '../../checks/evidence/visibility.js';
import { isWithin, vectorVisibility } from '../vector-visibility.js';
import { CAUSAL, CAUSAL_OPERATIONS, NOT_CAUSAL, type SimulatedOperations } from './adapter.js';
import { okapiVisibility } from './okapi-visibility.js';
import { orbeCompletion } from './orbe-completion.js';
import { overtakingPlans } from './overtaking.js';
import { RACES } from './races.js';

export const OPERATIONS: { readonly [Name in OperationName]: SimulatedOperations } = {
  /** Snapshots have an entry for each region; after an answer a replica writes nothing at or below its own. */
  contrarian: {
    clocks: 'hybrid',
    promises: CAUSAL,
    readsWait: 'for-lost-data',
    snapshots: {
      visibility: vectorVisibility,
      snapshot: (asked, region, { regions }) => ({ ts: asked[regions.indexOf(region)]!, deps: asked }),
      closes: (asked, region, { regions }) => asked[regions.indexOf(region)]!,
    },
    // DVc: SV is at or above it, DV is it with the version's own timestamp, and a version that a GET shows lies within
    // it.
    seen: {
      inSnapshot: isWithin,
      inVersion: (seen, { ts, deps = [] }) => isWithin(seen, deps) && seen.every((before) => before < ts),
      hasVersion: (seen, { deps = [] }) => isWithin(deps, seen),
    },
  },
  /** Versions of other regions are shown once every region has them; ROTs see local ones up to their clock. */
  okapi: {
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
  },
  /** Snapshots are one timestamp, which the region has everything up to; ROTs wait for it, PUTs for their clock. */
  gentlerain: {
    clocks: 'physical',
    promises: CAUSAL,
    readsWait: 'for-snapshots',
    snapshots: {
      visibility: () => ({ ...UP_TO_A_TIMESTAMP, localDeps: true }),
      snapshot: ([st = 0]) => ({ ts: st }),
      closes: ([st = 0]) => st,
    },
    // `[dt, GSTc]`: a version lies above all earlier reads and writes, and its writer's stable time stays with it.
    seen: {
      inSnapshot: (seen, [st = 0]) => seen.every((ts) => ts <= st),
      inVersion: ([dt = 0, gst = 0], { ts, deps: [known = 0] = [] }) => dt < ts && gst <= known,
      hasVersion: ([dt = 0, gst = 0], { ts, region, deps: [known = 0] = [] }, here) =>
        ts <= dt && (region === here ? known <= gst : ts <= gst),
    },
  },
  /** No snapshots, no dependencies: a read sees the newest versions that its replica has. */
  eventual: {
    clocks: 'physical',
    promises: NOT_CAUSAL,
    readsWait: 'for-lost-data',
  },
  /** Single operations alone; updates of other regions wait for the versions that their matrix names. */
  orbe: {
    clocks: 'hybrid',
    promises: CAUSAL_OPERATIONS,
    readsWait: 'for-lost-data',
    plans: overtakingPlans(0),
    ownMessages: ['DepCheckReq', 'DepCheckResp'],
  },
  /** Orbe with physical clocks: a snapshot is one timestamp, which clocks and the other regions must have passed. */
  'orbe-clock': {
    clocks: 'physical',
    promises: CAUSAL,
    readsWait: 'for-snapshots',
    snapshots: {
      visibility: () => UP_TO_A_TIMESTAMP,
      snapshot: ([st = 0]) => ({ ts: st }),
      closes: ([st = 0]) => st,
    },
    plans: overtakingPlans(6),
    ownMessages: ['DepCheckReq', 'DepCheckResp'],
  },
  /** Orbe whose matrices leave out versions that every replica is known to have. */
  'orbe-cleaning': {
    clocks: 'hybrid',
    promises: CAUSAL_OPERATIONS,
    readsWait: 'for-lost-data',
    complete: orbeCompletion,
    plans: overtakingPlans(0),
    ownMessages: ['DepCheckReq', 'DepCheckResp'],
  },
  /** Dependencies name keys; a read-only transaction asks a second time for the dependencies of the first answers. */
  'cops-gt': {
    clocks: 'hybrid',
    promises: CAUSAL,
    readsWait: 'for-lost-data',
    plans: RACES,
    ownMessages: ['DepCheckReq', 'DepCheckResp'],
  },
  /** Read-only transactions of one round; PUTs find out first which of them must not see the new version. */
  'cc-lo': {
    clocks: 'hybrid',
    promises: CAUSAL,
    readsWait: 'for-lost-data',
    plans: RACES,
    ownMessages: ['DepCheckReq', 'DepCheckResp', 'ReadersCheckReq', 'ReadersCheckResp'],
  },
};

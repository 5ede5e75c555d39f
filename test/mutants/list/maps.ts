/** The decision of maps (M1), and what maps that suspend nodes do (M2–M12). */
import type { Mutant, Profile } from '../mutant.js';
import {
  CUTS,
  FOLD_VERSIONS,
  MAP_MACHINE,
  OWED,
  OWN_COMMITS,
  PAST_COMMITS,
  RECEIVER,
  SLICE_READS,
  SLICES,
  STABILIZATION,
  STABLE_TIME,
} from './files.js';

/** Deciders compete, crash and are cut off. */
const MAPS_DISTURBED: Profile = {
  environment: { founded: true, noticeMs: 50 },
  faults: { kinds: ['nextMap', 'nextMap', 'isolateNode', 'crash'], count: 24, untilMs: 10_000 },
};

/** Nodes and regions do not answer, are suspended, and come back. */
const SUSPENDED: Profile = {
  settings: { suspendAfterMs: 300, lateInOrder: 1 },
  environment: { founded: true, noticeMs: 50 },
  faults: { kinds: ['isolateNode', 'isolateRegion', 'freeze', 'crash'], count: 14, untilMs: 12_000 },
};

/** The same, and what is committed again is late. */
const LATE: Profile = { ...SUSPENDED, settings: { suspendAfterMs: 300, lateInOrder: 0 } };

export const MAP_MUTANTS: readonly Mutant[] = [
  {
    name: 'decider-prefers-its-own-map',
    breaks: 'M1',
    does: 'proposes a map of its own where one is accepted',
    patches: [
      {
        file: MAP_MACHINE,
        in: 'MapMachine.#onSealed',
        find: 'acceptedIn(promises.map(([, sealed]) => sealed)) ?? this.#proposed(proposal)',
        replace: 'this.#proposed(proposal)',
      },
    ],
    seeds: { from: 1, count: 150 },
    profile: MAPS_DISTURBED,
  },
  {
    name: 'lower-ballot-accepted',
    breaks: 'M1',
    does: 'accepts a map in a ballot below its promise',
    patches: [
      {
        file: MAP_MACHINE,
        in: 'MapMachine.#onAcceptReq',
        find: 'ballot < maps.promised.ballot || ',
        replace: '',
      },
    ],
    seeds: { from: 1, count: 150 },
    profile: MAPS_DISTURBED,
  },
  {
    name: 'sealed-node-reports',
    breaks: 'M2',
    does: 'goes on reporting for stable time after it has sealed',
    patches: [{ file: STABILIZATION, in: 'Stabilization.#gossip', find: 'this.state.maps.isSealed || ', replace: '' }],
    seeds: { from: 1, count: 150 },
    profile: SUSPENDED,
  },
  {
    name: 'horizon-of-stable-time',
    breaks: 'M3',
    does: 'takes the highest stable time for the horizon, not the lowest durable minimum',
    patches: [{ file: MAP_MACHINE, in: 'MapMachine.#proposed', find: 'lowest, ...staying', replace: '...staying' }],
    seeds: { from: 1, count: 150 },
    profile: SUSPENDED,
  },
  {
    name: 'cut-without-behind',
    breaks: 'M4',
    does: 'does not defer what follows a write on a suspended node',
    patches: [{ file: CUTS, in: 'defers', find: '(need.ct ?? ct) > horizon', replace: 'need.ct === undefined' }],
    seeds: { from: 1, count: 150 },
    profile: SUSPENDED,
  },
  {
    name: 'adopts-before-its-horizon',
    breaks: 'M5',
    does: 'adopts a map whose horizon it has not reached',
    patches: [{ file: MAP_MACHINE, in: 'MapMachine.#adopt', find: '< horizon', replace: '< 0' }],
    seeds: { from: 1, count: 150 },
    profile: SUSPENDED,
  },
  {
    name: 'late-streams-unfiltered',
    breaks: 'M4',
    does: 'applies what an earlier map than that of the receiver would defer',
    patches: [{ file: RECEIVER, in: 'Receiver.#withoutDeferred', find: 'map >= topology.version', replace: 'true' }],
    seeds: { from: 1, count: 150 },
    profile: SUSPENDED,
  },
  {
    name: 'votes-dropped-at-the-cut',
    breaks: 'M7',
    does: 'drops the votes of prepared slices that a map defers',
    patches: [
      {
        file: SLICES,
        in: 'Slices.#cutQueues',
        find: 'if (!isCut(Number.POSITIVE_INFINITY, record)) continue; this.prepared.remove(txId); this.#erase(txId, out);',
        replace:
          'if (!isCut(Number.POSITIVE_INFINITY, record)) continue; this.prepared.remove(txId); this.#erase(txId, out); continue;',
      },
    ],
    seeds: { from: 1, count: 150 },
    profile: SUSPENDED,
  },
  {
    name: 'cut-by-proposal',
    breaks: 'M4',
    does: 'judges a slice without a decision by its proposal, which may lie below the horizon',
    patches: [
      {
        file: SLICES,
        in: 'Slices.#cutQueues',
        find: 'isCut(Number.POSITIVE_INFINITY, record)',
        replace: 'isCut(record.pt, record)',
      },
    ],
    seeds: { from: 1060, count: 150 },
    profile: SUSPENDED,
  },
  {
    name: 'reads-what-is-to-be-cut',
    breaks: 'M6',
    does: 'serves snapshots of a map while the data have what the map defers',
    patches: [{ file: SLICE_READS, in: 'SliceReads.#isAhead', find: 'maps.isAdopting &&', replace: 'false &&' }],
    seeds: { from: 1020, count: 150 },
    profile: SUSPENDED,
  },
  {
    name: 'log-not-searched',
    breaks: 'M8',
    does: 'commits again what a suspended node had committed below the horizon',
    patches: [
      {
        file: PAST_COMMITS,
        in: 'PastCommits.mustLook',
        find: 'return sentAfter < this.#horizon(identity.map);',
        replace: 'return sentAfter < 0;',
      },
    ],
    seeds: { from: 180, count: 150 },
    profile: SUSPENDED,
  },
  {
    name: 'returned-without-order',
    breaks: 'M11',
    does: 'commits again what was deferred in no order, and behind nothing',
    patches: [
      {
        file: OWED,
        in: 'Owed.follows',
        find: 'this.#waitsFor = others.size;',
        replace: 'this.#waitsFor = others.size - others.size; return;',
      },
    ],
    seeds: { from: 150, count: 150 },
    profile: SUSPENDED,
  },
  {
    name: 'returned-before-the-fence',
    breaks: 'M9',
    does: 'commits again before all members have what earlier maps have committed',
    patches: [
      {
        file: STABLE_TIME,
        in: 'StableTime.isFenced',
        find: 'return this.#aggregated >= this.#fence;',
        replace: 'return this.#aggregated >= this.#fence - this.#fence;',
      },
    ],
    seeds: { from: 1, count: 150 },
    profile: SUSPENDED,
  },
  {
    name: 'session-ignores-cuts',
    breaks: 'M10',
    does: 'does not judge the commits of a session by the cuts that it gets',
    patches: [
      {
        file: OWN_COMMITS,
        in: 'OwnCommits.cut',
        find: 'this.#cuts.some(({ map }) => map === cut.map)',
        replace: 'cut.map >= 0',
      },
    ],
    seeds: { from: 1, count: 150 },
    profile: SUSPENDED,
  },
  {
    name: 'late-puts-replace',
    breaks: 'F9',
    does: 'lets a late put replace what was written at a later time',
    patches: [
      {
        file: FOLD_VERSIONS,
        in: 'foldVersions',
        find: 'else if (time >= changedAt) fold = new Fold(value, { ts, txId });',
        replace: 'else fold = new Fold(value, { ts, txId });',
      },
    ],
    seeds: { from: 5, count: 150 },
    profile: LATE,
  },
  {
    name: 'collected-without-times',
    breaks: 'F9',
    does: 'collects a late write without the time by which it is judged',
    patches: [
      {
        file: FOLD_VERSIONS,
        in: 'foldVersions',
        find: 'const at = changedAt === newest.ts ? undefined : changedAt;',
        replace: 'const at = undefined;',
      },
    ],
    seeds: { from: 5, count: 150 },
    profile: LATE,
  },
];

/** Attempts that avoid unresponsive regions (D4, retries anywhere). */
import type { Mutant, Profile } from '../mutant.js';
import { COMMITS, DIGEST, PEER_WATCH, RESOLVER, SLICES } from './files.js';

/** One node after the other is paused, without other faults. */
const FROZEN_NODES: Profile = {
  environment: { founded: true, noticeMs: 50 },
  faults: { kinds: ['freeze'], count: 3, untilMs: 6_000 },
};

/** Nodes are paused for so long that commits avoid them, while other coordinators crash and links are cut. */
const AVOIDED_AND_LOST: Profile = {
  settings: { resolveAfterMs: 300, commitTimeoutMs: 600 },
  environment: { founded: true, requestTimeoutMs: 900 },
  faults: { kinds: ['freeze', 'isolateNode', 'crash', 'crashAt', 'cutLink'], count: 20, untilMs: 8_000 },
};

export const AVAILABILITY_MUTANTS: readonly Mutant[] = [
  {
    name: 'frozen-node-not-noticed',
    breaks: 'D4',
    does: 'treats a node with a link as responsive, however long it sends nothing',
    patches: [
      {
        file: PEER_WATCH,
        in: 'PeerWatch.#answers',
        find: 'return receivedAtMs !== undefined && nowMs',
        replace: 'return receivedAtMs !== undefined || nowMs < 0 && nowMs',
      },
    ],
    seeds: { from: 73, count: 150 },
    profile: FROZEN_NODES,
  },
  {
    name: 'resolver-asks-the-home',
    breaks: 'D4',
    does: 'asks the cohorts that an overdue attempt would have without avoided regions',
    patches: [
      {
        file: RESOLVER,
        in: 'Resolver.#ask',
        find: 'this.#addresses.cohort(partition, identity)',
        replace: 'this.#addresses.cohort(partition, { map: identity.map, home: identity.home })',
      },
    ],
    seeds: { from: 13, count: 150 },
    profile: AVOIDED_AND_LOST,
  },
  {
    name: 'prepared-forgets-what-it-avoids',
    breaks: 'D4',
    does: 'does not store the avoided regions of an attempt with its prepare',
    patches: [
      {
        file: SLICES,
        in: 'Slices.#recordOf',
        find: 'avoid,\n      ct,',
        replace: 'ct,',
      },
    ],
    seeds: { from: 2, count: 150 },
    profile: AVOIDED_AND_LOST,
  },
  {
    name: 'avoid-not-in-the-identity',
    breaks: 'D4',
    does: 'treats an attempt with other avoided regions as the same attempt',
    patches: [
      {
        file: DIGEST,
        in: 'fullDigest',
        find: 'avoid.map((region) => `',
        replace: 'avoid.slice(0, 0).map((region) => `',
      },
    ],
    seeds: { from: 1, count: 1 },
    script: 'attempt-avoids-otherwise.txt',
  },
  {
    name: 'settles-at-the-home',
    breaks: 'D4',
    does: 'asks about the previous attempt at the cohorts that it would have without avoided regions',
    patches: [
      {
        file: COMMITS,
        in: 'Commits.#send',
        find: 'out.send(this.addresses.cohort(partition, before), {',
        replace: 'out.send(this.addresses.cohort(partition, { map: before.map, home: before.home }), {',
      },
    ],
    seeds: { from: 13, count: 150 },
    profile: AVOIDED_AND_LOST,
  },
];

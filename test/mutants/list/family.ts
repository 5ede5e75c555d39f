/** The rules that are specific to Wren, BPR, Cure and H-Cure: their snapshots, and the versions that belong to them. */
import type { Mutant } from '../mutant.js';

const WREN = 'packages/protocols/src/wren/wren.ts';
const WREN_SESSION = 'packages/protocols/src/wren/session.ts';
const BPR = 'packages/protocols/src/bpr/bpr.ts';
const BPR_SESSION = 'packages/protocols/src/bpr/session.ts';
const VECTORS = 'packages/protocols/src/kernel/transactions/vectors.ts';

const WREN_MUTANTS: readonly Mutant[] = [
  {
    name: 'wren-remote-by-local-time',
    protocol: 'wren',
    breaks: 'Alg. 3 line 8',
    does: 'shows versions of other regions up to the local time of the snapshot',
    patches: [{ file: WREN, in: 'visible', find: ': ut <= rt && rdt <= lt;', replace: ': ut <= lt && rdt <= lt;' }],
    seeds: { from: 2, count: 60 },
  },
  {
    name: 'wren-cache-by-remote-time',
    protocol: 'wren',
    breaks: 'Alg. 1 line 6',
    does: 'takes own writes above the remote time from the cache, although the snapshot may have a newer version',
    patches: [
      { file: WREN_SESSION, in: 'wrenSession', find: 'partsOf(snapshot).lt,', replace: 'partsOf(snapshot).rt,' },
    ],
    seeds: { from: 1, count: 60 },
  },
  {
    name: 'wren-moves-without-waiting',
    protocol: 'wren',
    breaks: 'D9',
    does: 'uses the local time of another region as its own when a session moves',
    patches: [
      {
        file: WREN,
        in: 'RegionalSnapshots.assign',
        find: 'const here = parts.place === this.#place;',
        replace: 'const here = parts.place >= 0;',
      },
    ],
    seeds: { from: 2, count: 60 },
  },
  {
    name: 'wren-collects-by-local-time',
    protocol: 'wren',
    breaks: 'P9',
    does: 'allows the collection of versions up to the local time of the oldest snapshot in use',
    patches: [{ file: WREN, in: 'RegionalSnapshots.oldest', find: 'return Math.min(lt, rt);', replace: 'return lt;' }],
    seeds: { from: 7, count: 60 },
  },
  {
    name: 'wren-session-forgets-its-commits',
    protocol: 'wren',
    breaks: 'Alg. 1 line 21',
    does: 'begins the next commit below the last one of its session',
    patches: [
      {
        file: WREN_SESSION,
        in: 'wrenSession.committed',
        find: 'hwt: Math.max(hwt, commit.ts) });',
        replace: 'hwt });',
      },
    ],
    seeds: { from: 1, count: 60 },
  },
];

const BPR_MUTANTS: readonly Mutant[] = [
  {
    name: 'bpr-waits-for-one-region',
    protocol: 'bpr',
    breaks: 'PaRiS paper, section V',
    does: 'reads as soon as one region has passed the snapshot',
    patches: [
      {
        file: BPR,
        in: 'reading',
        find: "return ts <= replication.vv.durableMin ? undefined : 'later';",
        replace: "return ts <= Math.max(...Object.values(replication.vv.durableEntries())) ? undefined : 'later';",
      },
    ],
    seeds: { from: 1, count: 60 },
  },
  {
    name: 'bpr-waits-for-its-own-region',
    protocol: 'bpr',
    breaks: 'PaRiS paper, section V',
    does: 'reads when the transactions of its own region are applied, without waiting for those of other regions',
    patches: [
      {
        file: BPR,
        in: 'reading',
        find: "return ts <= replication.vv.durableMin ? undefined : 'later';",
        replace: "return ts <= replication.vv.durable(replication.state.region) ? undefined : 'later';",
      },
    ],
    seeds: { from: 1, count: 60 },
  },
  {
    name: 'bpr-reads-what-is-not-on-disk',
    protocol: 'bpr',
    breaks: 'D1',
    does: 'reads when everything is applied but not yet on disk',
    patches: [
      {
        file: BPR,
        in: 'reading',
        find: "return ts <= replication.vv.durableMin ? undefined : 'later';",
        replace: "return ts <= Math.min(...Object.values(replication.vv.entries())) ? undefined : 'later';",
      },
    ],
    seeds: { from: 1, count: 60 },
  },
  {
    name: 'bpr-forgets-its-commits',
    protocol: 'bpr',
    breaks: 'PaRiS paper, section V',
    does: 'begins the next transaction below the last commit of its session',
    patches: [
      { file: BPR_SESSION, in: 'bprSession', find: 'committed: newerOf,', replace: 'committed: (seen) => seen,' },
    ],
    seeds: { from: 96, count: 60 },
  },
  {
    name: 'bpr-reads-below-the-floor',
    protocol: 'bpr',
    breaks: 'P9',
    does: 'reads snapshots with collected versions',
    patches: [
      { file: BPR, in: 'reading', find: 'if (ts < replication.gcFloor) return TOO_OLD;', replace: 'void TOO_OLD;' },
    ],
    seeds: { from: 41, count: 60 },
  },
];

/** Cure and H-Cure differ only in their clocks. */
const vectorMutants = (protocol: string): readonly Mutant[] => [
  {
    name: `${protocol}-ignores-pending`,
    protocol,
    breaks: 'Cure, Alg. 3',
    does: 'reads while a transaction is prepared that may commit below the snapshot',
    patches: [
      {
        file: VECTORS,
        in: 'VectorReading.#missing',
        find: 'if (Math.min(pending, replication.undurable ?? Number.POSITIVE_INFINITY) <= local) return',
        replace: 'if ((replication.undurable ?? Number.POSITIVE_INFINITY) <= local) return',
      },
    ],
    seeds: { from: 1, count: 60 },
  },
  {
    name: `${protocol}-reads-what-is-not-on-disk`,
    protocol,
    breaks: 'D1',
    does: 'reads applied versions that are not yet on disk',
    patches: [
      {
        file: VECTORS,
        in: 'VectorReading.#missing',
        find: 'if (Math.min(pending, replication.undurable ?? Number.POSITIVE_INFINITY) <= local) return',
        replace: 'if (pending <= local) return',
      },
    ],
    seeds: { from: 1, count: 60 },
  },
  {
    name: `${protocol}-shows-by-one-entry`,
    protocol,
    breaks: 'DV <= SV',
    does: 'shows a version when one entry of its vector is covered',
    patches: [
      {
        file: VECTORS,
        in: 'VectorReading.#belongs',
        find: 'deps?.every((dep, i) => dep <= entries[i]!)',
        replace: 'deps?.some((dep, i) => dep <= entries[i]!)',
      },
    ],
    seeds: { from: 1, count: 60 },
  },
  {
    name: `${protocol}-does-not-wait-for-remote`,
    protocol,
    breaks: 'Cure, Alg. 3',
    does: 'reads before it has received all updates of other regions that the snapshot covers',
    patches: [
      {
        file: VECTORS,
        in: 'VectorReading.#missing',
        find: "return behind ? 'later' : undefined;",
        replace: 'void behind;\n    return undefined;',
      },
    ],
    seeds: { from: 1, count: 200 },
  },
  {
    name: `${protocol}-commits-without-its-entry`,
    protocol,
    breaks: 'Cure, Alg. 2',
    does: "leaves the commit timestamp out of a version's vector",
    patches: [
      {
        file: VECTORS,
        in: 'VectorSnapshots.stamp',
        find: '(region === source ? ct :',
        replace: '(region === source ? 0 :',
      },
    ],
    seeds: { from: 1, count: 60 },
  },
];

export const FAMILY_MUTANTS: readonly Mutant[] = [
  ...WREN_MUTANTS,
  ...BPR_MUTANTS,
  ...vectorMutants('cure'),
  ...vectorMutants('h-cure'),
];

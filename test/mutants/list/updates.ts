/** Updates that merge (F1 to F5). */
import type { Mutant, Profile } from '../mutant.js';
import { COPIES, HOSTED_PARTITION, MEMORY_STORE, SESSION, STORED_VERSIONS } from './files.js';

/** Disks are lost, and links are cut, so that versions arrive late, again, or in a copy. */
const COPIED: Profile = {
  environment: { founded: true },
  faults: { kinds: ['wipe', 'rollback', 'cutLink', 'crash'], count: 8, untilMs: 5_000 },
};

export const UPDATE_MUTANTS: readonly Mutant[] = [
  {
    name: 'folds-by-arrival',
    breaks: 'F2',
    does: 'folds updates in the order in which the replica received them',
    patches: [
      {
        file: STORED_VERSIONS,
        in: 'insertSorted',
        find: 'if (i === versions.length) versions.push(version);',
        replace: 'if (i === versions.length || !isPlain(version)) versions.push(version);',
      },
    ],
    seeds: { from: 7, count: 100 },
  },
  {
    name: 'folds-twice',
    breaks: 'F4',
    does: 'folds an update again when it arrives again',
    patches: [
      {
        file: STORED_VERSIONS,
        in: 'insertSorted',
        find: 'if (order === 0) return replaceByFold(versions, i - 1, version);',
        replace:
          'if (order === 0 && isPlain(version)) return replaceByFold(versions, i - 1, version);\n    if (order === 0) break;',
      },
    ],
    seeds: { from: 73, count: 200 },
    profile: COPIED,
  },
  {
    name: 'folds-above-the-floor',
    breaks: 'F3',
    does: 'collects the first update above the floor, too',
    patches: [
      {
        file: MEMORY_STORE,
        in: 'MemoryPartition.#prune',
        find: 'indexAtOrBelow(chain, collectable(chain[newest]!, gcFloor));',
        replace: '(isPlain(chain[newest]!) ? newest : Math.min(newest + 1, chain.length - 1));',
      },
    ],
    seeds: { from: 2, count: 100 },
  },
  {
    name: 'copy-without-updates',
    breaks: 'D10',
    does: 'leaves updates out of a copy for a replica that has lost its disk',
    patches: [
      {
        file: COPIES,
        in: 'Copies.onReadCopy',
        find: 'isWanted(version.region) &&',
        replace:
          "(!(typeof version.value === 'object' && version.value !== null && 'operations' in version.value)) && isWanted(version.region) &&",
      },
    ],
    seeds: { from: 19, count: 200 },
    profile: COPIED,
  },
  {
    name: 'overlay-again',
    breaks: 'F5',
    does: 'lays own updates over a snapshot that contains them',
    patches: [
      {
        file: SESSION,
        in: 'SessionTransaction.#above',
        find: 'cached.filter(({ ct }) => ct > this.#covered);',
        replace: 'cached;',
      },
    ],
    seeds: { from: 4, count: 50 },
  },
  {
    name: 'collects-what-became-stable-late',
    breaks: 'F7',
    does: 'collects versions by their age alone, so that a claim that waited through an outage cannot be decided',
    patches: [
      {
        file: HOSTED_PARTITION,
        in: 'HostedPartition.collect',
        find: 'stable.aggregated, stableBefore, kept',
        replace: 'stable.aggregated, Math.max(stableBefore, stable.aggregated), kept',
      },
    ],
    seeds: { from: 1, count: 1 },
    script: 'p9-late-stability.txt',
  },
];

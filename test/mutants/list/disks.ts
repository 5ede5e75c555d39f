/** Lost and older disks under the protocols of the family, and clocks that start again (D5, D7, D10). */
import type { Mutant } from '../mutant.js';
import { KEPT_SESSION, NODE_CLOCK, SUSPECTS, WREN_SESSION } from './files.js';
import { TORN_BY_LOST_DISKS } from './replication.js';
import { FORKED_TOKENS } from './sessions.js';

/** Each has a plan that shows it. */
const FEW = { from: 1, count: 5 };

export const DISK_MUTANTS: readonly Mutant[] = [
  {
    name: 'lost-cohort-votes-again',
    protocol: 'h-cure',
    breaks: 'D10',
    does: 'lets a cohort that prepared nothing before its disk was lost vote for a transaction that was taken back',
    patches: [
      {
        file: SUSPECTS,
        in: 'Suspects.takeBack',
        find: 'isHere || (wasLostHere && endsAt < attempt)',
        replace: 'isHere',
      },
    ],
    seeds: FEW,
    profile: TORN_BY_LOST_DISKS,
  },
  {
    name: 'adopted-cache-without-its-region',
    protocol: 'wren',
    breaks: 'D13',
    does: "adopts a session's cache without the region in which its writes are covered",
    patches: [
      {
        file: WREN_SESSION,
        in: 'wrenSession.adopted',
        find: 'return hwt <= Math.min(lt, rt) ? seen :',
        replace: 'return hwt >= 0 ? seen :',
      },
    ],
    seeds: FEW,
    profile: FORKED_TOKENS,
  },
  {
    name: 'kept-commit-without-its-region',
    protocol: 'wren',
    breaks: 'W11',
    does: 'takes a commit into a kept session as if it was sent with what the session has seen since',
    patches: [
      {
        file: KEPT_SESSION,
        in: 'KeptSession.committed',
        find: '.learn({ txId, snapshot, deps, writes }, commit)',
        replace: '.learn({ txId, writes, snapshot: this.seen.ts, deps: this.seen.deps }, commit)',
      },
    ],
    seeds: FEW,
    profile: FORKED_TOKENS,
  },
  {
    name: 'ceiling-far-above-the-clock',
    breaks: 'D7',
    does: 'sets the durable ceiling a second above a clock that is ahead itself, so that each start takes it further',
    patches: [
      {
        file: NODE_CLOCK,
        in: 'NodeClock.#raise',
        find: 'Math.min(ts, this.#wall) + CEILING_STEP);',
        replace: 'ts + CEILING_STEP);',
      },
    ],
    seeds: FEW,
  },
];

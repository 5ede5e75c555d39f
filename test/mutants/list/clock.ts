/** Timestamps, applying, version clocks, restarts: P1–P4, P6, D1, D7. */
import type { Mutant, Profile } from '../mutant.js';
import { COMMITTED, DRIFT_WATCH, HOSTED_PARTITION, NODE, NODE_PARTS, PEER_CLOCKS, REPLICA, VECTOR } from './files.js';

/** While one clock is ahead, the others count after it: equal timestamps are common. */
export const SAME_TIMES: Profile = { faults: { kinds: ['clockJump'], count: 20, untilMs: 3_000 } };

/** Clocks that are set back, and restarts while links are down. */
const CLOCKS_BACK: Profile = {
  faults: { kinds: ['clockJump', 'crash', 'crashAt', 'isolateNode', 'isolateRegion'], count: 30, untilMs: 4_000 },
};

/** Clocks that are far off, before and after a start, and corrected. */
const FAR_OFF: Profile = {
  faults: { kinds: ['clockFarOff', 'clockFarOffAtStart'], count: 4, untilMs: 3_000 },
};

/** Frames of peers that do not bound their clocks. */
const FAR_FRAMES: Profile = { faults: { kinds: ['farFrame'], count: 2, untilMs: 2_000 } };

export const CLOCK_MUTANTS: readonly Mutant[] = [
  {
    name: 'hlc-stays-behind',
    breaks: 'P1',
    does: 'publishes a version clock without moving the HLC to it',
    patches: [
      { file: HOSTED_PARTITION, in: 'HostedPartition.nextVersionClock', find: 'clock.advance(bound);', replace: '' },
    ],
    seeds: { from: 1, count: 20 },
  },
  {
    name: 'apply-below-the-bound',
    breaks: 'P2',
    does: 'applies ct < ub, as in the pseudo-code, instead of ct <= ub',
    patches: [
      {
        file: COMMITTED,
        in: 'CommittedQueue.drain',
        find: 'this.#items[count]!.ct <= bound) count++;',
        replace: 'this.#items[count]!.ct < bound) count++;',
      },
    ],
    seeds: { from: 1, count: 20 },
  },
  {
    name: 'clock-before-groups',
    breaks: 'P3',
    does: 'raises the version clock before the groups below it are applied',
    patches: [
      {
        file: REPLICA,
        in: 'Replica.#apply',
        find: 'const groups = this.cohort.slices.committed.drain(bound);',
        replace:
          'const groups = this.cohort.slices.committed.drain(bound);\n    this.replication.publish(bound, groups.length > 0, out);',
      },
    ],
    seeds: { from: 1, count: 20 },
  },
  {
    name: 'silent-empty-rounds',
    breaks: 'P3',
    does: 'publishes no version clock after a round that applied nothing',
    patches: [
      {
        file: REPLICA,
        in: 'Replica.#apply',
        find: 'for (const group of groups) this.#applyOwn(group, out);',
        replace: 'if (groups.length === 0) return;\n    for (const group of groups) this.#applyOwn(group, out);',
      },
    ],
    seeds: { from: 1, count: 10 },
  },
  {
    name: 'split-group',
    breaks: 'P4',
    does: 'applies the last transaction of a commit timestamp in a later round than the others of it',
    patches: [
      {
        file: COMMITTED,
        in: 'CommittedQueue.drain',
        find: 'const groups: { ct: Timestamp; txs: Committed[] }[] = [];',
        replace:
          'if (count > 1 && this.#items[count - 1]!.ct === this.#items[count - 2]!.ct) count--;\n    const groups: { ct: Timestamp; txs: Committed[] }[] = [];',
      },
    ],
    seeds: { from: 40, count: 200 },
    profile: SAME_TIMES,
  },
  {
    name: 'commit-at-the-first-proposal',
    breaks: 'P6, Alg. 2 line 26',
    does: 'commits at the first proposal that comes instead of the greatest',
    patches: [
      {
        file: 'packages/protocols/src/kernel/transactions/two-phase-commit.ts',
        in: 'Votes.prepared',
        find: 'pt > this.#maxPt) this.#maxPt = pt;',
        replace: 'this.#maxPt === 0) this.#maxPt = pt;',
      },
    ],
    seeds: { from: 1, count: 20 },
  },
  {
    name: 'clock-counts-before-its-batch',
    breaks: 'D1',
    does: 'takes a version vector for durable when its groups are only applied',
    patches: [
      {
        file: VECTOR,
        in: 'VersionVector.raise',
        find: 'if (seq > this.#persisted || this.#pending.length > 0)',
        replace: 'if (seq < 0)',
      },
    ],
    seeds: { from: 1, count: 20 },
  },
  {
    name: 'restart-without-ceiling',
    breaks: 'D7',
    does: 'starts the HLC of a restarted node without the durable ceiling',
    patches: [
      {
        file: NODE_PARTS,
        in: 'recoverState',
        find: 'const start = Math.max(ceiling, ust, known, highestVector(recovered));',
        replace: 'const start = Math.max(ust, known, highestVector(recovered));',
      },
    ],
    seeds: { from: 1, count: 100 },
    profile: CLOCKS_BACK,
  },
  {
    name: 'restart-without-prepared',
    breaks: 'D7',
    does: 'loses its prepared transactions in a restart',
    patches: [
      {
        file: NODE,
        in: 'recoverReplica',
        find: 'for (const { txId, record } of own) replica.cohort.slices.recovered(txId, record, options.now);',
        replace: '',
      },
    ],
    seeds: { from: 2, count: 100 },
  },
  {
    name: 'ties-by-arrival',
    breaks: 'last writer wins',
    does: 'lets the last version that a replica received win a tie of timestamps, so that every region has its own order',
    patches: [
      {
        file: 'packages/storage/src/versions.ts',
        in: 'insertSorted',
        find: 'const order = compareVersions(versions[i - 1]!, version);',
        replace:
          'const known = versions[i - 1]!;\n    const order = known.ts === version.ts && known.txId !== version.txId ? -1 : compareVersions(known, version);',
      },
    ],
    seeds: { from: 30, count: 200 },
    profile: SAME_TIMES,
  },
  {
    name: 'clock-used-before-compared',
    breaks: 'K2',
    does: 'stamps with its wall clock from its start on, before it has compared it with another clock',
    patches: [
      {
        file: DRIFT_WATCH,
        in: 'DriftWatch.compared',
        find: 'return this.readings === undefined || this.peers === 0 || this.#clocks.size > 0;',
        replace: 'return true;',
      },
    ],
    seeds: { from: 2, count: 50 },
    profile: FAR_OFF,
  },
  {
    name: 'clock-used-outside-the-limit',
    breaks: 'K2',
    does: 'stamps and prepares with a wall clock that is further off than the limit',
    patches: [
      {
        file: DRIFT_WATCH,
        in: 'DriftWatch.trusted',
        find: 'return this.compared && !this.excessive;',
        replace: 'return this.compared;',
      },
    ],
    seeds: { from: 1, count: 50 },
    profile: FAR_OFF,
  },
  {
    name: 'frames-adopted-unbounded',
    breaks: 'K1',
    does: 'follows the clock of every frame',
    patches: [
      {
        file: PEER_CLOCKS,
        in: 'PeerClocks.#refused',
        find: 'if (ts <= this.drift.newestAdoptable) return undefined;',
        replace: 'if (ts >= 0) return undefined;',
      },
      {
        file: DRIFT_WATCH,
        in: 'DriftWatch.newestAdoptable',
        find: 'return packWall(this.readings.wall() - aheadMs + this.maxClockDriftMs);',
        replace: 'return Number.POSITIVE_INFINITY;',
      },
    ],
    seeds: { from: 1, count: 20 },
    profile: FAR_FRAMES,
  },
];

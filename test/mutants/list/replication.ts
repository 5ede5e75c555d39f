/** Replication, replay, copies: D1, D5, D6, D10, P3. */
import type { Mutant, Profile } from '../mutant.js';
import { SAME_TIMES } from './clock.js';
import { REBUILD, REPLICA } from './files.js';
import { TINY_STRETCHES } from './variants.js';

/** Single frames are lost, come twice, or come late, and the connections stay. */
const UNRULY_LINKS: Profile = { faults: { kinds: ['unrulyLink'], count: 12, untilMs: 3_000 } };

/** Disks that are lost while some peers are out of sight. */
export const LOST_DISKS: Profile = {
  faults: {
    kinds: ['wipe', 'wipe', 'rollback', 'cutLink', 'isolateNode', 'clockJump', 'crash'],
    count: 20,
    untilMs: 5_000,
  },
};

export const REPLICATION_MUTANTS: readonly Mutant[] = [
  {
    name: 'replicate-before-durable',
    breaks: 'D1',
    does: 'replicates what is applied, not what is on disk',
    patches: [
      {
        file: REPLICA,
        find: 'const upTo = this.vv.durable(this.state.region);\n    for (const',
        replace: 'const upTo = this.vv.applied(this.state.region);\n    for (const',
      },
    ],
    seeds: { from: 1, count: 10 },
  },
  {
    name: 'replay-from-elsewhere',
    breaks: 'D6',
    does: "replays the log from its own entry of the peer's region instead of where the peer is",
    patches: [
      {
        file: REPLICA,
        find: 'const page = this.state.reader.log(this.partition, after, upTo);',
        replace:
          'const page = this.state.reader.log(this.partition, Math.min(upTo, Math.max(after, this.vv.applied(region))), upTo);',
      },
    ],
    seeds: { from: 1, count: 50 },
  },
  {
    name: 'heartbeat-without-from',
    breaks: 'D6',
    does: 'believes a heartbeat whatever lies between it and what is there',
    patches: [
      {
        file: REPLICA,
        find: 'if (this.#follows(source, from, now, out)) this.#heard(source, to, false, out);',
        replace: 'if (this.#peers.has(source)) this.#heard(source, to, false, out);',
      },
    ],
    seeds: { from: 1, count: 50 },
    profile: UNRULY_LINKS,
  },
  {
    name: 'gap-not-noticed',
    breaks: 'D6',
    does: 'accepts a stretch that does not begin where the last one ended',
    patches: [
      {
        file: REPLICA,
        find: 'if (from <= this.vv.applied(source)) {',
        replace: 'if (from >= 0) {',
      },
    ],
    seeds: { from: 1, count: 50 },
    profile: UNRULY_LINKS,
  },
  {
    name: 'fragment-counts',
    breaks: 'P3',
    does: 'raises the version vector with each fragment of a group, so that its other fragments count as stale',
    patches: [
      ...TINY_STRETCHES,
      {
        file: REPLICA,
        find: 'this.#heard(source, to, wrote, out);\n    if (wrote)',
        replace: 'this.#heard(source, Math.max(to, groups.at(-1)?.ct ?? 0), wrote, out);\n    if (wrote)',
      },
    ],
    seeds: { from: 1, count: 20 },
    profile: SAME_TIMES,
  },
  {
    name: 'log-truncated-early',
    breaks: 'D5',
    does: 'truncates the log up to its own version clock instead of UST, and replays what is left as if it were all',
    patches: [
      {
        file: REPLICA,
        find: 'const covered = this.#logged.upTo(stable.aggregated);',
        replace: 'const covered = this.#logged.upTo(this.versionClock);',
      },
      { file: REPLICA, find: 'if (from < truncatedUpTo) {', replace: 'if (from < 0) {' },
    ],
    seeds: { from: 1, count: 50 },
  },
  {
    name: 'refill-after-one-answer',
    breaks: 'D10',
    does: 'comes back after it has heard one peer of a partition instead of all of them',
    patches: [
      {
        file: REBUILD,
        find: 'if (!others.every(({ node }) => this.#answers.has(node))) return undefined;',
        replace: 'if (others.length > 0 && !others.some(({ node }) => this.#answers.has(node))) return undefined;',
      },
      {
        file: REBUILD,
        find: 'const holders = others.filter(({ node }) => this.#answers.get(node)!.joined);',
        replace: 'const holders = others.filter(({ node }) => this.#answers.get(node)?.joined);',
      },
    ],
    seeds: { from: 1, count: 300 },
    profile: LOST_DISKS,
  },
  {
    name: 'refill-without-own',
    breaks: 'D10',
    does: 'does not put into its log what it sourced itself and some peer may lack',
    patches: [
      {
        file: REBUILD,
        find: 'if (version.region === this.state.region) this.#takeOwn(gathered, key, version);',
        replace: '',
      },
    ],
    seeds: { from: 1, count: 300 },
    profile: LOST_DISKS,
  },
];

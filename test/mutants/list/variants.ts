/** Unusual behaviours that are correct. */
import type { Patch, Variant } from '../mutant.js';
import { COMMITS, RANGES, RESOLVER, STREAM } from './files.js';

/** Every group is cut into fragments, and every range is as short as possible. */
export const TINY_RANGES: readonly Patch[] = [
  { file: STREAM, in: 'MAX_RANGE_BYTES', find: '512 * 1024', replace: '1' },
];

export const VARIANTS: readonly Variant[] = [
  {
    name: 'tiny-ranges',
    does: 'replicates each transaction in a message of its own',
    rules: ['P3', 'D6', 'D10'],
    patches: TINY_RANGES,
  },
  {
    name: 'heartbeats-are-replicates',
    does: 'sends an empty Replicate in place of a Heartbeat',
    rules: ['D6', 'D7', 'P13'],
    patches: [
      { file: RANGES, in: 'sendRange', find: 'if (groups.length === 0 && !more) {', replace: 'if (upTo < 0) {' },
    ],
  },
  {
    name: 'cohorts-in-reverse',
    does: 'sends requests and decisions to the cohorts from the last to the first, and each of them twice',
    rules: ['D2', 'D4', 'P11'],
    patches: [
      {
        file: COMMITS,
        in: 'Commits.#send',
        find: 'for (const partition of votes.waiting)',
        replace: 'for (const partition of [...votes.waiting, ...votes.waiting].reverse())',
      },
      {
        file: COMMITS,
        in: 'Commits.#sendDecision',
        find: 'for (const partition of cohorts) {',
        replace: 'for (const partition of [...cohorts, ...cohorts].reverse()) {',
      },
    ],
  },
  {
    name: 'everything-is-resolved-twice',
    does: 'asks every cohort twice when a decision is overdue',
    rules: ['D2', 'D4'],
    patches: [
      {
        file: RESOLVER,
        in: 'Resolver.#ask',
        find: 'for (const partition of resolution.ask(now)) {',
        replace: 'for (const partition of resolution.ask(now).flatMap((p) => [p, p])) {',
      },
    ],
  },
  {
    name: 'never-idle',
    does: 'keeps the interval of its rounds when it is idle',
    rules: ['D7', 'P13'],
    patches: [
      {
        file: 'packages/protocols/src/kernel/activity.ts',
        in: 'Activity.nextRound',
        find: 'const interval = intervalMs * Math.min(this.idleBackoff, 2 ** Math.floor(idleFor / IDLE_AFTER_MS));',
        replace: 'const interval = intervalMs + 0 * idleFor;',
      },
    ],
  },
];

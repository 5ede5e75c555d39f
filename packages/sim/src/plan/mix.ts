/** The mix of transactions of one run. */
import type { Random } from '@isochron/core';
import { integer, logBetween } from '@isochron/simulated-world/draws';
import type { TransactionPlan } from './plan.js';

/**
 * The kinds that are drawn among others: not the waits for stable time between them (`draw-stable.ts`), bursts
 * (`draw-bursts.ts`), and live queries (`draw-live.ts`).
 */
type MixedKind = Exclude<TransactionPlan['kind'], 'stable' | 'burst' | 'live'>;

export interface Mix {
  readonly kinds: readonly (readonly [MixedKind, number])[];
  readonly reads: number;
  readonly writes: number;
  readonly deletes: number;
  readonly thinkMs: number;
  /** Share of commits that lose their connection, and share that is duplicated. */
  readonly losses: number;
  readonly duplicates: number;
  /** Share of steps that wait, and how long. */
  readonly pauses: number;
  readonly pauseMs: number;
  readonly reconnects: number;
  /** Skew of keys: 0 is even. */
  readonly hot: number;
}

/** Draws the mix of a run. */
export type DrawMix = (random: Random) => Mix;

/** The weight, in this share of all runs. */
const someTimes = (random: Random, share: number, weight: number): number => (random.chance(share) ? weight : 0);

/** Interactive transactions, one-shot forms, and the other operations of such a session. */
export const transactionMix: DrawMix = (random) => ({
  kinds: [
    ['interactive', 10],
    ['read', someTimes(random, 0.7, 6)],
    ['write', someTimes(random, 0.7, 6)],
    ['list', someTimes(random, 0.4, 2)],
    ['watch', someTimes(random, 0.4, 0.5)],
    ['past', someTimes(random, 0.3, 1)],
    ['status', someTimes(random, 0.3, 1)],
    ['move', someTimes(random, 0.4, 0.7)],
  ],
  reads: integer(random, 1, 6),
  writes: integer(random, 1, 5),
  deletes: random.chance(0.5) ? 0 : random.float() * 0.4,
  thinkMs: logBetween(random, 0.5, 60),
  losses: random.chance(0.5) ? 0 : random.float() * 0.3,
  duplicates: random.chance(0.6) ? 0 : random.float() * 0.3,
  pauses: random.chance(0.5) ? 0 : random.float() * 0.2,
  pauseMs: logBetween(random, 5, 2_000),
  reconnects: random.chance(0.7) ? 0 : random.float() * 0.1,
  hot: random.chance(0.4) ? 0 : random.float() * 3,
});

/** GET and PUT, and one-shot read-only transactions where the protocol has them (a weight of 0: none). */
export const operationMix =
  (readOnlyTransactions: number): DrawMix =>
  (random) => ({
    kinds: [
      ['get', 8],
      ['read', someTimes(random, 0.8, readOnlyTransactions)],
      ['write', 8],
      ['move', someTimes(random, 0.5, 2)],
    ],
    reads: integer(random, 2, 6),
    writes: 1,
    deletes: random.chance(0.5) ? 0 : random.float() * 0.4,
    thinkMs: logBetween(random, 0.5, 60),
    losses: random.chance(0.5) ? 0 : random.float() * 0.3,
    duplicates: random.chance(0.6) ? 0 : random.float() * 0.3,
    pauses: 0,
    pauseMs: 0,
    reconnects: 0,
    hot: random.chance(0.2) ? 0 : random.float() * 5,
  });

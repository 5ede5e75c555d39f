/** Draws the commits after which a session waits until they are served everywhere. */
import type { Random } from '@isochron/core';
import { logBetween, rounded } from '@isochron/simulated-world/draws';
import type { SessionPlan, TransactionPlan } from './plan.js';

/** The sessions with waits after some of their writes, in a part of all runs. */
export function withStableWaits(random: Random, sessions: readonly SessionPlan[]): readonly SessionPlan[] {
  if (random.chance(0.5)) return sessions;
  const share = logBetween(random, 0.03, 0.4);
  const wait = (): TransactionPlan => ({
    kind: 'stable',
    thinkMs: 0,
    timeoutMs: rounded(logBetween(random, 300, 4_000)),
    againMs: rounded(logBetween(random, 20, 2_000)),
  });
  const behind = (plan: TransactionPlan) => (commits(plan) && random.chance(share) ? [plan, wait()] : [plan]);
  return sessions.map((session) => ({ ...session, transactions: session.transactions.flatMap(behind) }));
}

const commits = (plan: TransactionPlan): boolean =>
  plan.kind === 'write' ||
  (plan.kind === 'interactive' && plan.end === 'commit' && plan.steps.some(({ f }) => f === 'write'));

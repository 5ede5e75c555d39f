/** Draws live queries, which sessions observe beside their transactions. */
import { compareKeys, type QualifiedKey, type Random } from '@isochron/core';
import { exponential, integer, logBetween, rounded } from '@isochron/simulated-world/draws';
import { keysOf } from './keys.js';
import type { LivePlan, LiveScopePlan, SessionPlan } from './plan.js';

/** The sessions with live queries, in a part of all runs. */
export function withLive(random: Random, sessions: readonly SessionPlan[]): readonly SessionPlan[] {
  const keys = keysOf({ sessions });
  return keys.length === 0 || !random.chance(0.1) ? sessions : withSomeLive(random, sessions);
}

/** The sessions of a run that has live queries. */
export function withSomeLive(random: Random, sessions: readonly SessionPlan[]): readonly SessionPlan[] {
  const keys = keysOf({ sessions }).sort(compareKeys);
  const share = 0.2 + 0.8 * random.float();
  return sessions.map((session, i) => {
    if (i > 0 && !random.chance(share)) return session;
    const transactions = [...session.transactions];
    for (let count = integer(random, 1, 4); count > 0; count--)
      transactions.splice(random.below(Math.ceil((transactions.length + 1) / 2)), 0, drawLive(random, keys));
    return { ...session, transactions };
  });
}

const drawLive = (random: Random, keys: readonly QualifiedKey[]): LivePlan => ({
  kind: 'live',
  thinkMs: rounded(exponential(random, 10)),
  scopes: Array.from({ length: random.chance(0.6) ? 1 : integer(random, 2, 4) }, () => drawScope(random, keys)),
  forMs: random.chance(0.6) ? null : Math.round(logBetween(random, 50, 10_000)),
});

/** Some keys, a keyspace, the keys from one of them on up to another, or those that begin as one of them does. */
function drawScope(random: Random, keys: readonly QualifiedKey[]): LiveScopePlan {
  const key = random.pick(keys);
  const slash = key.indexOf('/');
  switch (random.below(4)) {
    case 0: {
      const some = Array.from({ length: integer(random, 1, 5) }, () => random.pick(keys));
      return { keys: [...new Set(some)] };
    }
    case 1:
      return { start: key.slice(0, slash + 1), end: `${key.slice(0, slash)}0` };
    case 2: {
      const of = keys.filter((other) => other.startsWith(key.slice(0, slash + 1)));
      const [start, last] = [key, random.pick(of)].sort(compareKeys) as [QualifiedKey, QualifiedKey];
      return { start, end: `${last}~` };
    }
    default: {
      const start = key.slice(0, slash + 3);
      return { start, end: `${start}~` };
    }
  }
}

/** Whether a scope has a key. */
export const isInScope = (scope: LiveScopePlan, key: QualifiedKey): boolean =>
  'keys' in scope ? scope.keys.includes(key) : compareKeys(scope.start, key) <= 0 && compareKeys(key, scope.end) < 0;

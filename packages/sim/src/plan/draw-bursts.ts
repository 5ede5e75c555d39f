/** Draws where sessions write several keys at once, without waiting for one before the next. */
import type { QualifiedKey, Random, Topology } from '@isochron/core';
import { exponential, integer, logBetween, rounded } from '@isochron/simulated-world/draws';
import { keysOf } from './keys.js';
import type { BurstPlan, SessionPlan } from './plan.js';

/** The sessions with bursts after their transactions, in a part of all runs. */
export function withBursts(
  random: Random,
  topology: Topology,
  sessions: readonly SessionPlan[],
): readonly SessionPlan[] {
  const keys = keysOf({ sessions });
  if (keys.length === 0 || !random.chance(0.4)) return sessions;
  const most = integer(random, 1, 6);
  return sessions.map((session) => {
    const bursts = Array.from({ length: integer(random, 0, most) }, () => drawBurst(random, topology, keys));
    return { ...session, transactions: [...session.transactions, ...bursts] };
  });
}

export function drawBurst(random: Random, topology: Topology, keys: readonly QualifiedKey[]): BurstPlan {
  const region = (): string => random.pick(topology.regions);
  return {
    kind: 'burst',
    thinkMs: rounded(exponential(random, 20)),
    writes: Array.from({ length: integer(random, 2, 8) }, () => ({
      key: random.pick(keys),
      deletes: random.chance(0.1),
    })),
    commit: {
      loses: random.chance(0.3) ? { region: region(), afterMs: rounded(logBetween(random, 0.1, 300)) } : null,
      duplicate: random.chance(0.1) ? { region: region(), afterMs: rounded(logBetween(random, 0.1, 3_000)) } : null,
    },
  };
}

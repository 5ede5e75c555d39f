import type { Topology } from '@isochron/core';
import { keysOf } from '../plan/keys.js';
import type { Plan, SessionPlan } from '../plan/plan.js';

/** How long an answer may take in a healed cluster, ms. */
export const PROBE_TIMEOUT_MS = 10_000;
/** How many keys one of them writes. */
const WRITES = 3;

/**
 * New clients for a healed cluster, one in each region: each reads every key of the plan in one snapshot, writes some, and reads
 * again, in one round trip each, so that no lease is too short for them. All of it must succeed.
 */
export function probesOf(plan: Plan, { regions }: Topology): SessionPlan[] {
  const keys = keysOf(plan).sort();
  if (keys.length === 0) return [];
  const commit = { loses: null, duplicate: null };
  return regions.map((region, i) => {
    const written = Array.from({ length: Math.min(WRITES, keys.length) }, (_, k) => keys[(i + k) % keys.length]!);
    return {
      name: `probe-${region}`,
      region,
      transactions: [
        { kind: 'read', thinkMs: 0, keys },
        { kind: 'write', thinkMs: 0, writes: written.map((key) => ({ key, deletes: false })), commit },
        { kind: 'read', thinkMs: 0, keys },
      ],
    };
  });
}

/** The longest mean delay between two nodes of a plan, one way. */
export function slowestMs({ environment }: Plan): number {
  const factor = Math.max(1, ...environment.slowLinks.map((link) => link.factor));
  return factor * Math.max(...environment.delayMs.flat());
}

import type { QualifiedKey, Topology } from '@isochron/core';
import { keysOf } from '../plan/keys.js';
import type { Plan, SessionPlan, TransactionPlan } from '../plan/plan.js';
import type { AtOnce } from '../protocols/adapter.js';

/** How long an answer may take in a healed cluster, ms. */
export const PROBE_TIMEOUT_MS = 10_000;
/** How often new clients try, and how long they wait in between, ms. */
export const PROBE_ROUNDS = 5;
export const PROBE_PAUSE_MS = 500;
/** How many keys one of them writes. */
const WRITES = 3;

/**
 * New clients for a healed cluster, one in each region: each reads every key of the plan in one snapshot, writes some,
 * and reads again, in one round trip each, so that no lease is too short for them. All of it must succeed in one of a
 * few rounds. Where a protocol takes fewer keys at once, they come one after the other.
 */
export function probesOf(plan: Plan, { regions }: Topology, round: number, atOnce: AtOnce): SessionPlan[] {
  const keys = keysOf(plan).sort();
  if (keys.length === 0) return [];
  const commit = { loses: null, duplicate: null };
  const read = readsOf(keys, atOnce);
  const write = (written: readonly QualifiedKey[]) =>
    inPieces(written, atOnce.writes).map((some) => ({
      kind: 'write' as const,
      thinkMs: 0,
      writes: some.map((key) => ({ key, deletes: false })),
      commit,
    }));
  return regions.map((region, i) => {
    const written = Array.from({ length: Math.min(WRITES, keys.length) }, (_, k) => keys[(i + k) % keys.length]!);
    return {
      name: `probe${round}-${region}`,
      region,
      transactions: [...read, ...write(written), ...read],
    };
  });
}

/**
 * New clients, one in each region, that read these keys: in one snapshot, as far as the protocol reads several keys at
 * once.
 */
export const newcomersOf = (
  name: string,
  keys: readonly QualifiedKey[],
  { regions }: Topology,
  atOnce: AtOnce,
): SessionPlan[] =>
  regions.map((region) => ({ name: `${name}-${region}`, region, transactions: readsOf(keys, atOnce), leaves: true }));

const readsOf = (keys: readonly QualifiedKey[], atOnce: AtOnce): TransactionPlan[] =>
  atOnce.reads === 1
    ? keys.map((key) => ({ kind: 'get' as const, thinkMs: 0, key }))
    : inPieces(keys, atOnce.reads).map((some) => ({ kind: 'read' as const, thinkMs: 0, keys: some }));

/** In their order, at most this many in each piece. */
function inPieces<T>(items: readonly T[], most: number): T[][] {
  const count = Math.ceil(items.length / Math.min(most, items.length));
  return Array.from({ length: count }, (_, i) => items.slice(i * most, (i + 1) * most));
}

/** The longest mean delay between two nodes of a plan, one way. */
export function slowestMs({ environment }: Pick<Plan, 'environment'>): number {
  const factor = Math.max(1, ...environment.slowLinks.map((link) => link.factor));
  return factor * Math.max(...environment.delayMs.flat());
}

import type { SessionRules } from './session.js';
import type { Snapshot } from './snapshots.js';

/**
 * A session has seen a vector. Its own writes lie in its next snapshot, and the replicas wait for them, so it needs no
 * cache.
 */
export const vectorSession: SessionRules = {
  merge: mergeVectors,
  committed: mergeVectors,
  covers: () => Number.POSITIVE_INFINITY,
};

/** The highest of both, entry by entry. */
function mergeVectors(a: Snapshot, b: Snapshot): Snapshot {
  const ts = Math.max(a.ts, b.ts);
  const entries = a.deps ?? b.deps;
  if (entries === undefined) return { ts };
  return { ts, deps: entries.map((_, i) => Math.max(a.deps?.[i] ?? a.ts, b.deps?.[i] ?? b.ts)) };
}

import type { SessionRules } from './session.js';
import type { Snapshot } from './snapshots.js';

/**
 * A session has seen a vector. Its own writes lie in its next snapshot, and the replicas wait for them, so it needs no
 * cache.
 */
export const vectorSession: SessionRules = {
  merge: mergeVectors,
  committed: mergeVectors,
  /** What the session has seen includes its commits, each in the entry of its home, which `hwt` does not name. */
  depending: (snapshot, seen) => (isPart(seen, snapshot) ? snapshot : mergeVectors(snapshot, seen)),
  covers: () => Number.POSITIVE_INFINITY,
};

/** Whether no entry of a vector lies above the other's. */
const isPart = (a: Snapshot, b: Snapshot): boolean =>
  a.ts <= b.ts && (a.deps ?? []).every((entry, i) => entry <= (b.deps?.[i] ?? b.ts));

/** The highest of both, entry by entry. */
function mergeVectors(a: Snapshot, b: Snapshot): Snapshot {
  const ts = Math.max(a.ts, b.ts);
  const entries = a.deps ?? b.deps;
  if (entries === undefined) return { ts };
  return { ts, deps: entries.map((_, i) => Math.max(a.deps?.[i] ?? a.ts, b.deps?.[i] ?? b.ts)) };
}

/**
 * The PaRiS session (Algorithm 1): it has seen a stable time, and keeps its own writes above it. Valid in every region
 * (D9).
 */
import type { Timestamp } from '@isochron/core';
import type { SessionRules } from '../kernel/transactions/session.js';
import type { Snapshot } from '../kernel/transactions/snapshots.js';

export const parisSession: SessionRules = {
  merge: (seen, more) => (more.ts > seen.ts ? more : seen),
  /** A commit is not stable yet: it is kept as `hwt`, and its writes in the cache. */
  committed: (seen: Snapshot): Snapshot => seen,
  covers: ({ ts }: Snapshot): Timestamp => ts,
  /** It is a snapshot itself. */
  stable: (seen, ust) => (ust > seen.ts ? { ts: ust } : seen),
};

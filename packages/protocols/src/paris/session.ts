/** The PaRiS session (Algorithm 1): it has seen a stable time, and keeps its own writes above it. Valid in every region (D9). */
import type { Timestamp } from '@isochron/core';
import { newerOf, Session, type SessionRules, type SessionState } from '../kernel/transactions/session.js';
import type { Snapshot } from '../kernel/transactions/snapshots.js';

const RULES: SessionRules = {
  merge: newerOf,
  /** A commit is not stable yet: it is remembered as `hwt`, and its writes in the cache. */
  committed: (seen: Snapshot): Snapshot => seen,
  covers: ({ ts }: Snapshot): Timestamp => ts,
  /** It is a snapshot itself. */
  stable: (seen, ust) => newerOf(seen, { ts: ust }),
};

export class ParisSession extends Session {
  /** @param id 128 random bits as text, never used by another session: a session that is imported gets a new one (P8). */
  constructor(id: string, state?: SessionState) {
    super(id, RULES, state);
  }
}

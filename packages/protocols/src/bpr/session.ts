/** The session of BPR: it has seen a snapshot, its own commits among them. It needs no cache, because its reads wait for them. */
import { newerOf, Session, type SessionRules, type SessionState } from '../kernel/transactions/session.js';

export const bprSession: SessionRules = {
  merge: newerOf,
  committed: newerOf,
  covers: () => Number.POSITIVE_INFINITY,
};

export class BprSession extends Session {
  /** @param id 128 random bits as text, never used by another session (P8) */
  constructor(id: string, state?: SessionState) {
    super(id, bprSession, state);
  }
}

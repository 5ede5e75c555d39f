/** The session of NoCC remembers nothing that it has read or written; only since when its commits are born (D5). */
import { newerOf, Session, type SessionRules, type SessionState } from '../kernel/transactions/session.js';

export const noccSession: SessionRules = {
  merge: newerOf,
  committed: (seen) => seen,
  covers: () => Number.POSITIVE_INFINITY,
};

export class NoccSession extends Session {
  /** @param id 128 random bits as text, never used by another session (P8) */
  constructor(id: string, state?: SessionState) {
    super(id, noccSession, state);
  }
}

/** The session of Cure: it has seen a vector. */
import { Session, type SessionState } from '../kernel/transactions/session.js';
import { vectorSession } from '../kernel/transactions/vectors.js';

export { vectorSession as cureSession };

export class CureSession extends Session {
  /** @param id 128 random bits as text, never used by another session (P8) */
  constructor(id: string, state?: SessionState) {
    super(id, vectorSession, state);
  }
}

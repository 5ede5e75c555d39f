/** The session of Cure: it has seen a vector. */
import type { SessionRules } from '../kernel/transactions/session.js';
import { vectorSession } from '../kernel/transactions/vector-session.js';

export const cureSession: SessionRules = vectorSession;

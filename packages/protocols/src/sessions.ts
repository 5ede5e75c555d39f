/**
 * The sessions of the protocols with transactions. Clients that load the rules of one protocol do without this file.
 */
import { bprSession } from './bpr/session.js';
import { cureSession } from './cure/session.js';
import { hCureSession } from './hcure/session.js';
import { Session, type SessionRules, type SessionState } from './kernel/transactions/session.js';
import { noccSession } from './nocc/session.js';
import { parisSession } from './paris/session.js';
import { wrenSession } from './wren/session.js';

/**
 * Makes sessions. @param id 128 random bits as text, never used by another session: a session that is imported gets a
 * new one (P8)
 */
export type SessionClass = new (id: string, state?: SessionState) => Session;

const sessionOf = (rules: SessionRules): SessionClass =>
  class extends Session {
    constructor(id: string, state?: SessionState) {
      super(id, rules, state);
    }
  };

export const ParisSession = sessionOf(parisSession);
export const BprSession = sessionOf(bprSession);
export const NoccSession = sessionOf(noccSession);
export const WrenSession = sessionOf(wrenSession);
export const CureSession = sessionOf(cureSession);
export const HCureSession = sessionOf(hCureSession);

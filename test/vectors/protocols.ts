/** The protocols that a client can speak, as `sdk-js/src/protocols.ts` has them. */
import { BprSession } from '@isochron/protocols/bpr/session';
import { ccLoSession } from '@isochron/protocols/cclo/session';
import { copsGtSession } from '@isochron/protocols/copsgt/session';
import { CureSession } from '@isochron/protocols/cure/session';
import { HCureSession } from '@isochron/protocols/hcure/session';
import { matrixSession } from '@isochron/protocols/kernel/operations/dependency-matrix';
import { highest, type OperationSessionRules } from '@isochron/protocols/kernel/operations/session';
import type { Session, SessionState } from '@isochron/protocols/kernel/transactions/session';
import { NoccSession } from '@isochron/protocols/nocc/session';
import { ParisSession } from '@isochron/protocols/paris/session';
import { WrenSession } from '@isochron/protocols/wren/session';

export type SessionClass = new (id: string, state?: SessionState) => Session;

/** Protocols of interactive transactions. */
export const TRANSACTIONS = {
  paris: ParisSession,
  bpr: BprSession,
  nocc: NoccSession,
  wren: WrenSession,
  cure: CureSession,
  'h-cure': HCureSession,
} as const satisfies Record<string, SessionClass>;

/** Protocols of single operations. */
export const OPERATIONS = {
  contrarian: highest,
  okapi: highest,
  gentlerain: highest,
  eventual: highest,
  orbe: matrixSession,
  'orbe-clock': matrixSession,
  'orbe-cleaning': matrixSession,
  'cops-gt': copsGtSession,
  'cc-lo': ccLoSession,
} as const satisfies Record<string, OperationSessionRules>;

export type TransactionProtocolName = keyof typeof TRANSACTIONS;
export type OperationProtocolName = keyof typeof OPERATIONS;

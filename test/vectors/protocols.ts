/** The protocols that a client can speak, as `sdk-js/src/other-protocols.ts` has them beside PaRiS. */
import { ccLoSession } from '@isochron/protocols/cclo/session';
import { copsGtSession } from '@isochron/protocols/copsgt/session';
import { matrixSession } from '@isochron/protocols/kernel/operations/dependency-matrix';
import { highest, type OperationSessionRules } from '@isochron/protocols/kernel/operations/session';
import {
  BprSession,
  CureSession,
  HCureSession,
  NoccSession,
  ParisSession,
  type SessionClass,
  WrenSession,
} from '@isochron/protocols/sessions';

export type { SessionClass };

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

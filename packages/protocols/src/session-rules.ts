/**
 * The session rules of every protocol, by its name. A client loads those of its cluster only, and a program that needs
 * only the names loads no protocol. `catalogue.ts` holds the rest of each protocol.
 */
import type { OperationSessionRules } from './kernel/operations/session.js';
import type { SessionRules } from './kernel/transactions/session.js';

const highest = (): Promise<OperationSessionRules> =>
  import('./kernel/operations/session.js').then((module) => module.highest);
const matrices = (): Promise<OperationSessionRules> =>
  import('./kernel/operations/dependency-matrix.js').then((module) => module.matrixSession);
const vectors = (): Promise<SessionRules> =>
  import('./kernel/transactions/vector-session.js').then((module) => module.vectorSession);

/** Protocols of interactive transactions. The paths are literal, so that bundlers make a file of each. */
export const TRANSACTION_SESSIONS = {
  paris: () => import('./paris/session.js').then((module) => module.parisSession),
  bpr: () => import('./bpr/session.js').then((module) => module.bprSession),
  nocc: () => import('./nocc/session.js').then((module) => module.noccSession),
  wren: () => import('./wren/session.js').then((module) => module.wrenSession),
  cure: vectors,
  'h-cure': vectors,
} as const satisfies Readonly<Record<string, () => Promise<SessionRules>>>;

/** Protocols of single operations. */
export const OPERATION_SESSIONS = {
  contrarian: highest,
  okapi: highest,
  gentlerain: highest,
  eventual: highest,
  orbe: matrices,
  'orbe-clock': matrices,
  'orbe-cleaning': matrices,
  'cops-gt': () => import('./copsgt/session.js').then((module) => module.copsGtSession),
  'cc-lo': () => import('./cclo/session.js').then((module) => module.ccLoSession),
} as const satisfies Readonly<Record<string, () => Promise<OperationSessionRules>>>;

/** A protocol of interactive transactions. */
export type TransactionName = keyof typeof TRANSACTION_SESSIONS;

/** A protocol of single operations. */
export type OperationName = keyof typeof OPERATION_SESSIONS;

/** A protocol, as a cluster file names it. */
export type ProtocolName = TransactionName | OperationName;

/** Every protocol, the default one first. */
export const PROTOCOL_NAMES = [
  ...Object.keys(TRANSACTION_SESSIONS),
  ...Object.keys(OPERATION_SESSIONS),
] as ProtocolName[];

/** The protocol of a cluster whose file names none. */
export const DEFAULT_PROTOCOL: ProtocolName = 'paris';

/** Whether an external text names a protocol of interactive transactions. */
export const isTransactionName = (name: string): name is TransactionName => Object.hasOwn(TRANSACTION_SESSIONS, name);

/** Whether an external text names a protocol of single operations. */
export const isOperationName = (name: string): name is OperationName => Object.hasOwn(OPERATION_SESSIONS, name);

/** Whether an external text names a protocol. */
export const isProtocolName = (name: string): name is ProtocolName => isTransactionName(name) || isOperationName(name);

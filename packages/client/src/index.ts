/** The client of the session frames as a state machine. */
export type { RandomSource } from '@isochron/core/backoff';
export { OutcomeUnknownError, SessionBlockedError } from './errors.js';
export { type Codec, jsonCodec } from './link/codec.js';
export { Homing } from './link/homing.js';
export * from './machine.js';
export type { ClientStatus } from './session/core.js';
export type { Engine, OpenEngine } from './session/engine.js';
export type { ExportedSession, ExportedWrite, ImportedSession } from './session/exported.js';
export { importSession } from './session/imported.js';
export { CLIENT_KIT } from './session/kit.js';
export type { ListRequest, MergedPage } from './session/listing.js';
export { openOperations } from './session/operations.js';
export type { Committed } from './session/outcome.js';
export type { HandleMode } from './session/snapshot-handle.js';
export { type OpenSession, openTransactions } from './session/transactions.js';
export type { TransactionStatus } from './transaction-status.js';

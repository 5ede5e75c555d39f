/// <reference lib="esnext.disposable" preserve="true" />
/** The Isochron client: causal sessions over a geo-replicated store, for Node and browsers. */
export { type ErrorCode, IsochronError } from '@isochron/core/errors';
export type { Timestamp, TxId } from '@isochron/core/ids';
export type { HeldBack, TxState } from '@isochron/wire/session-frames';
export { IsochronClient, type Session } from './api/client.js';
export type { Collection, Keyspace } from './api/collection.js';
export type { Entry, Listing, ListOptions, Page } from './api/listing.js';
export type { CallOptions, ReadCollection } from './api/read-collection.js';
export type { StableOptions, WriteReceipt } from './api/receipt.js';
export type { Snapshot, SnapshotCollection, SnapshotOptions } from './api/snapshot.js';
export type { Transaction, TransactionCollection, TransactionOptions, TransactionOutcome } from './api/transaction.js';
export type { RandomSource } from './backoff.js';
export { connect } from './connect.js';
export type { JsonValue, MergePatch } from './documents.js';
export { isIsochronError, OutcomeUnknownError, SessionBlockedError } from './errors.js';
export type { ConnectOptions, Logger, SocketEvent, WebSocketConstructor, WebSocketLike } from './options.js';
export type { ClientStatus } from './session/core.js';
export type { ExportedSession, ExportedWrite } from './session/exported.js';
export type { TransactionStatus } from './session/tx-status.js';
export type { Codec } from './transport/codec.js';

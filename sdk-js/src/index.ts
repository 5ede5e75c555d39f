/// <reference lib="esnext.disposable" preserve="true" />
/** The Isochron client: causal sessions over a geo-replicated store, for Node and browsers. */

export { isIsochronError, OutcomeUnknownError, SessionBlockedError } from '@isochron/client/errors';
export type { Codec } from '@isochron/client/link/codec';
export type { CloseReport } from '@isochron/client/session/commit-queue';
export type { ClientStatus } from '@isochron/client/session/core';
export type { ExportedSession, ExportedWrite } from '@isochron/client/session/exported';
export type { TransactionStatus } from '@isochron/client/transaction-status';
export type { RandomSource } from '@isochron/core/backoff';
export { type ErrorCode, IsochronError } from '@isochron/core/errors';
export type { Timestamp, TxId } from '@isochron/core/ids';
export type { HeldBack, TxState } from '@isochron/wire/session-frames';
export type { ChangedKey, ChangedTransaction, ChangesMessage, ChangesOptions } from './api/changed.js';
export type { Changes } from './api/changes.js';
export { type CloseOptions, IsochronClient, type Session } from './api/client.js';
export type { Claim, ClaimOptions, Collection, Keyspace } from './api/collection.js';
export type { Listing } from './api/listing.js';
export type { Entry, ListOptions, Page } from './api/pages.js';
export type { CallOptions, ReadCollection, WriteOptions } from './api/read-collection.js';
export type { StableOptions, WriteReceipt } from './api/receipt.js';
export type { Snapshot, SnapshotCollection, SnapshotOptions } from './api/snapshot.js';
export type { Transaction, TransactionCollection, TransactionOptions, TransactionOutcome } from './api/transaction.js';
export type { CutResult, Watch, Watches } from './api/watch.js';
export type {
  Comparison,
  Condition,
  DocumentResult,
  KeysQuery,
  LiveMeta,
  LiveState,
  Order,
  QueryResult,
  RangeQuery,
  ResultChange,
  ResultDocument,
} from './api/watched.js';
export { connect } from './connect.js';
export type { JsonValue, MergePatch } from './documents.js';
export type { Auth, ConnectOptions, Logger, SocketEvent, WebSocketConstructor, WebSocketLike } from './options.js';
export {
  append,
  applyOperations,
  arrayRemove,
  arrayUnion,
  increment,
  init,
  max,
  mergePatch,
  min,
  type Operation,
  remove,
  serverTimestamp,
  set,
} from './updates.js';

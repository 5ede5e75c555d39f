/** The messages of the change feed (CF1–CF6) and of live queries (LQ1–LQ6): of their readers, and between nodes. */
import {
  content,
  type Infer,
  list,
  type MessageOf,
  type MessageSchema,
  message,
  nullable,
  object,
  optional,
  timestamp,
  uint,
} from '@isochron/core';
import { key, keys, loggedTx, node, partition, region, txId, writes } from '../replication/fields.js';

/** Name of the machine of the feeds on every node. */
export const FEEDS_MACHINE = 'feeds';

/** Reader → feeds of its node: the transactions after a timestamp. */
export const ChangesReq = message('ChangesReq', 55, {
  ref: uint,
  /** Prefix of the qualified keys: `''` for all, `todos/` for a keyspace. */
  prefix: key,
  /** Null for the present stable time: answered at once. */
  after: nullable(timestamp),
  /** How long to wait for the first transaction, in ms. */
  waitMs: uint,
  /** The answer ends with the group that reaches this, in estimated bytes. */
  limitBytes: uint,
});
export type ChangesReq = Infer<typeof ChangesReq>;

/** A transaction with its writes in the scope, from all partitions. */
export const ChangedTx = object({ txId, ct: timestamp, writes });
export type ChangedTx = Infer<typeof ChangedTx>;

/** Feeds → reader: all transactions of the scope up to `to`, in the order `(ct, txId)`. */
export const ChangesResp = message('ChangesResp', 56, {
  ref: uint,
  from: timestamp,
  to: timestamp,
  transactions: list(ChangedTx),
});
export type ChangesResp = Infer<typeof ChangesResp>;

/** A scope of a live reader, by its number there. A range lies in one keyspace. */
export const Watch = object({
  watch: uint,
  keys,
  ranges: list(object({ start: key, end: nullable(key), level: optional(uint) }), 100_000),
});
export type Watch = Infer<typeof Watch>;

/**
 * Live reader → feeds of its node: what has changed in its scopes after a timestamp. The scopes stay until they are
 * removed. A request that waits of the same reader is answered at once.
 */
export const LiveReq = message('LiveReq', 60, {
  ref: uint,
  /** Number of the reader at its machine. */
  reader: uint,
  after: timestamp,
  add: list(Watch, 100_000),
  /** Numbers of scopes. */
  remove: list(uint, 100_000),
  /** How long to wait for the first change, in ms. */
  waitMs: uint,
  /** The answer ends with the group that reaches this, in estimated bytes. */
  limitBytes: uint,
});
export type LiveReq = Infer<typeof LiveReq>;

/** The net contents of a key, in the total order: from the newest put or delete on (LQ4). */
export const KeyChanges = object({
  key,
  contents: list(object({ ct: timestamp, txId, content })),
  /** When the contents were written that the newest put or delete replaces, in the same answer; absent, never empty. */
  replaced: optional(list(timestamp)),
});
export type KeyChanges = Infer<typeof KeyChanges>;

/** Feeds → live reader: all changes in its scopes after its request's timestamp, up to `to`, which is not below it. */
export const LiveResp = message('LiveResp', 61, { ref: uint, to: timestamp, changes: list(KeyChanges) });
export type LiveResp = Infer<typeof LiveResp>;

/** Live reader → feeds of its node: it is gone. A request that waits is answered. */
export const LiveEnd = message('LiveEnd', 62, { ref: uint, reader: uint });
export type LiveEnd = Infer<typeof LiveEnd>;

/** Feeds → feeds of a node with a replica: the log of a partition after a timestamp, once UST is above it. */
export const ChangesPageReq = message('ChangesPageReq', 57, { partition, after: timestamp });
export type ChangesPageReq = Infer<typeof ChangesPageReq>;

/** Feeds → itself: the range has been brought to memory; send it to `node`. */
export const ReadChanges = message('ReadChanges', 58, { node, partition, after: timestamp, upTo: timestamp });
export type ReadChanges = Infer<typeof ReadChanges>;

/** A transaction's slice in the log of a partition; `source` is absent where the sender's region committed it. */
const Logged = object({ ct: timestamp, tx: loggedTx, source: optional(region) });

/** Feeds → feeds that asked. */
export const ChangesPageResp = message('ChangesPageResp', 59, {
  partition,
  after: timestamp,
  /** The page is complete up to here. */
  upTo: timestamp,
  changes: list(Logged),
  /** The log lacks transactions up to here. Above `after`: it cannot give the page. */
  truncatedUpTo: timestamp,
});
export type ChangesPageResp = Infer<typeof ChangesPageResp>;

const messages = {
  ChangesReq,
  ChangesResp,
  ChangesPageReq,
  ReadChanges,
  ChangesPageResp,
  LiveReq,
  LiveResp,
  LiveEnd,
};
export type FeedMessage = MessageOf<typeof messages>;
/** Tags 55–62 are these. */
export const feedSchema: MessageSchema<FeedMessage> = messages;

/** The requests of readers to the feeds of their node. */
export const feedRequests = {
  ChangesReq: { answer: 'ChangesResp', machine: FEEDS_MACHINE },
  LiveReq: { answer: 'LiveResp', machine: FEEDS_MACHINE },
  LiveEnd: { answer: null, machine: FEEDS_MACHINE },
} as const;

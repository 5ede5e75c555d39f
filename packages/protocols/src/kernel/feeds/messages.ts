/** The messages of the change feed (CF1–CF6): of its readers, and between nodes. */
import {
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
import { key, loggedTx, node, partition, region, txId, writes } from '../replication/fields.js';

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

const messages = { ChangesReq, ChangesResp, ChangesPageReq, ReadChanges, ChangesPageResp };
export type FeedMessage = MessageOf<typeof messages>;
/** Tags 55–59 are these. */
export const feedSchema: MessageSchema<FeedMessage> = messages;

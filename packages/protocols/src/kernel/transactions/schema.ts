/** Encoding and validation of the messages of interactive transactions. */
import {
  boolean,
  count,
  ERROR_CODES,
  type ErrorCode,
  type Kind,
  type ListRange,
  list,
  MalformedMessage,
  type MessageSchema,
  nullable,
  oneOf,
  optional,
  struct,
  text,
  timestamp,
  uint,
} from '@isochron/core';
import type { Loss } from '../replication/losses.js';
import { deps, key, listed, name, replicationSchema, version, writes } from '../replication/schema.js';
import {
  type CommitIdentity,
  type ListSliceReq,
  type ReadSliceReq,
  STATUSES,
  type Suspect,
  type SuspectsReq,
  type TransactionMessage,
  type WaitedRead,
} from './messages.js';

const detail = text(1024);
const nullableTimestamp = nullable(timestamp);
const range = struct<ListRange>({ start: key, end: nullable(key), limit: uint });
/** The regions that an attempt avoids. */
const avoid = list(name, 64);
const identity = struct<CommitIdentity>({
  txId: name,
  attempt: uint,
  home: name,
  epoch: uint,
  cohorts: list(uint, 100_000),
  avoid: optional(avoid),
});
const code: Kind<ErrorCode> = {
  encode: (c) => c,
  decode: (raw) => (typeof raw === 'string' && Object.hasOwn(ERROR_CODES, raw) ? (raw as ErrorCode) : 'INTERNAL'),
};
const keys = list(key, 100_000);
const versions = list(nullable(version));

const readSlice = { ref: count, partition: uint, snapshot: timestamp, keys, deps };
const listSlice = { ref: count, partition: uint, snapshot: timestamp, range, deps };
/** It never leaves its node: who sends one is refused by the replica. */
const waiting = struct<{ readonly read: ReadSliceReq | null; readonly list: ListSliceReq | null }>({
  read: nullable(struct<ReadSliceReq>({ type: oneOf('ReadSliceReq'), ...readSlice })),
  list: nullable(struct<ListSliceReq>({ type: oneOf('ListSliceReq'), ...listSlice })),
});
const waitedRequest: Kind<WaitedRead['request']> = {
  encode: (request) =>
    waiting.encode(request.type === 'ReadSliceReq' ? { read: request, list: null } : { read: null, list: request }),
  decode: (raw) => {
    const { read, list: listing } = waiting.decode(raw);
    const request = read ?? listing;
    if (request === null) throw new MalformedMessage('expected a read');
    return request;
  },
};

const suspectsReq = { partition: uint, after: timestamp };
const suspect = struct<Suspect>({
  txId: name,
  attempt: uint,
  committed: boolean,
  ts: timestamp,
  partitions: list(uint, 100_000),
  keys,
});
const losses = list(
  struct<Loss>({
    txId: name,
    ts: timestamp,
    attempt: uint,
    committed: boolean,
    takenBack: boolean,
    node: name,
    partitions: list(uint, 100_000),
    keys,
    acknowledged: boolean,
  }),
);

/** Tags are for ever: 1–26, 40 and 44–50 are these. */
export const transactionSchema: MessageSchema<TransactionMessage> = {
  ...replicationSchema,
  StartTxReq: { tag: 1, fields: { ref: uint, txId: name, ust: timestamp, at: nullableTimestamp, deps } },
  StartTxResp: { tag: 2, fields: { ref: uint, snapshot: timestamp, deps } },
  ReadReq: { tag: 3, fields: { ref: uint, txId: nullable(name), ust: timestamp, at: nullableTimestamp, keys, deps } },
  ReadResp: { tag: 4, fields: { ref: uint, snapshot: timestamp, versions, deps } },
  ListReq: {
    tag: 5,
    fields: { ref: uint, txId: nullable(name), ust: timestamp, at: nullableTimestamp, keyspace: name, range, deps },
  },
  ListResp: { tag: 6, fields: { ref: uint, snapshot: timestamp, entries: list(listed), next: nullable(key), deps } },
  CommitReq: {
    tag: 7,
    fields: {
      ref: uint,
      txId: name,
      snapshot: nullableTimestamp,
      hwt: timestamp,
      sentAfter: timestamp,
      attemptRegions: list(name, 16),
      principal: name,
      writes,
      deps,
      avoids: optional(list(avoid, 16)),
    },
  },
  CommitResp: { tag: 8, fields: { ref: uint, txId: name, ct: timestamp, deps } },
  EndTxReq: { tag: 9, fields: { ref: uint, txId: name } },
  EndTxResp: { tag: 10, fields: { ref: uint } },
  TxStatusReq: { tag: 11, fields: { ref: uint, txId: name } },
  TxStatusResp: {
    tag: 12,
    fields: { ref: uint, status: oneOf(...STATUSES), ts: nullableTimestamp, attempt: uint },
  },
  Refused: { tag: 13, fields: { ref: count, code, detail } },
  ReadSliceReq: { tag: 14, fields: readSlice },
  ReadSliceResp: { tag: 15, fields: { ref: count, partition: uint, versions } },
  ListSliceReq: { tag: 16, fields: listSlice },
  ListSliceResp: { tag: 17, fields: { ref: count, partition: uint, entries: list(listed), next: nullable(key) } },
  WaitedRead: {
    tag: 40,
    fields: { node: name, request: waitedRequest, since: count },
  },
  PrepareReq: {
    tag: 18,
    fields: {
      partition: uint,
      identity,
      ust: timestamp,
      ht: timestamp,
      sentAfter: timestamp,
      principal: name,
      writes,
      deps,
    },
  },
  PrepareResp: { tag: 19, fields: { txId: name, attempt: uint, partition: uint, pt: timestamp } },
  PrepareRefused: { tag: 20, fields: { txId: name, attempt: uint, partition: uint, code, detail } },
  CommitTx: { tag: 21, fields: { partition: uint, txId: name, attempt: uint, ct: timestamp } },
  AbortTx: { tag: 22, fields: { partition: uint, txId: name, attempt: uint } },
  ResolveReq: { tag: 23, fields: { partition: uint, identity, sentAfter: timestamp } },
  ResolveNow: { tag: 43, fields: { partition: uint, txId: name, attempt: uint } },
  ResolveResp: {
    tag: 24,
    fields: {
      txId: name,
      attempt: uint,
      partition: uint,
      state: oneOf('prepared', 'committed', 'aborted', 'lost'),
      ts: timestamp,
    },
  },
  OutcomeReq: { tag: 25, fields: { ref: count, partition: uint, txId: name } },
  OutcomeResp: {
    tag: 26,
    fields: {
      ref: count,
      partition: uint,
      state: oneOf('prepared', 'committed', 'aborted', 'lost', 'unknown', 'reported'),
      ts: timestamp,
      attempt: uint,
    },
  },
  LossNotice: { tag: 44, fields: { incarnation: timestamp } },
  LossNoticed: { tag: 45, fields: { incarnation: timestamp, losses, reported: losses } },
  SuspectsReq: { tag: 46, fields: suspectsReq },
  ReadSuspects: {
    tag: 47,
    fields: {
      node: name,
      request: struct<SuspectsReq>({ type: oneOf('SuspectsReq'), ...suspectsReq }),
      queued: list(suspect),
      upTo: timestamp,
    },
  },
  SuspectsResp: {
    tag: 48,
    fields: {
      partition: uint,
      region: name,
      after: timestamp,
      suspects: list(suspect),
      next: nullableTimestamp,
    },
  },
  TakeBackReq: { tag: 49, fields: { part: uint, last: boolean, losses } },
  TakeBackResp: { tag: 50, fields: { part: uint } },
};

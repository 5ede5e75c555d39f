/** Encoding and validation of the messages of PaRiS. */
import {
  boolean,
  ERROR_CODES,
  type ErrorCode,
  type KeyWrite,
  type Kind,
  type ListRange,
  type LogGroup,
  type LoggedTx,
  list,
  type MessageSchema,
  nullable,
  oneOf,
  struct,
  text,
  timestamp,
  uint,
  type Version,
  value,
} from '@isochron/core';
import {
  type CommitIdentity,
  type CopyReq,
  type ListedVersion,
  type ParisMessage,
  STATUSES,
  type VectorEntry,
} from './messages.js';

const name = text(128);
const key = text(2048);
const detail = text(1024);
const nullableTimestamp = nullable(timestamp);
const version = nullable(struct<Version>({ ts: timestamp, txId: name, region: name, value: nullable(value) }));
const range = struct<ListRange>({ start: key, end: nullable(key), limit: uint });
const listed = struct<ListedVersion>({
  key,
  version: struct<Version>({ ts: timestamp, txId: name, region: name, value: nullable(value) }),
});
const writes = list(struct<KeyWrite>({ key, value: nullable(value) }), 100_000);
const group = struct<LogGroup>({ ct: timestamp, txs: list(struct<LoggedTx>({ txId: name, writes })) });
const identity = struct<CommitIdentity>({
  txId: name,
  attempt: uint,
  home: name,
  epoch: uint,
  cohorts: list(uint, 100_000),
});
const code: Kind<ErrorCode> = {
  encode: (c) => c,
  decode: (raw) => (typeof raw === 'string' && Object.hasOwn(ERROR_CODES, raw) ? (raw as ErrorCode) : 'INTERNAL'),
};
const keys = list(key, 100_000);
const wallMs = timestamp;
const vector = list(struct<VectorEntry>({ region: name, ts: timestamp }), 1_000);
const copyReq = {
  ref: timestamp,
  partition: uint,
  start: key,
  source: nullable(name),
  above: timestamp,
  clock: timestamp,
};

/** Tags are for ever; 1–63 are PaRiS. */
export const parisSchema: MessageSchema<ParisMessage> = {
  StartTxReq: { tag: 1, fields: { ref: uint, txId: name, ust: timestamp, at: nullableTimestamp } },
  StartTxResp: { tag: 2, fields: { ref: uint, snapshot: timestamp } },
  ReadReq: { tag: 3, fields: { ref: uint, txId: nullable(name), ust: timestamp, at: nullableTimestamp, keys } },
  ReadResp: { tag: 4, fields: { ref: uint, snapshot: timestamp, versions: list(version) } },
  ListReq: {
    tag: 5,
    fields: { ref: uint, txId: nullable(name), ust: timestamp, at: nullableTimestamp, keyspace: name, range },
  },
  ListResp: { tag: 6, fields: { ref: uint, snapshot: timestamp, entries: list(listed), next: nullable(key) } },
  CommitReq: {
    tag: 7,
    fields: {
      ref: uint,
      txId: name,
      snapshot: nullableTimestamp,
      hwt: timestamp,
      birth: timestamp,
      homes: list(name, 16),
      principal: name,
      writes,
    },
  },
  CommitResp: { tag: 8, fields: { ref: uint, txId: name, ct: timestamp } },
  EndTxReq: { tag: 9, fields: { ref: uint, txId: name } },
  EndTxResp: { tag: 10, fields: { ref: uint } },
  TxStatusReq: { tag: 11, fields: { ref: uint, txId: name } },
  TxStatusResp: {
    tag: 12,
    fields: { ref: uint, status: oneOf(...STATUSES), ts: nullableTimestamp, attempt: uint },
  },
  Refused: { tag: 13, fields: { ref: timestamp, code, detail } },
  ReadSliceReq: { tag: 14, fields: { ref: timestamp, partition: uint, snapshot: timestamp, keys } },
  ReadSliceResp: { tag: 15, fields: { ref: timestamp, partition: uint, versions: list(version) } },
  ListSliceReq: { tag: 16, fields: { ref: timestamp, partition: uint, snapshot: timestamp, range } },
  ListSliceResp: { tag: 17, fields: { ref: timestamp, partition: uint, entries: list(listed), next: nullable(key) } },
  PrepareReq: {
    tag: 18,
    fields: { partition: uint, identity, ust: timestamp, ht: timestamp, birth: timestamp, principal: name, writes },
  },
  PrepareResp: { tag: 19, fields: { txId: name, attempt: uint, partition: uint, pt: timestamp } },
  PrepareRefused: { tag: 20, fields: { txId: name, attempt: uint, partition: uint, code, detail } },
  CommitTx: { tag: 21, fields: { partition: uint, txId: name, attempt: uint, ct: timestamp } },
  AbortTx: { tag: 22, fields: { partition: uint, txId: name, attempt: uint } },
  ResolveReq: { tag: 23, fields: { partition: uint, identity, birth: timestamp, lost: boolean } },
  ResolveResp: {
    tag: 24,
    fields: {
      txId: name,
      attempt: uint,
      partition: uint,
      state: oneOf('prepared', 'committed', 'aborted', 'lost'),
      ts: timestamp,
      frozen: boolean,
    },
  },
  OutcomeReq: { tag: 25, fields: { ref: timestamp, partition: uint, txId: name } },
  OutcomeResp: {
    tag: 26,
    fields: {
      ref: timestamp,
      partition: uint,
      state: oneOf('prepared', 'committed', 'aborted', 'lost', 'unknown'),
      ts: timestamp,
      attempt: uint,
    },
  },
  Replicate: {
    tag: 27,
    fields: {
      partition: uint,
      source: name,
      from: timestamp,
      to: timestamp,
      groups: list(group),
      more: boolean,
    },
  },
  Heartbeat: { tag: 28, fields: { partition: uint, source: name, from: timestamp, to: timestamp } },
  ResyncReq: {
    tag: 29,
    fields: { partition: uint, region: name, from: timestamp, clock: timestamp, group: timestamp },
  },
  GossipUp: { tag: 30, fields: { gst: nullableTimestamp, sOld: timestamp, wallMs } },
  GossipRoot: { tag: 31, fields: { region: name, gst: nullableTimestamp, sOld: timestamp, wallMs } },
  GossipDown: { tag: 32, fields: { ust: timestamp, sOld: timestamp, wallMs } },
  ReplayLog: { tag: 33, fields: { region: name, after: timestamp, upTo: timestamp } },
  ResyncRefused: { tag: 34, fields: { partition: uint, source: name, truncatedUpTo: timestamp } },
  JoinReq: { tag: 35, fields: {} },
  JoinResp: {
    tag: 36,
    fields: {
      joined: boolean,
      retiring: boolean,
      setAside: boolean,
      ust: timestamp,
      clocks: list(struct({ partition: uint, clock: timestamp })),
    },
  },
  CopyReq: { tag: 37, fields: copyReq },
  ReadCopy: {
    tag: 38,
    fields: { node: name, request: struct<CopyReq>({ type: oneOf('CopyReq'), ...copyReq }), vector },
  },
  CopyResp: {
    tag: 39,
    fields: {
      ref: timestamp,
      part: uint,
      parts: uint,
      versions: list(listed),
      next: nullable(key),
      vector,
      gcFloor: timestamp,
    },
  },
};

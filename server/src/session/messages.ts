/** Between nodes: where a session's write cache is kept (D13). Tags 64 and above. */
import {
  boolean,
  list,
  type MessageSchema,
  nullable,
  type QualifiedKey,
  struct,
  type Timestamp,
  type TxId,
  text,
  timestamp,
  uint,
  type Value,
  value,
} from '@isochron/core';

/** One own write of a session. */
export interface CacheEntry {
  readonly key: QualifiedKey;
  readonly ct: Timestamp;
  readonly txId: TxId;
  readonly value: Value | null;
}

/** Node → node that keeps the cache. `session` is a session's id, or the id of an open transaction: its frozen view. */
export interface SessionCacheReq {
  readonly type: 'SessionCacheReq';
  readonly ref: number;
  readonly session: string;
}

/**
 * The keeper's answer. The entries are all own writes above `complete`; when `gapped`, writes at or below `complete` were evicted and
 * only a snapshot from there on shows them.
 */
export interface SessionCacheResp {
  readonly type: 'SessionCacheResp';
  readonly ref: number;
  readonly found: boolean;
  readonly gapped: boolean;
  readonly complete: Timestamp;
  readonly ust: Timestamp;
  readonly hwt: Timestamp;
  readonly entries: readonly CacheEntry[];
}

export type SessionMessage = SessionCacheReq | SessionCacheResp;

const entry = struct<CacheEntry>({ key: text(2048), ct: timestamp, txId: text(128), value: nullable(value) });

export const sessionSchema: MessageSchema<SessionMessage> = {
  SessionCacheReq: { tag: 64, fields: { ref: uint, session: text(128) } },
  SessionCacheResp: {
    tag: 65,
    fields: {
      ref: uint,
      found: boolean,
      gapped: boolean,
      complete: timestamp,
      ust: timestamp,
      hwt: timestamp,
      entries: list(entry, 100_000),
    },
  },
};

/** Between nodes: where a session's write cache is kept (D13). Tags 64 and above. */
import {
  boolean,
  type Deps,
  list,
  type MessageSchema,
  nullable,
  optional,
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
  /** How many changes of the session's cache the answer must contain; absent for a view, which never changes. */
  readonly changes?: number | undefined;
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
  /** What was seen beside `ust`, under protocols that have it. */
  readonly deps?: Deps | undefined;
  /** How many changes of the named session's cache the entries contain; absent for a view. */
  readonly changes?: number | undefined;
}

/**
 * Node that is about to close → node that answers for it from now on: one session's cache, or the frozen view of an open transaction
 * (`complete` is its snapshot). Fields as in SessionCacheResp.
 */
export interface SessionHandover {
  readonly type: 'SessionHandover';
  readonly ref: number;
  readonly session: string;
  readonly transaction: boolean;
  readonly complete: Timestamp;
  readonly ust: Timestamp;
  readonly hwt: Timestamp;
  readonly entries: readonly CacheEntry[];
  /** What was seen beside `ust`, under protocols that have it. */
  readonly deps?: Deps | undefined;
  /** How many changes of the named session's cache the entries contain; absent for a view. */
  readonly changes?: number | undefined;
}

/** The heir's answer: it keeps it. */
export interface SessionHandoverResp {
  readonly type: 'SessionHandoverResp';
  readonly ref: number;
}

export type SessionMessage = SessionCacheReq | SessionCacheResp | SessionHandover | SessionHandoverResp;

const deps = optional(list(timestamp, 1_000));
const entry = struct<CacheEntry>({ key: text(2048), ct: timestamp, txId: text(128), value: nullable(value) });

export const sessionSchema: MessageSchema<SessionMessage> = {
  SessionCacheReq: { tag: 64, fields: { ref: uint, session: text(128), changes: optional(uint) } },
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
      deps,
      changes: optional(uint),
    },
  },
  SessionHandover: {
    tag: 66,
    fields: {
      ref: uint,
      session: text(128),
      transaction: boolean,
      complete: timestamp,
      ust: timestamp,
      hwt: timestamp,
      entries: list(entry, 100_000),
      deps,
      changes: optional(uint),
    },
  },
  SessionHandoverResp: { tag: 67, fields: { ref: uint } },
};

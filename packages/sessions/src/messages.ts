/** Messages between nodes about a session's write cache (D13). Tags 64 and above. Each message is declared once. */
import {
  boolean,
  content,
  type Infer,
  list,
  type MessageOf,
  type MessageSchema,
  message,
  object,
  optional,
  text,
  timestamp,
  uint,
} from '@isochron/core';

/** A session's id, or the id of an open transaction: its frozen view. */
const session = text(128);

/** One own write of a session. */
export const CacheEntry = object({ key: text(2048), ct: timestamp, txId: text(128), value: content });
export type CacheEntry = Infer<typeof CacheEntry>;

/** The contents of a cache, in an answer and in a handover. */
const cache = {
  /** All own writes above it are in `entries`. */
  complete: timestamp,
  ust: timestamp,
  hwt: timestamp,
  entries: list(CacheEntry, 100_000),
  /** The seen entries beside `ust`, under protocols that have them. */
  deps: optional(list(timestamp, 1_000)),
  /** How many changes of the named session's cache the entries contain; absent for a view. */
  changes: optional(uint),
  /** No map up to this version has deferred a write of the session (M10); absent for 0. */
  map: optional(uint),
};

/** Node → node that keeps the cache. */
export const SessionCacheReq = message('SessionCacheReq', 64, {
  ref: uint,
  session,
  /** How many changes of the session's cache the answer must contain; absent for a view, which never changes. */
  changes: optional(uint),
});
export type SessionCacheReq = Infer<typeof SessionCacheReq>;

/**
 * The keeper's answer. The entries are all own writes above `complete`; when `gapped`, writes at or below `complete`
 * were evicted and only a snapshot from there on shows them.
 */
export const SessionCacheResp = message('SessionCacheResp', 65, {
  ref: uint,
  found: boolean,
  gapped: boolean,
  ...cache,
});
export type SessionCacheResp = Infer<typeof SessionCacheResp>;

/**
 * Node that is about to close → its heir: one session's cache, or the frozen view of an open transaction (`complete` is
 * its snapshot). Fields as in SessionCacheResp.
 */
export const SessionHandover = message('SessionHandover', 66, { ref: uint, session, transaction: boolean, ...cache });
export type SessionHandover = Infer<typeof SessionHandover>;

/** The heir's answer: it keeps the cache. */
export const SessionHandoverResp = message('SessionHandoverResp', 67, { ref: uint });
export type SessionHandoverResp = Infer<typeof SessionHandoverResp>;

const messages = { SessionCacheReq, SessionCacheResp, SessionHandover, SessionHandoverResp };
export type SessionMessage = MessageOf<typeof messages>;
export const sessionSchema: MessageSchema<SessionMessage> = messages;

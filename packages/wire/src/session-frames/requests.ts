/**
 * The frames of a client. A frame whose fields do not fit is refused with INVALID_REQUEST; an optional field may also
 * be null. Keys, values, limits and timestamps of the future are checked by the node's rules.
 */
import {
  content,
  count,
  frame,
  type Infer,
  list,
  mark,
  notation,
  nullable,
  object,
  optional,
  text,
  textUpTo,
  timestamp,
  txId,
  value,
  whole,
} from './notation.js';
import { operationAnswers } from './operation-answers.js';

/**
 * Most characters of a session token. An HTTP header holds less: Node refuses requests whose headers are above 16 KB.
 */
export const MAX_TOKEN_LENGTH = 65_536;

/** Most characters of credentials: a JWT with many claims. An HTTP header holds twice as many. */
export const MAX_CREDENTIALS_LENGTH = 8192;

const shortText = textUpTo(4096);
const credentials = textUpTo(MAX_CREDENTIALS_LENGTH);
const token = textUpTo(MAX_TOKEN_LENGTH);
/**
 * The entries of a snapshot beside its timestamp, under protocols whose snapshots have them (`protocol` of the
 * welcome). Absent under all others. The client gives them back unchanged.
 */
const deps = optional(list(timestamp));
const { seen } = operationAnswers(notation);

/** First frame of a connection. Secrets never go into the URL. */
export const HelloFrame = frame('hello', {
  /** Continues a session: proves its `ust` and `hwt`. */
  token: optional(token),
  /** API key or token of an identity provider, if the cluster requires credentials. */
  credentials: optional(credentials),
  /** Name and version of the client, for the operator's logs. */
  client: optional(text),
});
export type HelloFrame = Infer<typeof HelloFrame>;

/**
 * The place of a commit in the queue of its client (OF1): the id is 128 random bits, as base64url without padding.
 * `read` is the snapshot that the client showed when the write was made.
 */
const queue = object({ id: textUpTo(22), n: whole(1, 0xffff_ffff), read: timestamp });

/** Opens a transaction under an id made by the client. May be pipelined with its first read. */
export const StartFrame = frame('start', {
  id: count,
  tx: txId,
  /** Exactly this snapshot: a transaction resumed after a failover, or a read of the past. */
  at: optional(timestamp),
  /** The other entries of `at`. */
  deps,
});
export type StartFrame = Infer<typeof StartFrame>;

/** Reads in the open transaction `tx`; without `tx` the read is a one-shot read-only transaction. */
export const ReadFrame = frame('read', {
  id: count,
  tx: optional(txId),
  keys: list(text),
  at: optional(timestamp),
  deps,
});
export type ReadFrame = Infer<typeof ReadFrame>;

/** One page of the keys of a keyspace, in key order. */
export const ListFrame = frame('list', {
  id: count,
  tx: optional(txId),
  keyspace: shortText,
  prefix: optional(shortText),
  /** First key (unqualified) that may be listed. */
  start: optional(shortText),
  /** Most keys to return; default 100. */
  limit: optional(whole(1, 1000)),
  /** Only keys of this many segments: 2 for the documents of `boards/`. A page may have fewer keys, and a next page. */
  level: optional(count),
  at: optional(timestamp),
  deps,
  /** The client has the documents of this snapshot: versions at or below it come without their values. */
  known: optional(timestamp),
});
export type ListFrame = Infer<typeof ListFrame>;

/**
 * Commits. With `snapshot` it needs no open transaction: a one-shot write, or a retry on any node of any region, with
 * every other field unchanged.
 */
export const CommitFrame = frame('commit', {
  id: count,
  tx: txId,
  snapshot: optional(timestamp),
  /** The other entries of `snapshot`. */
  deps,
  hwt: timestamp,
  /** The `ust` of the session at the first send. */
  sentAfter: timestamp,
  /** The regions whose cohorts were tried; the last region is in force. */
  attemptRegions: list(text),
  /**
   * For each of `attemptRegions` the regions that this attempt avoids, sorted; absent if all are empty. Its cohort in a
   * partition is the first preferred replica that it does not avoid.
   */
  avoids: optional(list(list(text))),
  /**
   * For each of `attemptRegions` the version of the map that the node had when the attempt was first sent (`map` of
   * `welcome` and `ust`); absent if all are 0.
   */
  maps: optional(list(count)),
  /**
   * What the commit follows: of the session's writes that may not be stable, the timestamp of the latest write on each
   * node, and the number of the node; without a number, the write may need any node (M4). Without the field, the write
   * at `hwt` may need any node.
   */
  behind: optional(list(object({ ct: timestamp, node: optional(count) }))),
  /** The first commit timestamp, of a deferred commit that is made again (M10): late writes are judged by it (F9). */
  first: optional(timestamp),
  /**
   * The session's commit before this one, if that was sent on this connection and is not answered yet. This one begins
   * when that one has committed, above it; else it is refused with SESSION_BLOCKED, without effect. With the capability
   * `chained-commits`.
   */
  after: optional(txId),
  /** The place in the client's queue: with the capability `write-counters`. */
  queue: optional(queue),
  /** Each key once: several updates of a key become one update, with all operations. */
  writes: list(object({ key: text, value: content })),
});
export type CommitFrame = Infer<typeof CommitFrame>;

/**
 * Ends a commit with a `queue` whose outcome the client does not know (OF3): the answer is definite. The frame has the
 * fields of the last sending, and the keys of the writes. With the capability `write-counters`.
 */
export const SettleFrame = frame('settle', {
  id: count,
  tx: txId,
  queue,
  sentAfter: timestamp,
  attemptRegions: list(text),
  avoids: optional(list(list(text))),
  maps: optional(list(count)),
  keys: list(text),
});
export type SettleFrame = Infer<typeof SettleFrame>;

/**
 * Reads a key in exactly the snapshot `at` of a commit, and which version made the document there: decides the claim of
 * that commit (F7). With the capability `updates`.
 */
export const OriginFrame = frame('origin', { id: count, key: text, at: timestamp, tx: txId });
export type OriginFrame = Infer<typeof OriginFrame>;

/** Reads a key, under protocols of single operations. */
export const GetFrame = frame('get', { id: count, ...seen, key: text });
export type GetFrame = Infer<typeof GetFrame>;

/** A one-shot read-only transaction, under protocols of single operations. */
export const RotFrame = frame('rot', {
  id: count,
  ...seen,
  keys: list(text),
  /** The id of the read, under protocols that store the readers of a key. */
  tx: optional(txId),
});
export type RotFrame = Infer<typeof RotFrame>;

/**
 * Writes a key, under protocols of single operations. It is sent again, with every other field unchanged, until its
 * outcome is known; `attemptRegions` and `sentAfter` mean the same as for a commit.
 */
export const PutFrame = frame('put', {
  id: count,
  ...seen,
  tx: txId,
  key: text,
  value: nullable(value),
  sentAfter: timestamp,
  attemptRegions: list(text),
});
export type PutFrame = Infer<typeof PutFrame>;

/** Ends a transaction without a commit. */
export const AbortFrame = frame('abort', { id: count, tx: txId });
export type AbortFrame = Infer<typeof AbortFrame>;

/** Asks for the outcome of a transaction, at any node of any region. */
export const StatusFrame = frame('status', {
  id: count,
  tx: txId,
  /** The transaction's `sentAfter`, or any earlier stable time: separates *forgotten* from *unknown*. */
  sentAfter: optional(timestamp),
});
export type StatusFrame = Infer<typeof StatusFrame>;

/** Answers once every node of every region serves `ts`, or with STABLE_TIMEOUT. */
export const StableFrame = frame('stable', { id: count, ts: timestamp, timeoutMs: optional(whole(0, 60_000)) });
export type StableFrame = Infer<typeof StableFrame>;

const waitMs = whole(0, 60_000);

/**
 * The transactions of a scope after a timestamp (CF1). The request waits for the first transaction, and does not delay
 * other requests. With the capability `changes`.
 */
export const ChangesFrame = frame('changes', {
  id: count,
  /** Prefix of the qualified keys: empty for all, `todos/` for a keyspace. */
  scope: shortText,
  /** Null for the present end: answered at once. */
  after: nullable(timestamp),
  waitMs,
  /** The answer ends with the group of transactions that reaches this; default 256 KiB. */
  limitBytes: optional(whole(1, 1 << 20)),
  /** Each update has its document `after` it, too. */
  values: optional(mark),
  /** Each write has its document `before` it, too. */
  before: optional(mark),
});
export type ChangesFrame = Infer<typeof ChangesFrame>;

/** Keys, or a range of keys in one keyspace, under a number that the connection does not use. */
const WatchedScope = object({
  watch: count,
  keys: optional(list(text)),
  start: optional(shortText),
  /** The first key that is not in the range. */
  end: optional(shortText),
  /** Only keys of the range with this many segments, without the keyspace. */
  level: optional(count),
});
export type WatchedScope = Infer<typeof WatchedScope>;

/**
 * What has changed in the scopes of the connection after a timestamp (LQ4). It waits for the first change, does not
 * delay other requests, and ends a request of this type that waits. With the capability `live-queries`.
 */
export const LiveFrame = frame('live', {
  id: count,
  after: timestamp,
  /** Scopes that the connection has from now on. */
  add: optional(list(WatchedScope)),
  /** Numbers of scopes that the client no longer has; unknown numbers are ignored. */
  remove: optional(list(count)),
  waitMs,
});
export type LiveFrame = Infer<typeof LiveFrame>;

/** Measures the round trip. */
export const PingFrame = frame('ping', {
  id: count,
  /** The newest token of another connection of the same session: this connection merges it. */
  token: optional(token),
});
export type PingFrame = Infer<typeof PingFrame>;

/**
 * Renews the credentials of the connection (U1): another token of the same principal, from which `expiresAt` counts
 * from now on. Refused with UNAUTHENTICATED, the connection goes on as it was.
 */
export const AuthenticateFrame = frame('authenticate', { id: count, credentials });
export type AuthenticateFrame = Infer<typeof AuthenticateFrame>;

/** All requests, by type. */
export const REQUEST_FRAMES = {
  start: StartFrame,
  read: ReadFrame,
  list: ListFrame,
  commit: CommitFrame,
  settle: SettleFrame,
  origin: OriginFrame,
  abort: AbortFrame,
  status: StatusFrame,
  get: GetFrame,
  rot: RotFrame,
  put: PutFrame,
  stable: StableFrame,
  ping: PingFrame,
  changes: ChangesFrame,
  live: LiveFrame,
  authenticate: AuthenticateFrame,
};
export type RequestFrame = Infer<(typeof REQUEST_FRAMES)[keyof typeof REQUEST_FRAMES]>;
export type ClientFrame = HelloFrame | RequestFrame;

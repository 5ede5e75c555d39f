/** The frames of a node, without the frames of `operation-answers.ts`, `feed-answers.ts` and `authenticated.ts`. */
import type { AuthenticatedFrame } from './authenticated.js';
import type { ChangesAnswerFrame, LiveAnswerFrame } from './feed-answers.js';
import {
  count,
  flag,
  frame,
  type Infer,
  later,
  list,
  nullable,
  object,
  oneOf,
  optional,
  text,
  timestamp,
  tuple,
  value,
} from './notation.js';
import type { GotFrame, WireSeen, WrittenFrame } from './operation-answers.js';
import type { SettledFrame } from './queue-answers.js';
import type { KnownEntry, WelcomeStoreFields } from './store-fields.js';

const texts = list(text);
const deps = optional(list(timestamp));
const version = nullable(tuple(timestamp, value));

/** The cause of a late stable time: some replica has the writes of this region only up to a time that lies far back. */
const HeldBack = object({
  /** The region whose writes are missing. */
  region: text,
  /** The node of that region whose writes are missing; null if only the region is known. */
  node: nullable(text),
  /** Partition that lacks the changes; null if another node holds the partition. */
  partition: nullable(text),
});
export type HeldBack = Infer<typeof HeldBack>;

/** The freshness of a node's snapshots. */
const Freshness = object({
  /** The node's wall clock, ms since 1970: the age of a timestamp is counted by it, not by the client's clock. */
  now: count,
  /** Age of the node's stable snapshot, in ms. */
  stalenessMs: count,
  /** Whether that is above the cluster's `stalenessAlertMs`, as while a region is down. */
  stale: flag,
  /** Null while nothing is stale, or if the cause is unknown. */
  heldBackBy: nullable(HeldBack),
});
export type Freshness = Infer<typeof Freshness>;

/** The nodes and regions that do not answer a node: the link is down, or no frame has come for a second. */
const Unresponsive = object({
  /** Names of nodes, for the status. */
  nodes: texts,
  /** Regions in which one of them hosts partitions, sorted: new attempts of a commit avoid them. */
  regions: texts,
});
export type Unresponsive = Infer<typeof Unresponsive>;

/** A map that has suspended nodes: a session judges its own writes by it (M10). */
const SessionCut = object({
  /** Version of the map. */
  map: count,
  horizon: timestamp,
  /** Numbers of the nodes that it has suspended. */
  nodes: list(count),
});
const cuts = optional(list(SessionCut));

/** Answer to hello. */
export const WelcomeFrame = frame('welcome', {
  region: text,
  node: text,
  /** Id of the cluster: sessions do not cross clusters. */
  cluster: text,
  protocol: text,
  /** The capabilities of the protocol, and of this server. */
  capabilities: texts,
  /** The highest snapshot that the session has seen: none of its snapshots lies below. */
  ust: timestamp,
  /** The other entries of `ust`. */
  deps,
  /**
   * The node's stable time, if the protocol's snapshots are not stable: a commit's `sentAfter` may not lie far below.
   */
  stable: optional(timestamp),
  /** The state of the token's session, under protocols of single operations: the protocol's client reads it. */
  seen: optional(later<WireSeen>()),
  /**
   * Commit timestamp of the session's last write, if that is above `ust`; else 0. A client that has the token but not
   * the writes sees all of them once `ust` has passed it.
   */
  hwt: timestamp,
  freshness: Freshness,
  /** Absent if every node answers. */
  unresponsive: optional(Unresponsive),
  /** Version of the node's map of the cluster (M6); absent for map 0. */
  map: optional(count),
  /** Of the maps above that of the token; absent without any. */
  cuts,
  /**
   * When the credentials expire, by the node's wall clock: from then on it serves nothing but `authenticate` (U1).
   * Absent for credentials that do not expire.
   */
  expiresAt: optional(count),
  token: text,
  /** Requests that may be in flight; 0 means 1. */
  credits: count,
  limits: object({ maxKeyBytes: count, maxValueBytes: count, maxKeysPerRequest: count, maxRequestBytes: count }),
  /** How long a transaction may stay open. */
  maxTransactionMs: count,
  /** Stable time that is further behind is stale. */
  stalenessAlertMs: optional(count),
  /** All regions and the API endpoints of their nodes, for failover. */
  regions: list(object({ id: text, endpoints: texts })),
});
export type WelcomeFrame = Infer<typeof WelcomeFrame> & WelcomeStoreFields;

/**
 * Any answer may carry a newer session token; the latest one received is the session's. Under protocols of single
 * operations a token covers the state in its request, and the answer: the session's token is that of the last answer
 * which the client has merged. The token of an answer that came too late for its caller is not used.
 */
const head = { id: count, token: optional(text) };

/** Any answer, for clients that read the rest of it later. */
export const AnswerHead = object(head);

export const StartedFrame = frame('started', { ...head, snapshot: timestamp, deps });
export type StartedFrame = Infer<typeof StartedFrame>;

export const ValuesFrame = frame('values', {
  ...head,
  snapshot: timestamp,
  deps,
  /** One entry for each key, in order: `[commit timestamp, value]`, or null if the snapshot has no value. */
  values: list(version),
});
export type ValuesFrame = Infer<typeof ValuesFrame>;

/** A page of a listing. */
export const ListedFrame = frame('listed', {
  ...head,
  snapshot: timestamp,
  deps,
  /** `[unqualified key, commit timestamp, value]`. */
  entries: list(tuple(text, timestamp, value)),
  /** The start of the following page, or null. */
  next: nullable(text),
});
type WholeListedFrame = Infer<typeof ListedFrame>;
/** With `known` in the request, entries may lack their values. */
export type ListedFrame = Omit<WholeListedFrame, 'entries'> & {
  readonly entries: readonly (WholeListedFrame['entries'][number] | KnownEntry)[];
};

export const CommittedFrame = frame('committed', {
  ...head,
  ts: timestamp,
  /** The dependencies of the commit, under protocols whose sessions need them. */
  deps,
  /** Version of the map of the attempt that has committed; absent for map 0, and where it is not known. */
  map: optional(count),
  /** Numbers of the nodes with slices of the transaction; absent where they are not known. */
  nodes: optional(list(count)),
});
export type CommittedFrame = Infer<typeof CommittedFrame>;

/**
 * Answer to `origin`. For a caller that may not read the document, `value` is null, and `origin` names the claim's own
 * version or is null.
 */
export const KeyOriginFrame = frame('origin', {
  ...head,
  /** As in `values`. */
  value: version,
  /** `[commit timestamp, transaction]` of the version that made it. */
  origin: nullable(tuple(timestamp, text)),
});
export type KeyOriginFrame = Infer<typeof KeyOriginFrame>;

export const AbortedFrame = frame('aborted', head);
export type AbortedFrame = Infer<typeof AbortedFrame>;

/**
 * The outcome of a transaction, by the replicas that could be asked.
 *
 * `committed`: durable, at `ts`. `aborted`: nothing of it was written, nor will be unless its commit is still repeated.
 * `pending`: prepared, so its participants will decide. `deferred`: committed, and visible to others once it has been
 * committed again, at a later timestamp (M8). `open`: started here, its commit has not come. `unknown`: no
 * reachable replica has its outcome; it may still arrive. `forgotten`: older than the retained outcomes, or gone with a
 * disk. `lost`: a lost disk took a part of it, and no attempt took effect.
 */
export type TxState = 'open' | 'pending' | 'deferred' | 'committed' | 'aborted' | 'unknown' | 'forgotten' | 'lost';
const TxState = oneOf<TxState>('open', 'pending', 'deferred', 'committed', 'aborted', 'unknown', 'forgotten', 'lost');

export const TxStatusFrame = frame('status', {
  ...head,
  status: TxState,
  /** Commit timestamp, or the snapshot of an open transaction. */
  ts: nullable(timestamp),
});
export type TxStatusFrame = Infer<typeof TxStatusFrame>;

/** `ust` is a time that every node of every region serves: new sessions see everything up to it. */
export const IsStableFrame = frame('stable', { ...head, ust: timestamp });
export type IsStableFrame = Infer<typeof IsStableFrame>;

export const PongFrame = frame('pong', head);
export type PongFrame = Infer<typeof PongFrame>;

/** A request failed, or (with an `id` that is absent or null) the connection did. */
export const ErrorFrame = frame('error', {
  id: optional(nullable(count)),
  code: text,
  detail: text,
  retryable: flag,
  /** Of `RATE_LIMITED`: ms after which the request may be sent again. */
  retryAfterMs: optional(count),
});
export type ErrorFrame = Infer<typeof ErrorFrame>;

/**
 * The stable time or its freshness has changed: sent at most once a second while the connection carries no other stable
 * time, and less often to a client that sends nothing. It is sent at once when a node stops answering, or answers
 * again.
 */
export const UstFrame = frame('ust', {
  ust: timestamp,
  freshness: Freshness,
  /** Absent if every node answers. */
  unresponsive: optional(Unresponsive),
  /** Version of the node's map of the cluster: it comes before any other frame of that map. Absent for map 0. */
  map: optional(count),
  /** Of the maps that are new to the connection; absent without any. */
  cuts,
});
export type UstFrame = Infer<typeof UstFrame>;

/**
 * The node is about to close: connect to another one, this one after `delayMs`. Until it closes it answers requests on
 * this connection, so that a client can leave when it has another connection.
 */
export const GoawayFrame = frame('goaway', { reason: text, delayMs: count });
export type GoawayFrame = Infer<typeof GoawayFrame>;

/** All of them. */
export const SERVER_FRAMES = [
  WelcomeFrame,
  StartedFrame,
  ValuesFrame,
  ListedFrame,
  CommittedFrame,
  KeyOriginFrame,
  AbortedFrame,
  TxStatusFrame,
  IsStableFrame,
  PongFrame,
  ErrorFrame,
  UstFrame,
  GoawayFrame,
] as const;

export type ServerFrame =
  | Exclude<Infer<(typeof SERVER_FRAMES)[number]>, { readonly type: 'welcome' | 'listed' }>
  | WelcomeFrame
  | ListedFrame
  | GotFrame
  | WrittenFrame
  | ChangesAnswerFrame
  | LiveAnswerFrame
  | SettledFrame
  | AuthenticatedFrame;
/** The frames that answer one request. */
export type AnswerFrame = Exclude<ServerFrame, WelcomeFrame | ErrorFrame | UstFrame | GoawayFrame>;

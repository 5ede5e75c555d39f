/**
 * The frames of `/v1/session`, the WebSocket between an SDK and a node. A WebSocket message holds one frame or an array
 * of frames, as JSON (`isochron.v1+json`) or MessagePack (`isochron.v1+msgpack`); both have these shapes.
 *
 * A document travels as its JSON text, byte for byte as it was written, so that no node between two applications parses
 * or rewrites it; bytes travel as `{ bytes: base64 }` in JSON and as binary in MessagePack. Keys are qualified:
 * `default/todos/1`.
 *
 * Requests carry an `id` that rises with every request on a connection, and may be pipelined up to the number of
 * credits that `welcome` granted. Answers carry the id of their request and may come in any order.
 */

/** JSON text of a document, or bytes. */
export type WireValue = string | { readonly bytes: string } | Uint8Array;

/**
 * A change of the document: the JSON text of an array of operations, in both encodings, which replicas fold into the
 * document when they read it (F1). With the capability `updates`.
 */
export interface WireUpdate {
  readonly operations: string;
}

/** What a write stores: a value, an update, or null, which deletes. */
export type WireContent = WireValue | WireUpdate | null;

/**
 * The entries of a snapshot beside its timestamp, under protocols whose snapshots have them (`protocol` of the
 * welcome). Absent under all others. The client gives them back unchanged.
 */
export type WireDeps = readonly number[];

/** First frame of a connection. Secrets never go into the URL. */
export interface HelloFrame {
  readonly type: 'hello';
  /** Continues a session: proves its `ust` and `hwt`. */
  readonly token?: string;
  /** API key, if the cluster requires one. */
  readonly credentials?: string;
  /** Name and version of the client, for the operator's logs. */
  readonly client?: string;
}

/** Opens a transaction under an id made by the client. May be pipelined with its first read. */
export interface StartFrame {
  readonly type: 'start';
  readonly id: number;
  readonly tx: string;
  /** Exactly this snapshot: a transaction resumed after a failover, or a read of the past. */
  readonly at?: number;
  /** The other entries of `at`. */
  readonly deps?: WireDeps;
}

/** Reads in the open transaction `tx`; without `tx` it is a one-shot read-only transaction. */
export interface ReadFrame {
  readonly type: 'read';
  readonly id: number;
  readonly tx?: string;
  readonly keys: readonly string[];
  readonly at?: number;
  readonly deps?: WireDeps;
}

/** One page of the keys of a keyspace, in key order. */
export interface ListFrame {
  readonly type: 'list';
  readonly id: number;
  readonly tx?: string;
  readonly keyspace: string;
  readonly prefix?: string;
  /** First key (unqualified) that may be listed. */
  readonly start?: string;
  /** Most keys to return, 1 to 1000; default 100. */
  readonly limit?: number;
  readonly at?: number;
  readonly deps?: WireDeps;
}

/**
 * Commits. With `snapshot` it needs no open transaction: a one-shot write, or a retry on any node of any region, with
 * every other field unchanged. `attemptRegions` are the regions whose cohorts were tried, the last one in force;
 * `sentAfter` is the `ust` of the session at the first send. `avoids` has for each of `attemptRegions` the regions that
 * this attempt avoids, sorted; absent if all are empty. Its cohort in a partition is the first preferred replica that
 * it does not avoid.
 */
export interface CommitFrame {
  readonly type: 'commit';
  readonly id: number;
  readonly tx: string;
  readonly snapshot?: number;
  /** The other entries of `snapshot`. */
  readonly deps?: WireDeps;
  readonly hwt: number;
  readonly sentAfter: number;
  readonly attemptRegions: readonly string[];
  readonly avoids?: readonly (readonly string[])[];
  /**
   * The session's commit before this one, if that was sent on this connection and is not answered yet. This one begins
   * when that one has committed, above it; else it is refused with SESSION_BLOCKED, without effect. With the capability
   * `chained-commits`.
   */
  readonly after?: string;
  /** Each key once: of several updates of a key one, with the operations of all. */
  readonly writes: readonly { readonly key: string; readonly value: WireContent }[];
}

/**
 * Reads a key in exactly the snapshot `at`, and which version made the document there: decides a claim (F7). With the
 * capability `updates`.
 */
export interface OriginFrame {
  readonly type: 'origin';
  readonly id: number;
  readonly key: string;
  readonly at: number;
}

/**
 * The state of a session of single operations, and its region: in the protocol's entries, to be given back as they
 * came. Part of every request.
 */
export interface WireSeen {
  readonly seen: WireDeps;
  readonly region: string;
  /** The session's dependencies, under protocols whose dependencies name keys. */
  readonly depends?: readonly WireDependency[];
}

/** A version that a session depends on. */
export interface WireDependency {
  readonly key: string;
  /** Position of its region in the cluster file. */
  readonly source: number;
  readonly ts: number;
  readonly near?: boolean;
}

/** Reads a key, under protocols of single operations. */
export interface GetFrame extends WireSeen {
  readonly type: 'get';
  readonly id: number;
  readonly key: string;
}

/** A one-shot read-only transaction, under protocols of single operations. */
export interface RotFrame extends WireSeen {
  readonly type: 'rot';
  readonly id: number;
  readonly keys: readonly string[];
  /** Its own id, under protocols that store the readers of a key. */
  readonly tx?: string;
}

/**
 * Writes a key, under protocols of single operations. It is sent again, with every other field unchanged, until its
 * outcome is known; `attemptRegions` and `sentAfter` are those of a commit.
 */
export interface PutFrame extends WireSeen {
  readonly type: 'put';
  readonly id: number;
  readonly tx: string;
  readonly key: string;
  readonly value: WireValue | null;
  readonly sentAfter: number;
  readonly attemptRegions: readonly string[];
}

/** Ends a transaction without a commit. */
export interface AbortFrame {
  readonly type: 'abort';
  readonly id: number;
  readonly tx: string;
}

/** Asks for the outcome of a transaction, at any node of any region. */
export interface StatusFrame {
  readonly type: 'status';
  readonly id: number;
  readonly tx: string;
  /** The transaction's `sentAfter`, or any earlier stable time: separates *forgotten* from *unknown*. */
  readonly sentAfter?: number;
}

/** Answers once every node of every region serves `ts`, or with STABLE_TIMEOUT. */
export interface StableFrame {
  readonly type: 'stable';
  readonly id: number;
  readonly ts: number;
  readonly timeoutMs?: number;
}

/** Measures the round trip. */
export interface PingFrame {
  readonly type: 'ping';
  readonly id: number;
  /** The newest token of another connection of the same session: this connection merges it. */
  readonly token?: string;
}

export type RequestFrame =
  | StartFrame
  | ReadFrame
  | ListFrame
  | CommitFrame
  | OriginFrame
  | AbortFrame
  | StatusFrame
  | GetFrame
  | RotFrame
  | PutFrame
  | StableFrame
  | PingFrame;
export type ClientFrame = HelloFrame | RequestFrame;

/** The cause of a late stable time: some replica has the writes of this region only up to a time that lies far back. */
export interface HeldBack {
  readonly region: string;
  /** The node of that region whose writes are missing; null if only the region is known. */
  readonly node: string | null;
  /** Partition that lacks them; null if it is none of this node's. */
  readonly partition: string | null;
}

/** The freshness of a node's snapshots. */
export interface Freshness {
  /** The node's wall clock, ms since 1970: the age of a timestamp is counted by it, not by the client's clock. */
  readonly now: number;
  /** Age of the node's stable snapshot, in ms. */
  readonly stalenessMs: number;
  /** Whether that is above the cluster's `stalenessAlertMs`, as while a region is down. */
  readonly stale: boolean;
  /** Null while nothing is stale, or if the cause is unknown. */
  readonly heldBackBy: HeldBack | null;
}

/** The nodes and regions that do not answer a node: the link is down, or no frame has come for a second. */
export interface Unresponsive {
  /** Names of nodes, for the status. */
  readonly nodes: readonly string[];
  /** Regions in which one of them hosts partitions, sorted: new attempts of a commit avoid them. */
  readonly regions: readonly string[];
}

/** Answer to hello. */
export interface WelcomeFrame {
  readonly type: 'welcome';
  readonly region: string;
  readonly node: string;
  /** Id of the cluster: sessions do not cross clusters. */
  readonly cluster: string;
  readonly protocol: string;
  /** The capabilities of the protocol, and of this server. */
  readonly capabilities: readonly string[];
  /** The highest snapshot that the session has seen: none of its snapshots lies below. */
  readonly ust: number;
  /** The other entries of `ust`. */
  readonly deps?: WireDeps;
  /**
   * The node's stable time, if the protocol's snapshots are not stable: a commit's `sentAfter` may not lie far below.
   */
  readonly stable?: number;
  /** The state of the token's session, under protocols of single operations. */
  readonly seen?: WireSeen;
  /**
   * Commit timestamp of the session's last write, if that is above `ust`; else 0. A client that has the token but not
   * the writes sees all of them once `ust` has passed it.
   */
  readonly hwt: number;
  readonly freshness: Freshness;
  /** Absent if every node answers. */
  readonly unresponsive?: Unresponsive;
  readonly token: string;
  /** Requests that may be in flight. */
  readonly credits: number;
  readonly limits: {
    readonly maxKeyBytes: number;
    readonly maxValueBytes: number;
    readonly maxKeysPerRequest: number;
    readonly maxRequestBytes: number;
  };
  /** How long a transaction may stay open. */
  readonly maxTransactionMs: number;
  /** Stable time that is further behind is stale. */
  readonly stalenessAlertMs?: number;
  /** All regions and the API endpoints of their nodes, for failover. */
  readonly regions: readonly { readonly id: string; readonly endpoints: readonly string[] }[];
}

/**
 * Any answer may carry a newer session token; the latest one received is the session's. Under protocols of single
 * operations a token covers the state in its request, and the answer: the session's token is that of the last answer
 * which the client has merged. The token of an answer that came too late for its caller is not used.
 */
interface Answer {
  readonly id: number;
  readonly token?: string;
}

export interface StartedFrame extends Answer {
  readonly type: 'started';
  readonly snapshot: number;
  readonly deps?: WireDeps;
}

/** One entry for each key, in order: `[commit timestamp, value]`, or null if the snapshot has no value. */
export interface ValuesFrame extends Answer {
  readonly type: 'values';
  readonly snapshot: number;
  readonly deps?: WireDeps;
  readonly values: readonly (readonly [number, WireValue] | null)[];
}

/**
 * A page of a listing: `[unqualified key, commit timestamp, value]`. `next` is the start of the following page, or
 * null.
 */
export interface ListedFrame extends Answer {
  readonly type: 'listed';
  readonly snapshot: number;
  readonly deps?: WireDeps;
  readonly entries: readonly (readonly [string, number, WireValue])[];
  readonly next: string | null;
}

export interface CommittedFrame extends Answer {
  readonly type: 'committed';
  readonly ts: number;
  /** The dependencies of the commit, under protocols whose sessions need them. */
  readonly deps?: WireDeps;
}

/** Answer to `origin`: the value as in `values`, and `[commit timestamp, transaction]` of the version that made it. */
export interface KeyOriginFrame extends Answer {
  readonly type: 'origin';
  readonly value: readonly [number, WireValue] | null;
  readonly origin: readonly [number, string] | null;
}

/**
 * Answer to `get`, with one value, and to `rot`. The client merges its `seen` with the session's, by the protocol's
 * rule.
 */
export interface GotFrame extends Answer {
  readonly type: 'got';
  readonly values: readonly (readonly [number, WireValue] | null)[];
  readonly seen: WireDeps;
  readonly depends?: readonly WireDependency[];
  /** The node's stable time. */
  readonly ust: number;
}

/** Answer to `put`: durable. */
export interface WrittenFrame extends Answer, WireSeen {
  readonly type: 'written';
  readonly ts: number;
  readonly ust: number;
}

export interface AbortedFrame extends Answer {
  readonly type: 'aborted';
}

/**
 * The outcome of a transaction, by the replicas that could be asked.
 *
 * `committed`: durable, at `ts`. `aborted`: nothing of it was written, nor will be unless its commit is still repeated.
 * `pending`: prepared, so its participants will decide. `open`: started here, its commit has not come. `unknown`: no
 * reachable replica has its outcome; it may still arrive. `forgotten`: older than the retained outcomes. `lost`: a
 * participant lost its disk, and the outcome with it.
 */
export type TxState = 'open' | 'pending' | 'committed' | 'aborted' | 'unknown' | 'forgotten' | 'lost';

export interface TxStatusFrame extends Answer {
  readonly type: 'status';
  readonly status: TxState;
  /** Commit timestamp, or the snapshot of an open transaction. */
  readonly ts: number | null;
}

export interface IsStableFrame extends Answer {
  readonly type: 'stable';
  /** A time that every node of every region serves: new sessions see everything up to it. */
  readonly ust: number;
}

export interface PongFrame extends Answer {
  readonly type: 'pong';
}

/** A request failed, or (without `id`) the connection did. */
export interface ErrorFrame {
  readonly type: 'error';
  readonly id?: number;
  readonly code: string;
  readonly detail: string;
  readonly retryable: boolean;
}

/**
 * The stable time or its freshness has changed: sent at most once a second while the connection carries no other stable
 * time, and less often to a client that sends nothing. It is sent at once when a node stops answering, or answers
 * again.
 */
export interface UstFrame {
  readonly type: 'ust';
  readonly ust: number;
  readonly freshness: Freshness;
  /** Absent if every node answers. */
  readonly unresponsive?: Unresponsive;
}

/**
 * The node is about to close: connect to another one, this one after `delayMs`. Until it closes it answers requests on
 * this connection, so that a client can leave when it has another connection.
 */
export interface GoawayFrame {
  readonly type: 'goaway';
  readonly reason: string;
  readonly delayMs: number;
}

export type AnswerFrame =
  | StartedFrame
  | ValuesFrame
  | ListedFrame
  | CommittedFrame
  | KeyOriginFrame
  | GotFrame
  | WrittenFrame
  | AbortedFrame
  | TxStatusFrame
  | IsStableFrame
  | PongFrame;
export type ServerFrame = WelcomeFrame | AnswerFrame | ErrorFrame | UstFrame | GoawayFrame;

/** WebSocket subprotocols of a session. `channels/entries.ts` has that of a shared socket. */
export const SESSION_SUBPROTOCOLS = { json: 'isochron.v1+json', msgpack: 'isochron.v1+msgpack' } as const;

/** Close codes of `/v1/session`. 1009 and 1012 are the standard's *message too big* and *service restart*. */
export const SESSION_CLOSE = { tooLarge: 1009, restart: 1012, protocolError: 4400, unauthenticated: 4401 } as const;

/**
 * A plan: everything that is drawn before a run. A seed is only stable while the order of draws is, a plan replays for
 * ever; shrinking takes parts away from it. Draws during the run (delays, choices of a fault's moment) come from
 * streams of `seed`.
 */
import type { ClusterSpec, NodeId, QualifiedKey, RegionId } from '@isochron/core';
import type { SessionStoreLimits } from '@isochron/sessions';

/** Changes with the draws, so that an old seed is recognised as meaning another plan. */
export const DRAW_VERSION = 15;

export interface Plan {
  readonly draw: number;
  readonly protocol: string;
  readonly seed: number;
  readonly cluster: ClusterSpec;
  /** The protocol's own settings, as its adapter drew them. */
  readonly settings: Readonly<Record<string, number>>;
  readonly environment: Environment;
  readonly sessions: readonly SessionPlan[];
  /** Callers over HTTP; absent in runs without any, and in plans from before there were some. */
  readonly http?: HttpPlan | undefined;
  /** Readers of the change feed; absent in runs without any, and in plans from before there were some. */
  readonly readers?: readonly ReaderPlan[] | undefined;
  /** Albums under access rules; absent in runs without rules, and in plans from before there were some. */
  readonly albums?: AlbumsPlan | undefined;
  readonly faults: readonly FaultPlan[];
  /** The first phase ends when all sessions have, but not later than this (ms). */
  readonly safetyMs: number;
}

/** The world without faults. Times are in ms, one way. */
export interface Environment {
  /** Mean delays between regions in the order of the cluster; inside a region on the diagonal. */
  readonly delayMs: readonly (readonly number[])[];
  /** Delays are `mean * (1 - jitter / 2 + exponential(jitter))`. */
  readonly jitter: number;
  /** Links that are slower than the others between their regions. */
  readonly slowLinks: readonly { readonly a: NodeId; readonly b: NodeId; readonly factor: number }[];
  /**
   * How long an end may take to notice that its link has dropped, and the shortest and longest time to a new
   * connection.
   */
  readonly noticeMs: number;
  readonly reconnectMs: readonly [number, number];
  /** Frames in flight on a dropped link may still arrive at an end that has not noticed. */
  readonly lateFrames: boolean;
  /** Mean sync time by node. */
  readonly syncMs: readonly number[];
  /** Share of reads whose data must be brought to memory first, and how long that takes. */
  readonly coldReads: number;
  readonly prefetchMs: number;
  /**
   * Garbage collection, truncation and forgetting take effect when their batch is durable, not when it is passed to the
   * disk.
   */
  readonly lateHorizons: boolean;
  /** The cluster was founded before; otherwise its nodes find out that none of them has data. */
  readonly founded: boolean;
  /** Clocks by node: offset, and how much too fast in millionths. */
  readonly clocks: readonly { readonly skewMs: number; readonly driftPpm: number }[];
  /** Messages between nodes are encoded and validated, as on a wire. */
  readonly encoded: boolean;
  /** Mean delay between a client and its region. */
  readonly clientMs: number;
  /** The client's timeouts: for a request, and until it asks for another home for a commit. */
  readonly requestTimeoutMs: number;
  /**
   * After this time a client reports that the outcome of a commit is unknown, and finds it out later; absent: never.
   */
  readonly commitTimeoutMs?: number;
  /** How long the credentials of clients are valid; absent: they have none. */
  readonly credentialsMs?: number;
  /** Requests that a client's connection may have in flight; absent: as many as at a server. */
  readonly credits?: number;
  /** Requests of all clients together that a node serves in a second; absent: as many as a server. */
  readonly requestsPerSecond?: number;
}

/** One line of work: a session that may move, and goes on under a new id where it is exported. */
export interface SessionPlan {
  readonly name: string;
  readonly region: RegionId;
  readonly transactions: readonly TransactionPlan[];
  /** Whether it closes its session after them. */
  readonly leaves?: boolean;
}

/** Clients that carry only tokens. */
export interface HttpPlan {
  /** The limits of the sessions that nodes keep for them. */
  readonly limits: Partial<SessionStoreLimits>;
  readonly callers: readonly HttpCallerPlan[];
}

export interface HttpCallerPlan {
  readonly name: string;
  readonly region: RegionId;
  readonly requests: readonly HttpRequestPlan[];
}

/** Sent this long after the request before, which need not be answered by then. */
export interface HttpRequestPlan {
  readonly thinkMs: number;
  /**
   * Sent to this node of the region, counted round; null: to the one that the token names, as by a load balancer with
   * sticky sessions.
   */
  readonly region: RegionId;
  readonly node: number | null;
  /** Its token: the one of the last answer, or of the answer this many before it; null: none. */
  readonly back: number | null;
  readonly f: 'get' | 'put';
  readonly keys: readonly QualifiedKey[];
  /** Present for a write under an Idempotency-Key: sent again so long after its first sending, with the same token. */
  readonly again?: readonly HttpRepeatPlan[];
  /** Whether the Idempotency-Key names the region of the first sending. */
  readonly named?: boolean;
}

/** Another sending of a write, which does not wait for an answer. */
export type HttpRepeatPlan = Pick<HttpRequestPlan, 'region' | 'node'> & { readonly afterMs: number };

/** A reader of the change feed. It asks nodes of all regions, one after the other. */
export interface ReaderPlan {
  readonly name: string;
  /** Prefix of the keys that it follows; `''` for all. */
  readonly prefix: string;
  readonly beginMs: number;
  /** Mean pause between two requests. */
  readonly pauseMs: number;
  /** How long a request waits for changes, and the size with which its answer ends. */
  readonly waitMs: number;
  readonly limitBytes: number;
  /** Share of requests that go to another node than the one before. */
  readonly roams: number;
  /** Share of answers after which it compares its documents with a snapshot. */
  readonly compares: number;
  /** Whether it asks for the documents around each write. */
  readonly documents?: boolean | undefined;
  /** Times during which it asks for nothing. */
  readonly stops: readonly { readonly atMs: number; readonly forMs: number }[];
}

/**
 * Sessions of several principals under access rules: owners change who may see their albums, and others look on. All
 * other sessions of the run may do everything.
 */
export interface AlbumsPlan {
  /** The keyspace of the albums. */
  readonly keyspace: string;
  readonly sessions: readonly AlbumSessionPlan[];
  /** Absent in runs without boards. */
  readonly boards?: BoardsPlan | undefined;
  /** Absent in runs without notes. */
  readonly notes?: NotesPlan | undefined;
}

/** Sessions of several principals with notes, of which each principal may see those that name it. */
export interface NotesPlan {
  readonly sessions: readonly NoteSessionPlan[];
}

export interface NoteSessionPlan {
  readonly name: string;
  readonly principal: string;
  readonly region: RegionId;
  readonly steps: readonly NoteStepPlan[];
}

/** A step of a session with notes. `write`: new notes, in one transaction. `back`: which own one, from the newest. */
export type NoteStepPlan = { readonly thinkMs: number } & (
  | { readonly f: 'write'; readonly count: number }
  | { readonly f: 'rewrite' | 'delete'; readonly back: number }
  /** A note becomes that of another principal. */
  | { readonly f: 'hand'; readonly back: number; readonly to: string }
  /** All pages of a list, of this many keys each. */
  | { readonly f: 'list'; readonly limit: number }
  /** A live query, perhaps beside the steps that follow. Remarks are filtered by notes, so they cannot be watched. */
  | { readonly f: 'live'; readonly of: 'notes' | 'remarks'; readonly forMs: number; readonly stays: boolean }
  /** A page of the change feed, which a filtered range does not have. */
  | { readonly f: 'follow' }
  | { readonly f: 'move'; readonly region: RegionId }
);

/**
 * Sessions of several principals that write: owners of boards admit and dismiss writers, who enter something, and bid
 * until bids close. A writer that was dismissed is not admitted again.
 */
export interface BoardsPlan {
  /** When bids close, ms after the start. */
  readonly closesMs: number;
  readonly sessions: readonly BoardSessionPlan[];
}

export interface BoardSessionPlan {
  readonly name: string;
  readonly principal: string;
  readonly region: RegionId;
  readonly steps: readonly BoardStepPlan[];
}

/**
 * In which snapshot something is written: at once; in an open transaction of some age; or in a transaction that is
 * opened at the time of the session's beginning.
 */
export type WritePlace = 'one-shot' | 'open' | 'past';

export type BoardStepPlan = {
  readonly thinkMs: number;
} /** A board is made, with its first entry in the same transaction; also by others, over one that is there. */ & (
  | { readonly f: 'found'; readonly board: string; readonly place: WritePlace }
  | { readonly f: 'admit' | 'dismiss'; readonly board: string; readonly writer: string }
  | { readonly f: 'enter'; readonly board: string; readonly place: WritePlace }
  | { readonly f: 'bid'; readonly place: WritePlace }
  | { readonly f: 'move'; readonly region: RegionId }
);

export interface AlbumSessionPlan {
  readonly name: string;
  readonly principal: string;
  readonly region: RegionId;
  readonly steps: readonly AlbumStepPlan[];
}

/** A step of a session with albums. An album has the name of its owner. */
export type AlbumStepPlan = { readonly thinkMs: number } & (
  | { readonly f: 'create' }
  /** The owner lets a principal see the album from now on, perhaps after it has taken a photo out, or no more. */
  | { readonly f: 'invite'; readonly reader: string; readonly takes: 'none' | 'oldest' | 'new' }
  | { readonly f: 'remove'; readonly reader: string }
  /** A photo is added to an album, or the owner takes the oldest one of this session out. */
  | { readonly f: 'add'; readonly album: string }
  | { readonly f: 'take' }
  /** Reads of an album's photos: one of those that were added last, and all of them in a snapshot of some age. */
  | { readonly f: 'get'; readonly album: string; readonly back: number }
  | { readonly f: 'list'; readonly album: string; readonly ageMs: number }
  /** A live query, and pages of the change feed with pauses between them. */
  | { readonly f: 'live'; readonly album: string; readonly forMs: number }
  | { readonly f: 'follow'; readonly album: string; readonly pages: number; readonly pauseMs: number }
  | { readonly f: 'move'; readonly region: RegionId }
);

export type TransactionPlan =
  | InteractivePlan
  /** A single read. */
  | { readonly kind: 'get'; readonly thinkMs: number; readonly key: QualifiedKey }
  /** A read in one round trip. */
  | { readonly kind: 'read'; readonly thinkMs: number; readonly keys: readonly QualifiedKey[] }
  | {
      readonly kind: 'write';
      readonly thinkMs: number;
      readonly writes: readonly WritePlan[];
      readonly commit: CommitPlan;
    }
  | BurstPlan
  | LivePlan
  | { readonly kind: 'list'; readonly thinkMs: number; readonly list: ListPlan }
  /** A snapshot that stays open beside the transactions that follow, and is read again and again. */
  | {
      readonly kind: 'watch';
      readonly thinkMs: number;
      readonly keys: readonly QualifiedKey[];
      readonly reads: number;
      readonly pauseMs: number;
    }
  /** A one-shot read of a snapshot that the session saw before. */
  | {
      readonly kind: 'past';
      readonly thinkMs: number;
      readonly back: number;
      readonly keys: readonly QualifiedKey[];
    }
  /** Asks for the outcome of an earlier transaction of any session. */
  | { readonly kind: 'status'; readonly thinkMs: number; readonly back: number }
  /**
   * The session waits at most this many ms until its node reports that every node serves its last commit; then a
   * session without a past begins in every region, and reads the written keys; and another one in every region after
   * `againMs`.
   */
  | { readonly kind: 'stable'; readonly thinkMs: number; readonly timeoutMs: number; readonly againMs: number }
  /** The session goes to another region; `anew` under a new id, with its exported state, or with its token alone. */
  | { readonly kind: 'move'; readonly thinkMs: number; readonly region: RegionId; readonly anew: boolean | 'token' };

/**
 * A live query, which stays beside the transactions that follow, over moves and under the session's later ids too:
 * scopes that are observed together.
 */
export interface LivePlan {
  readonly kind: 'live';
  readonly thinkMs: number;
  readonly scopes: readonly LiveScopePlan[];
  /** How long it is observed; null: until the run ends. */
  readonly forMs: number | null;
}

/** Named keys, or the keys of one keyspace from `start` on, below `end`. */
export type LiveScopePlan =
  | { readonly keys: readonly QualifiedKey[] }
  | { readonly start: QualifiedKey; readonly end: QualifiedKey };

/** Simultaneous writes, each of them a transaction of its own. */
export interface BurstPlan {
  readonly kind: 'burst';
  readonly thinkMs: number;
  readonly writes: readonly WritePlan[];
  /** The faults of the first one. */
  readonly commit: CommitPlan;
}

export interface InteractivePlan {
  readonly kind: 'interactive';
  readonly thinkMs: number;
  readonly steps: readonly StepPlan[];
  readonly end: 'commit' | 'abort';
  readonly commit: CommitPlan;
}

/** A step of a transaction between its start and its end. */
export type StepPlan =
  | { readonly f: 'read'; readonly keys: readonly QualifiedKey[] }
  | ({ readonly f: 'write' } & WritePlan)
  | ({ readonly f: 'list' } & ListPlan)
  | { readonly f: 'pause'; readonly ms: number }
  /** The connection is lost: the transaction goes on elsewhere, at the same snapshot. */
  | { readonly f: 'reconnect'; readonly region: RegionId };

export interface WritePlan {
  readonly key: QualifiedKey;
  readonly deletes: boolean;
  /** The key holds a document, which this write updates or puts; absent for other keys. */
  readonly document?: 'update' | 'put';
}

export interface ListPlan {
  readonly keyspace: string;
  /** Position among all keys of the plan at which the listing starts, and how many it asks for at most. */
  readonly start: QualifiedKey;
  readonly limit: number;
}

/** The faults of a commit. */
export interface CommitPlan {
  /** The client loses its connection this long after sending, and goes to this region. */
  readonly loses: { readonly region: RegionId; readonly afterMs: number } | null;
  /** The same request reaches another coordinator as well, this much later. */
  readonly duplicate: { readonly region: RegionId; readonly afterMs: number } | null;
}

/** One fault. `atMs` counts from the beginning; it is healed after `forMs`, or with the end of the first phase. */
export interface FaultPlan {
  readonly kind: string;
  readonly atMs: number;
  readonly forMs: number;
  /** The parameters of the kind, as its entry of the table of faults drew them. */
  readonly [parameter: string]: unknown;
}

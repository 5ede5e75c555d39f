/**
 * A plan: everything that is drawn before a run. A seed is only stable while the order of draws is, a plan replays for ever;
 * shrinking takes away from it. What is drawn while it runs (delays, choices of a fault's moment) comes from streams of `seed`.
 */
import type { ClusterSpec, NodeId, QualifiedKey, RegionId } from '@isochron/core';
import type { SessionStoreLimits } from '@isochron/sessions';

/** Moves whenever the draws change, so that an old seed is known to mean another plan now. */
export const DRAW_VERSION = 9;

export interface Plan {
  readonly draw: number;
  readonly protocol: string;
  readonly seed: number;
  readonly cluster: ClusterSpec;
  /** The protocol's own settings, as its adapter drew them. */
  readonly settings: Readonly<Record<string, number>>;
  readonly environment: Environment;
  readonly sessions: readonly SessionPlan[];
  /** Callers over HTTP; absent in runs without any, and in plans of before there were some. */
  readonly http?: HttpPlan | undefined;
  readonly faults: readonly FaultPlan[];
  /** The first phase ends when all sessions have, but not later than this (ms). */
  readonly safetyMs: number;
}

/** The world as it is without faults. Times are in ms, one way. */
export interface Environment {
  /** Mean delays between regions in the order of the cluster; inside a region on the diagonal. */
  readonly delayMs: readonly (readonly number[])[];
  /** Delays are `mean * (1 - jitter / 2 + exponential(jitter))`. */
  readonly jitter: number;
  /** Links that are slower than the others between their regions. */
  readonly slowLinks: readonly { readonly a: NodeId; readonly b: NodeId; readonly factor: number }[];
  /**
   * How long an end may take to notice that its link has dropped, and how long a new one takes at least and at most.
   */
  readonly noticeMs: number;
  readonly reconnectMs: readonly [number, number];
  /** What of a link dropped in flight may still arrive at an end that has not noticed. */
  readonly lateFrames: boolean;
  /** Mean sync time by node. */
  readonly syncMs: readonly number[];
  /** Share of reads whose data must be brought to memory first, and how long that takes. */
  readonly coldReads: number;
  readonly prefetchMs: number;
  /**
   * Garbage collection, truncation and forgetting take effect when their batch is durable, not when it is handed in.
   */
  readonly lateHorizons: boolean;
  /** The cluster has met before; otherwise its nodes find out that nobody has data. */
  readonly founded: boolean;
  /** Clocks by node: offset, and how much too fast in millionths. */
  readonly clocks: readonly { readonly skewMs: number; readonly driftPpm: number }[];
  /** Messages between nodes cross as validated fields, as on a wire. */
  readonly encoded: boolean;
  /** Mean delay between a client and its region. */
  readonly clientMs: number;
  /** The client's patience: for a request, and until it asks for another home for a commit. */
  readonly requestTimeoutMs: number;
  /**
   * After this time a client reports that the outcome of a commit is unknown, and finds it out on its own; absent:
   * never.
   */
  readonly commitTimeoutMs?: number;
  /** Requests that a client's connection may have in flight; absent: as many as at a server. */
  readonly credits?: number;
}

/** One line of work: a session that may move, and goes on under a new id where it is exported. */
export interface SessionPlan {
  readonly name: string;
  readonly region: RegionId;
  readonly transactions: readonly TransactionPlan[];
}

/** Clients that carry nothing but tokens. */
export interface HttpPlan {
  /** What nodes keep for them at most. */
  readonly limits: Partial<SessionStoreLimits>;
  readonly callers: readonly HttpCallerPlan[];
}

export interface HttpCallerPlan {
  readonly name: string;
  readonly region: RegionId;
  readonly requests: readonly HttpRequestPlan[];
}

/** Sent so long after the request before, which need not be answered by then. */
export interface HttpRequestPlan {
  readonly thinkMs: number;
  /**
   * To this node of the region, counted round; null: to the one that the token names, as a load balancer that sticks to
   * it.
   */
  readonly region: RegionId;
  readonly node: number | null;
  /** With which token: the one of the last answer, or of the answer this many before it; null: with none. */
  readonly back: number | null;
  readonly f: 'get' | 'put';
  readonly keys: readonly QualifiedKey[];
}

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
  /** How did an earlier transaction of any session end? */
  | { readonly kind: 'status'; readonly thinkMs: number; readonly back: number }
  /**
   * The session waits at most this many ms until its node reports that every node serves its last commit; then a session
   * that has seen nothing begins in every region, and reads what it wrote; and another one in every region after
   * `againMs`.
   */
  | { readonly kind: 'stable'; readonly thinkMs: number; readonly timeoutMs: number; readonly againMs: number }
  /** The session goes to another region; `anew` under a new id, with its exported state, or with its token alone. */
  | { readonly kind: 'move'; readonly thinkMs: number; readonly region: RegionId; readonly anew: boolean | 'token' };

/** Writes that are asked for at once, each of them a transaction of its own. */
export interface BurstPlan {
  readonly kind: 'burst';
  readonly thinkMs: number;
  readonly writes: readonly WritePlan[];
  /** What befalls the first one. */
  readonly commit: CommitPlan;
}

export interface InteractivePlan {
  readonly kind: 'interactive';
  readonly thinkMs: number;
  readonly steps: readonly StepPlan[];
  readonly end: 'commit' | 'abort';
  readonly commit: CommitPlan;
}

/** What a transaction does between its start and its end. */
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
}

export interface ListPlan {
  readonly keyspace: string;
  /** Position among all keys of the plan at which the listing starts, and how many it asks for at most. */
  readonly start: QualifiedKey;
  readonly limit: number;
}

/** What befalls a commit. */
export interface CommitPlan {
  /** The client loses its connection so long after sending, and goes to this region. */
  readonly loses: { readonly region: RegionId; readonly afterMs: number } | null;
  /** The same request reaches another coordinator as well, this much later. */
  readonly duplicate: { readonly region: RegionId; readonly afterMs: number } | null;
}

/** One fault. `atMs` counts from the beginning; after `forMs`, or with the end of the first phase, it is healed. */
export interface FaultPlan {
  readonly kind: string;
  readonly atMs: number;
  readonly forMs: number;
  /** What the kind needs to know, as its entry of the table of faults drew it. */
  readonly [parameter: string]: unknown;
}

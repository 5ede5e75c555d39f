/**
 * The simulator's view of a protocol. Everything else (world, faults, plans, checks) is the same for all of them: a
 * protocol is added by one adapter.
 */
import type { LevelName } from '@isochron/checker';
import type { OpenEngine } from '@isochron/client';
import type {
  AnyMessage,
  ClusterSpec,
  DurableRecord,
  MessageSchema,
  NodeId,
  Random,
  RecoveredState,
  Timestamp,
  Topology,
  VersionReader,
  WallMs,
} from '@isochron/core';
import type { Address, ClockGreeting, ClockReadings, Envelope, Loss, Machine, Maps } from '@isochron/protocols';
import type { Observations } from '../checks/evidence/observations.js';
import type { VisibilityIn } from '../checks/evidence/visibility.js';
import type { DrawMix } from '../plan/mix.js';
import type { Environment } from '../plan/plan.js';
import type { HttpNode, HttpWorld } from './http.js';
import type { SessionsNode, SessionsWorld } from './sessions.js';

/** Settings as numbers by name: a plan keeps them, and shows them. */
export type Settings = Readonly<Record<string, number>>;

/**
 * The reasons for which a read may wait at a replica: its snapshot, data that a crash or a disk has lost there, or
 * none.
 */
export type ReadsWait = 'for-snapshots' | 'for-lost-data' | 'never';

/** The guarantees that a protocol is checked for, beside those of all protocols. */
export interface Demands {
  /** The level that it promises: its clients' histories are checked for it. */
  readonly level: LevelName;
  /**
   * Levels that it does not promise. Its histories are checked for them too, to show that the checker notices: its runs
   * are expected to fail.
   */
  readonly beyond: readonly LevelName[];
  /**
   * The versions that its snapshots show; undefined if reads do not follow snapshots, so that only histories can be
   * judged.
   */
  readonly visibility: VisibilityIn | undefined;
  /** Whether clients receive their snapshots. */
  readonly clientSnapshots: boolean;
  readonly readsWait: ReadsWait;
  /**
   * Whether a write waits for the very versions that it depends on. If the only disk with one of them is lost, it waits
   * for ever, with everything behind it: the papers have no way out.
   */
  readonly waitsForVersions: boolean;
  /** Whether the rest of a transaction that a lost disk damaged is taken back; otherwise it is reported (D10). */
  readonly takesBack: boolean;
}

/** The most keys that one transaction reads and writes in one round trip. */
export interface AtOnce {
  readonly reads: number;
  readonly writes: number;
}

export interface ProtocolAdapter<M extends AnyMessage> {
  readonly name: string;
  readonly demands: Demands;
  /**
   * The source of timestamps. Hybrid clocks follow a timestamp of a fast clock at once; physical ones have to reach it
   * first, and all requests that wait for it wait with them.
   */
  readonly clocks: 'hybrid' | 'physical';
  /** A drawn cluster, changed as little as the protocol needs to run on it. */
  fit(cluster: ClusterSpec, random: Random): ClusterSpec;
  /** The drawn world with times under which its own rules matter. */
  drawTimes?(environment: Environment, random: Random, topology: Topology): Environment;
  /** Encodes messages between nodes, in runs where they cross encoded. */
  readonly schema: MessageSchema<M>;
  /** Messages around which a plan may let a node crash. */
  readonly crashPoints: readonly M['type'][];
  /** Draws the mix of a run's transactions. */
  readonly drawMix: DrawMix;
  /** Whether sessions may write several keys at once. */
  readonly drawsBursts: boolean;
  /** Whether writes may be updates. */
  readonly drawsUpdates: boolean;
  /** Whether nodes have a change feed. */
  readonly drawsReaders: boolean;
  /** Whether clients have live queries. */
  readonly drawsLive: boolean;
  /** Whether requests can be judged by access rules in the snapshot that they read. */
  readonly drawsAlbums: boolean;
  /** Whether nodes decide maps. */
  readonly drawsMaps: boolean;
  readonly atOnce: AtOnce;
  /** Draws settings, small enough to take effect within a run. */
  drawSettings(random: Random): Settings;
  /** Creates a node's machines from the content of its disk. */
  createNode(options: SimulatedNodeOptions): ProtocolNode<M>;
  /** The content of a founded node's disk. */
  readonly founding: readonly DurableRecord[];
  /** Whether a disk holds no data that a node could go on with: its driver opens an empty one then (D10). */
  lacksData(recovered: RecoveredState): boolean;
  /**
   * Whether a node stopped because it does not trust its disk: its driver sets the data aside and starts it again
   * (D10).
   */
  quarantines(error: unknown): boolean;
  /**
   * Whether new clients must be served once everything is healed. Where a protocol refuses clocks that are far off,
   * timestamps of such a clock may keep clients out for a while. `slowestMs`: the longest mean delay between two nodes,
   * one way.
   */
  servesAgain(settings: Settings, slowestMs: number): boolean;
  /** Opens the HTTP API of a node; absent where the server keeps nothing for its callers. */
  openHttp?(world: HttpWorld<M>): HttpNode<M>;
  /** Serves the session frames of clients at a node. */
  openSessions(world: SessionsWorld<M>): SessionsNode<M>;
  /** The protocol's part of a client. */
  readonly engine: OpenEngine;
  /** Reports the promises of a message. Called when it leaves its node, or reaches another machine of the same node. */
  observeSend(message: M, from: Address, to: Address, observer: Observations, topology: Topology): void;
  /** Reports the meaning of a message for its receiver. Called when it reaches another node. */
  observeArrival(message: M, to: Address, observer: Observations): void;
  /** Reports the claims of an answer. Called in the step that makes it, with the message that caused the step. */
  observeReply(message: M, cause: M, from: Address, observer: Observations): void;
}

export interface SimulatedNodeOptions {
  readonly node: NodeId;
  readonly topology: Topology;
  readonly settings: Settings;
  readonly reader: VersionReader;
  readonly recovered: RecoveredState;
  readonly now: WallMs;
  readonly readings: ClockReadings;
  /** New writes must be refused now. */
  readonly diskIsFull: () => boolean;
}

/** The machines of one node, and the interface for its driver. */
export interface ProtocolNode<M extends AnyMessage> {
  readonly machines: readonly (readonly [name: string, machine: Machine<M>])[];
  /** The clock that every frame carries (T2). */
  hlc(): Timestamp;
  /** The greeting that opens a link. */
  greeting(): ClockGreeting;
  /** Called when a link opens: the reason to refuse it because of the peer's clocks (K1). */
  meets(peer: NodeId, greeting: ClockGreeting): string | undefined;
  /** Called when a frame arrives: the reason to refuse it because of its timestamps (K1). */
  receives(peer: NodeId, hlc: Timestamp, envelopes: readonly Envelope<M>[]): string | undefined;
  /** Whether it serves clients yet. */
  ready(now: WallMs): boolean;
  /** The latest timestamp that a client may name (T1). */
  latest(): Timestamp;
  /** The stable time in the welcome of a client. */
  ust(): Timestamp;
  /** The maps of the node. */
  readonly maps: Pick<Maps, 'at' | 'current' | 'newest' | 'leaving' | 'cutsAfter'>;
  /** The time that every node of every region serves, as far as the node knows. */
  served(): Timestamp;
  /** A client waits until `ts` is served. */
  want(ts: Timestamp): void;
  /** Numbers of items in memory for requests under way, by name: bounded, and 0 when no request is under way. */
  load(): Readonly<Record<string, number>>;
  /**
   * Numbers of items that wait while a disk or another node stands still: not bounded by requests, and 0 in the end.
   */
  backlog(): Readonly<Record<string, number>>;
  /** Transactions of which a lost disk took a part, as the node reports them (D10). */
  losses(): readonly Loss[];
}

/**
 * What the simulator needs to know of a protocol. Everything else (world, faults, plans, checks) is the same for all of them: a
 * protocol comes in by one adapter.
 */
import type { LevelName } from '@isochron/checker';
import type { OpenEngine } from '@isochron/client';
import type {
  AnyMessage,
  ClusterSpec,
  DurableRecord,
  LogGroup,
  MessageSchema,
  NodeId,
  PartitionId,
  Random,
  RecoveredState,
  Timestamp,
  Topology,
  VersionReader,
  WallMs,
} from '@isochron/core';
import type { Address, ClockGreeting, ClockReadings, Envelope, Loss, Machine } from '@isochron/protocols';
import type { Observations } from '../checks/observations.js';
import type { VisibilityIn } from '../checks/visibility.js';
import type { DrawMix } from '../plan/mix.js';
import type { Environment } from '../plan/plan.js';
import type { HttpNode, HttpWorld } from './http.js';
import type { SessionsNode, SessionsWorld } from './sessions.js';

/** Settings as numbers by name: a plan keeps them, and shows them. */
export type Settings = Readonly<Record<string, number>>;

/**
 * What a read may wait for at a replica: for its snapshot, for what a crash or a disk has lost there, or for nothing.
 */
export type ReadsWait = 'for-snapshots' | 'for-lost-data' | 'never';

/** What a protocol is held to, beside what all of them are. */
export interface Demands {
  /** What it promises: its clients' histories are held to it. */
  readonly level: LevelName;
  /**
   * What it does not promise. It is held to that as well, to see that the checker notices: its runs are meant to fail.
   */
  readonly beyond: readonly LevelName[];
  /**
   * What its snapshots show; undefined where a snapshot says nothing of what a read shows, and histories alone can be
   * judged.
   */
  readonly visibility: VisibilityIn | undefined;
  /** Whether clients are told of their snapshots. */
  readonly clientSnapshots: boolean;
  readonly readsWait: ReadsWait;
  /**
   * Whether a write waits for the very versions that it depends on. Where the only disk that had one of them is lost, it waits for ever, and what
   * comes behind it: the papers know no way out.
   */
  readonly waitsForVersions: boolean;
  /** Whether what a lost disk has left of a transaction is taken back; otherwise it is reported (D10). */
  readonly takesBack: boolean;
}

/** How many keys one transaction reads and writes at most, in one round trip. */
export interface AtOnce {
  readonly reads: number;
  readonly writes: number;
}

export interface ProtocolAdapter<M extends AnyMessage> {
  readonly name: string;
  readonly demands: Demands;
  /**
   * Where timestamps come from. What a fast clock leaves behind, hybrid clocks follow at once; physical ones have to reach it first, and
   * with them everything that waits for it.
   */
  readonly clocks: 'hybrid' | 'physical';
  /** A drawn cluster, changed as little as it takes for the protocol to run on it. */
  fit(cluster: ClusterSpec, random: Random): ClusterSpec;
  /** The drawn world with times that give its own rules occasion to show. */
  drawTimes?(environment: Environment, random: Random, topology: Topology): Environment;
  /** Carries messages between nodes in runs where they cross encoded. */
  readonly schema: MessageSchema<M>;
  /** Messages around which a plan may let a node crash. */
  readonly crashPoints: readonly M['type'][];
  /** Draws what the transactions of a run are like. */
  readonly drawMix: DrawMix;
  /** Whether sessions may write several keys at once. */
  readonly drawsBursts: boolean;
  readonly atOnce: AtOnce;
  /** Draws settings, small enough that what they govern happens within a run. */
  drawSettings(random: Random): Settings;
  /** Puts a node's machines together from what its disk holds. */
  createNode(options: NodeOptions): ProtocolNode<M>;
  /** What lies on the disk of a node whose cluster has met before. */
  readonly founding: readonly DurableRecord[];
  /** Whether a disk holds nothing that a node could go on with: its driver opens an empty one then (D10). */
  lacksData(recovered: RecoveredState): boolean;
  /**
   * Whether a node stopped because it does not trust its disk: its driver sets the data aside and starts it again
   * (D10).
   */
  quarantines(error: unknown): boolean;
  /**
   * Whether new clients must be served once everything is healed. Where a protocol refuses clocks that are far off, what they left
   * behind may keep clients out for a while. `slowestMs`: the longest mean delay between two nodes, one way.
   */
  servesAgain(settings: Settings, slowestMs: number): boolean;
  /** Opens the HTTP API of a node; absent where the server keeps nothing for its callers. */
  openHttp?(world: HttpWorld<M>): HttpNode<M>;
  /** Serves the session frames of clients at a node. */
  openSessions(world: SessionsWorld<M>): SessionsNode<M>;
  /** The protocol's part of a client. */
  readonly engine: OpenEngine;
  /** Tells what a message promises. Called when it leaves its node, or reaches another machine of the same node. */
  observeSend(message: M, from: Address, to: Address, observer: Observations, topology: Topology): void;
  /** Tells what a message means to who receives it. Called when it reaches another node. */
  observeArrival(message: M, to: Address, observer: Observations): void;
  /** Tells what an answer claims. Called in the step that makes it, with the message that caused the step. */
  observeReply(message: M, cause: M, from: Address, observer: Observations): void;
}

export interface NodeOptions {
  readonly node: NodeId;
  readonly topology: Topology;
  readonly settings: Settings;
  readonly reader: VersionReader;
  readonly recovered: RecoveredState;
  /** The whole log of a partition after a timestamp. */
  readonly logAfter: (partition: PartitionId, after: Timestamp) => readonly LogGroup[];
  readonly now: WallMs;
  readonly readings: ClockReadings;
  /** New writes must be refused now. */
  readonly diskIsFull: () => boolean;
}

/** The machines of one node, and what its driver uses. */
export interface ProtocolNode<M extends AnyMessage> {
  readonly machines: readonly (readonly [name: string, machine: Machine<M>])[];
  /** The clock that every frame carries (T2). */
  hlc(): Timestamp;
  /** What a link is opened with. */
  greeting(): ClockGreeting;
  /** A link opens: why it is refused because of the peer's clocks (K1). */
  meets(peer: NodeId, greeting: ClockGreeting): string | undefined;
  /** A frame has come: why it is refused because of its timestamps (K1). */
  receives(peer: NodeId, hlc: Timestamp, envelopes: readonly Envelope<M>[]): string | undefined;
  /** Whether it serves clients yet. */
  ready(now: WallMs): boolean;
  /** The latest timestamp that a client may name (T1). */
  latest(): Timestamp;
  /** The stable time that a client is welcomed with. */
  ust(): Timestamp;
  /** The time that every node of every region serves, as far as it knows. */
  served(): Timestamp;
  /** A client waits until `ts` is served. */
  want(ts: Timestamp): void;
  /** What lies in memory for requests under way, by name: bounded, and gone when nothing is under way any more. */
  load(): Readonly<Record<string, number>>;
  /**
   * What waits while a disk or another node stands still: not bounded by requests, and gone in the end like the rest.
   */
  backlog(): Readonly<Record<string, number>>;
  /** Transactions of which a lost disk took a part, as the node reports them (D10). */
  losses(): readonly Loss[];
}

import type { AnyMessage, DurableFact, NodeId, Random, RegionId, Timestamp, Topology } from '@isochron/core';
import type { Address } from '@isochron/protocols';
import type { VirtualTime } from '@isochron/simulated-world/virtual-time';
import type { WallClock } from '@isochron/simulated-world/wall-clock';
import type { Observations } from '../checks/evidence/observations.js';
import type { FaultPlan } from '../plan/plan.js';
import type { Disk } from '../world/disk.js';

/** A link, as faults see it. */
export interface FaultyLink {
  slowness: number;
  unruliness: number;
  drop(): void;
  block(): void;
  unblock(): void;
}

/** A node, as faults see it. */
export interface FaultyNode {
  readonly up: boolean;
  readonly clock: WallClock;
  readonly disk: Disk;
  diskIsFull: boolean;
  /** A frame of a peer arrives over the link. */
  receive(peer: NodeId, frame: { readonly hlc: Timestamp; readonly envelopes: readonly never[] }): void;
  pause(): void;
  resume(): void;
}

/** The cluster, as faults see it. */
export interface FaultyCluster {
  readonly topology: Topology;
  readonly time: VirtualTime;
  readonly diskSlowness: Map<NodeId, number>;
  node(id: NodeId): FaultyNode;
  link(a: NodeId, b: NodeId): FaultyLink;
  linksOf(node: NodeId): readonly FaultyLink[];
  isolate(region: RegionId, isolated: boolean): void;
  /** A message of a compromised node arrives, in its own name. */
  inject(from: Address, to: Address, message: AnyMessage): void;
  /** A request of an operator arrives at a machine of a node. */
  operate(to: Address, message: AnyMessage): void;
  crash(node: NodeId, batchSurvives: boolean): void;
  restart(node: NodeId): void;
  /** The node takes no more HTTP requests, and hands the sessions of its callers over. */
  drain(node: NodeId, done: () => void): void;
  /** Whether a node is a member of the newest map that it knows. */
  isMember(node: NodeId): boolean;
  /** Whether a node may lose its data: the cluster has them elsewhere. */
  maySpare(node: NodeId): boolean;
  /** Whether a node's clock may be set far off: the clocks of all others are about right. */
  mayMisread(node: NodeId): boolean;
  /** Whether all nodes are members of every map that any node knows last. */
  isWhole(): boolean;
  /** Whether a map that some node knows has evicted a node. */
  isEvicted(node: NodeId): boolean;
  /** The node dies with its disk, and never comes back. */
  lose(node: NodeId): void;
  /** The node dies, and its disk holds an older image, or nothing, when it comes back. */
  rob(node: NodeId, image: readonly DurableFact[]): void;
}

/** A client, as faults see it. */
export interface FaultyClient {
  die(): void;
  disconnect(): void;
  /**
   * From now on messages of nodes on its present connections are lost. Returns a function that breaks these
   * connections.
   */
  loseAnswers(): () => void;
}

/** The objects that a fault can act on. */
export interface FaultWorld {
  readonly cluster: FaultyCluster;
  readonly observer: Pick<Observations, 'strangeAttempt'>;
  /**
   * Calls back once, at the `nth` occurrence of the moment, with the message and its sender. Returns a function that
   * cancels it.
   */
  onMoment(moment: Moment, nth: number, run: (message: AnyMessage, from: NodeId) => void): () => void;
  /** The nodes that have sent prepares of each transaction. */
  readonly coordinators: ReadonlyMap<string, ReadonlySet<NodeId>>;
  /** The client of a session. */
  client(session: string): FaultyClient | undefined;
}

/** A moment in the life of a message on a node. */
export interface Moment {
  readonly node: NodeId;
  readonly type: string;
  /**
   * `receive`: it has arrived and is not handled. `handle`: it is handled, and none of its effects has left. `send`:
   * the frame with it has left, and those behind it have not.
   */
  readonly point: 'receive' | 'handle' | 'send';
}

/** The inputs for the draws of a fault. */
export interface FaultScene {
  readonly topology: Topology;
  readonly sessions: readonly string[];
  readonly crashPoints: readonly string[];
}

type Parameters = Readonly<Record<string, unknown>>;

/** One kind of fault: how it is drawn, and its effect. A new kind is added to the table. */
export interface FaultKind<P extends Parameters = Parameters> {
  /** How often a plan has it in comparison with others; 0: only plans that name it have it. */
  readonly weight: number;
  /** How long it lasts at least and at most, ms. */
  readonly forMs: readonly [number, number];
  /** Its parameters; undefined when the cluster has no target for it. */
  draw(random: Random, scene: FaultScene): P | undefined;
  /** Starts it; returns a function that heals it, if it has to be healed. */
  start(world: FaultWorld, fault: P & FaultPlan): (() => void) | undefined;
}

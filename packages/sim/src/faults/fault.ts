import type { DurableRecord, NodeId, Random, RegionId, Timestamp, Topology } from '@isochron/core';
import type { VirtualTime } from '../engine/virtual-time.js';
import type { FaultPlan } from '../plan/plan.js';
import type { Disk } from '../world/disk.js';
import type { WallClock } from '../world/wall-clock.js';

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
  /** Something comes over the link from a peer. */
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
  crash(node: NodeId, batchSurvives: boolean): void;
  restart(node: NodeId): void;
  /** The node takes no HTTP requests any more, and hands over what it keeps for callers. */
  drain(node: NodeId, done: () => void): void;
  /** Whether a node may lose data without the cluster losing them. */
  maySpare(node: NodeId): boolean;
  /** Whether a node's clock may be set far off: those of all others are about right. */
  mayMisread(node: NodeId): boolean;
  /** The node dies, and its disk holds an older image, or nothing, when it comes back. */
  rob(node: NodeId, image: readonly DurableRecord[]): void;
}

/** A client, as faults see it. */
export interface FaultyClient {
  die(): void;
  disconnect(): void;
  /** What nodes send on its present connections is lost from now on. Returns how to break these connections. */
  loseAnswers(): () => void;
}

/** What a fault can reach. */
export interface FaultWorld {
  readonly cluster: FaultyCluster;
  /** Calls back once, at the `nth` time that the moment comes. Returns how to call it off. */
  onMoment(moment: Moment, nth: number, run: () => void): () => void;
  /** The client of a session. */
  client(session: string): FaultyClient | undefined;
}

/** A moment in the life of a message on a node. */
export interface Moment {
  readonly node: NodeId;
  readonly type: string;
  /**
   * `receive`: it has arrived and is not handled. `handle`: it is handled, and nothing of what follows has left. `send`: the frame with
   * it has left, and those behind it have not.
   */
  readonly point: 'receive' | 'handle' | 'send';
}

/** What the draws of a fault may look at. */
export interface FaultScene {
  readonly topology: Topology;
  readonly sessions: readonly string[];
  readonly crashPoints: readonly string[];
}

type Parameters = Readonly<Record<string, unknown>>;

/** One kind of fault: how it is drawn, and what it does. Adding one is adding it to the table. */
export interface FaultKind<P extends Parameters = Parameters> {
  /** How often a plan has it in comparison with others; 0: only plans that name it have it. */
  readonly weight: number;
  /** How long it lasts at least and at most, ms. */
  readonly forMs: readonly [number, number];
  /** Its parameters; undefined when the cluster has nothing to break so. */
  draw(random: Random, scene: FaultScene): P | undefined;
  /** Lets it happen; returns what heals it, if it has to be healed. */
  start(world: FaultWorld, fault: P & FaultPlan): (() => void) | undefined;
}

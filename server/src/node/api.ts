/** The interface of a running node for the API layer (HTTP, WebSocket, status). */
import type { NodeId, RegionId, SessionCut, Timestamp, Topology, TxId } from '@isochron/core';
import type { Loss, Unresponsive, VerificationStatus } from '@isochron/protocols';
import type { CoordinatorPort, Done, OperationsPort, SessionsMachine } from '@isochron/sessions';
import type { IncomingConnections } from '@isochron/transport';
import type { HeldBack } from '@isochron/wire/session-frames';
import type { ClusterConfig } from '../config/cluster-file.js';
import type { StayReason } from './leaving.js';
import type { OrdersPort } from './orders.js';
import type { ServedOperations, ServedProtocol, ServedTransactions } from './protocols.js';
import type { Sent, TrafficKind, TrafficScope } from './traffic.js';
import type { Blocked } from './waits.js';

export interface PartitionStatus {
  readonly partition: string;
  readonly regions: readonly RegionId[];
  /** Durable version vector, by region. */
  readonly versionVector: Readonly<Record<RegionId, Timestamp>>;
  readonly prepared: number;
  readonly committed: number;
  readonly keys: number;
  readonly versions: number;
}

export interface LinkSummary {
  readonly node: NodeId;
  readonly region: RegionId;
  readonly up: boolean;
  readonly rttMs: number | null;
  readonly reconnects: number;
  readonly lastError: string | null;
}

export interface NodeStatus {
  readonly node: NodeId;
  readonly region: RegionId;
  readonly protocol: string;
  readonly version: string;
  readonly durability: 'synced' | 'memory';
  readonly uptimeMs: number;
  readonly hlc: Timestamp;
  readonly ust: Timestamp;
  readonly stalenessMs: number;
  /** What stable time waits for while it is old, by the reports of all nodes; null while it is not known. */
  readonly heldBackBy: HeldBack | null;
  readonly gcFloor: Timestamp;
  /** Whether its peers have confirmed that its disk was not rolled back (D10). */
  readonly verification: VerificationStatus;
  readonly clock: ClockStatus;
  readonly openTransactions: number;
  /** Transactions of which a lost disk took a part (D10), and that no operator has acknowledged. */
  readonly losses: { readonly open: number };
  readonly clusterFile: ClusterFileStatus;
  readonly map: MapStatus;
  readonly protection: ProtectionStatus;
  readonly disk: DiskStatus;
  /** Memory of the keys, its limit, and how long the disk took for the latest batch. */
  readonly storage: { readonly cacheBytes: number; readonly cacheLimitBytes: number; readonly lastSyncMs: number };
  readonly rssBytes: number;
  readonly partitions: readonly PartitionStatus[];
  readonly links: readonly LinkSummary[];
  /** Reads that waited until a replica had their snapshot: zero where the protocol does not block. */
  readonly blocking: Blocking;
  readonly counters: Readonly<Record<string, number>>;
}

/** The cluster file of the node, compared with the files of the others. */
export interface ClusterFileStatus {
  /** Hash of the parts that must agree. */
  readonly hash: string;
  /** The nodes that do not link because they have another hash. */
  readonly differsFrom: readonly NodeId[];
}

/** The map of the cluster that the node has adopted (M1). */
export interface MapStatus {
  readonly version: number;
  /** The nodes that are no members: stable time goes on without them. */
  readonly away: readonly NodeId[];
  /** The nodes among them that did not answer. */
  readonly suspended: readonly NodeId[];
  /** The slices of transactions that need a suspended node: they become visible after its return. */
  readonly deferred: number;
  /** Whether the node waits for the next map, and reports nothing for stable time. */
  readonly isSealed: boolean;
  /** The nodes that an operator keeps away. */
  readonly held: readonly NodeId[];
  /** The nodes that never come back. */
  readonly evicted: readonly NodeId[];
  /** When each node went that is away: stable time counts the node up to there; and whether an operator ordered it. */
  readonly absences: readonly { readonly node: NodeId; readonly since: Timestamp; readonly isOrdered: boolean }[];
  /** The members that are about to leave. */
  readonly leaving: readonly NodeId[];
  /** The nodes from which this node receives nothing. */
  readonly silent: readonly NodeId[];
  /** How many of the deferred slices wait for each node. */
  readonly deferredFor: Readonly<Record<NodeId, number>>;
  /** Whether this node has returned, and commits again what was deferred because of it. */
  readonly owes: boolean;
}

/** The access rules of the node and its users' settings, compared with the rules of the nodes that it has met. */
export interface ProtectionStatus {
  readonly rules: PartStatus;
  readonly users: PartStatus;
}

export interface PartStatus {
  /** Null: the node has none, and everything is allowed. */
  readonly hash: string | null;
  /** The nodes with another hash, or with none. */
  readonly differsFrom: readonly NodeId[];
  /** Whether the node has none and a peer has some: then it serves no client. */
  readonly missing: boolean;
}

/** The disk of the node's data. */
export interface DiskStatus {
  /** Whether writes are refused because the disk is full. */
  readonly full: boolean;
  /** Bytes of the files in the data folder, without the reserve, at the last measurement. */
  readonly usedBytes: number;
  /** Free bytes on the file system of the data folder; null where they cannot be measured. */
  readonly freeBytes: number | null;
  /** Bytes that the data folder may take; 0 for no quota. */
  readonly quotaBytes: number;
  /** Writes since the start that were refused because the disk was full. */
  readonly refusedWrites: number;
}

/** The node's wall clock, compared with the clocks of the others. */
export interface ClockStatus {
  /** Why it may not go into timestamps (K2); null when it may. */
  readonly problem: string | null;
  /** Median of the other nodes' clocks minus this node's clock, in ms. */
  readonly driftMs: number;
}

/** Since the start of the node. */
export interface Blocking {
  readonly reads: number;
  readonly totalMs: number;
  readonly longestMs: number;
}

/** Costs of the protocol on a node since its start: the figures that the papers compare. */
export interface Costs {
  readonly blocked: Blocked;
  /** Traffic to other nodes. */
  sent(kind: TrafficKind, scope: TrafficScope): Sent;
  /** Updates sent to other regions, and the bytes of metadata in them, see `Traffic`. */
  readonly replicatedUpdates: number;
  readonly metadataBytes: number;
}

/** A node in operation, under any protocol. */
export interface RunningNode {
  readonly id: NodeId;
  readonly region: RegionId;
  readonly config: ClusterConfig;
  readonly protocol: ServedProtocol;
  readonly topology: Topology;
  /** Node's wall clock, ms since 1970. */
  now(): number;
  /** A clock that never jumps, ms. */
  steady(): number;
  /** The latest timestamp that a client may name (T1). */
  latest(): Timestamp;
  /** Universal stable time on this node. */
  ust(): Timestamp;
  /** Version of the map that the node has adopted. */
  map(): number;
  /** The adopted maps above a version that have suspended nodes (M10). */
  cutsAfter(version: number): readonly SessionCut[];
  /**
   * Leaves the members in order, so that stable time goes on without the node, until it starts again or `comeBack`.
   * Resolves once the node has left, or with why it stays a member, after `timeoutMs` at the latest.
   */
  leave(timeoutMs: number): Promise<StayReason | undefined>;
  /** Leaves no more, or becomes a member again once the node has what it lacks. */
  comeBack(): void;
  /** An operator's orders about nodes of the cluster, under protocols with maps. */
  readonly orders: Pick<OrdersPort, 'order'> | undefined;
  /** The node's hybrid logical clock. */
  hlc(): Timestamp;
  /** Age of the stable snapshot in ms. */
  stalenessMs(): number;
  /**
   * Ends once every node of every region serves `ts`, with the highest time that all are known to serve: a session that
   * begins anywhere, now or after any crash, sees everything up to it. Ends with STABLE_TIMEOUT after `timeoutMs`.
   */
  stable(ts: Timestamp, timeoutMs: number, done: Done<Timestamp>): void;
  /** State of the verification of the disk: a node that is `verifying` takes no writes. */
  verification(): VerificationStatus;
  /**
   * Ends with this node's UST once it has reached `ts`: sessions on this node read it then. Ends with STABLE_TIMEOUT
   * after `timeoutMs`.
   */
  visibleHere(ts: Timestamp, timeoutMs: number, done: Done<Timestamp>): void;
  /** The nodes and regions that do not answer this node. */
  readonly unresponsive: Unresponsive;
  /** Calls `listener` at once when that has changed. */
  onUnresponsive(listener: () => void): void;
  /** What guards its peers and not this node, so that it serves no client; undefined when it may serve. */
  unprotected(): string | undefined;
  /** Calls `listener` whenever that begins. */
  onUnprotected(listener: () => void): void;
  /** Why the wall clock of this node may not go into timestamps (K2); undefined when it may. */
  clockProblem(): string | undefined;
  /**
   * Whether the node may serve requests: it is recovered, its clock is right, its disk is not being verified any more,
   * and it has a stable time.
   */
  ready(): boolean;
  status(): NodeStatus;
  /** Connections to the peering port; undefined before the node listens. */
  peerConnections(): IncomingConnections | undefined;
  costs(): Costs;
  /** Transactions of which a lost disk took a part (D10), also acknowledged losses, newest last. */
  losses(): readonly Loss[];
  /**
   * Acknowledges losses on this node. Resolves once that is durable, with the number that were open; unknown ids are
   * ignored.
   */
  acknowledgeLosses(transactions: readonly TxId[] | 'all'): Promise<number>;
  /** Reports sampled updates of other regions: the time from its timestamp until one became visible here, ms. */
  onVisible(listener: (source: RegionId, ms: number) => void): void;
  /** Stops taking work, flushes and closes links and disk. */
  close(): Promise<void>;
}

/** A node whose clients run interactive transactions. */
export interface TransactionsNode extends RunningNode {
  readonly protocol: ServedTransactions;
  readonly port: CoordinatorPort;
  /** Caches of HTTP sessions, kept here or fetched from other nodes. */
  readonly sessions: SessionsMachine;
}

/** A node whose clients run single operations. */
export interface OperationsNode extends RunningNode {
  readonly protocol: ServedOperations;
  readonly port: OperationsPort;
}

export type AnyNode = TransactionsNode | OperationsNode;

export const runsTransactions = (node: AnyNode): node is TransactionsNode => node.protocol.kind === 'transactions';

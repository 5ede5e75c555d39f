/** What the API layer (HTTP, WebSocket, status) sees of a running node. */
import type { NodeId, RegionId, Timestamp, Topology, TxId } from '@isochron/core';
import type { Loss, Unresponsive, VerificationStatus } from '@isochron/protocols';
import type { CoordinatorPort, Done, OperationsPort, SessionsMachine } from '@isochron/sessions';
import type { ClusterConfig } from '../config/cluster-file.js';
import type { OperationRequests, TransactionRequests } from './promised.js';
import type { ServedOperations, ServedProtocol, ServedTransactions } from './protocols.js';
import type { Scope, Sent, TrafficKind } from './traffic.js';
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
  readonly gcFloor: Timestamp;
  /** Whether its peers have confirmed that its disk was not rolled back (D10). */
  readonly verification: VerificationStatus;
  readonly clock: ClockStatus;
  readonly openTransactions: number;
  /** Transactions of which a lost disk took a part (D10), and that no operator has acknowledged. */
  readonly losses: { readonly open: number };
  readonly clusterFile: ClusterFileStatus;
  readonly disk: DiskStatus;
  /** Memory of the versions that are cached, and how long the disk took for the latest batch. */
  readonly storage: { readonly cacheBytes: number; readonly lastSyncMs: number };
  readonly rssBytes: number;
  readonly partitions: readonly PartitionStatus[];
  readonly links: readonly LinkSummary[];
  /** Reads that had to wait until a replica had their snapshot: none where the protocol never lets them. */
  readonly blocking: Blocking;
  readonly counters: Readonly<Record<string, number>>;
}

/** The cluster file of the node beside those of the others. */
export interface ClusterFileStatus {
  /** Hash of what must agree. */
  readonly hash: string;
  /** The nodes that do not link because they have another hash. */
  readonly differsFrom: readonly NodeId[];
}

/** The disk that the node's data are on. */
export interface DiskStatus {
  /** Whether writes are refused for want of room. */
  readonly full: boolean;
  /** Of the files in the data folder, without the reserve, as last measured. */
  readonly usedBytes: number;
  /** On the file system of the data folder; null where it cannot be measured. */
  readonly freeBytes: number | null;
  /** What the data folder may take; 0 for no quota. */
  readonly quotaBytes: number;
  /** Writes that were refused for want of room since the start. */
  readonly refusedWrites: number;
}

/** The node's wall clock beside those of the others. */
export interface ClockStatus {
  /** Why it may not go into timestamps (K2); null when it may. */
  readonly problem: string | null;
  /** Median of the other nodes' clocks minus this one's, in ms. */
  readonly driftMs: number;
}

/** Since the start of the node. */
export interface Blocking {
  readonly reads: number;
  readonly totalMs: number;
  readonly longestMs: number;
}

/** What its protocol costs a node, since its start: what the papers compare. */
export interface Costs {
  readonly blocked: Blocked;
  /** To other nodes. */
  sent(kind: TrafficKind, scope: Scope): Sent;
  /** Updates sent to other regions, and what of them is metadata, see `Traffic`. */
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
  /** The latest timestamp that a client may name (T1). */
  latest(): Timestamp;
  /** Universal stable time as this node knows it. */
  ust(): Timestamp;
  /** The node's hybrid logical clock. */
  hlc(): Timestamp;
  /** Age of the stable snapshot in ms. */
  stalenessMs(): number;
  /**
   * Ends once every node of every region serves `ts`, with the highest time of which that is known: a session that
   * begins anywhere, now or after any crash, sees everything up to it. Ends with STABLE_TIMEOUT after `timeoutMs`.
   */
  stable(ts: Timestamp, timeoutMs: number, done: Done<Timestamp>): void;
  /** Where the verification of the disk stands: a node that is `verifying` takes no writes. */
  verification(): VerificationStatus;
  /**
   * Ends with this node's UST once it has reached `ts`: what sessions see here. Ends with STABLE_TIMEOUT after
   * `timeoutMs`.
   */
  visibleHere(ts: Timestamp, timeoutMs: number, done: Done<Timestamp>): void;
  /** Which nodes and regions do not answer this one. */
  readonly unresponsive: Unresponsive;
  /** Calls `listener` at once when that has changed. */
  onUnresponsive(listener: () => void): void;
  /** Why the wall clock of this node may not go into timestamps (K2); undefined when it may. */
  clockProblem(): string | undefined;
  /**
   * Whether the node may serve requests: recovered, with a right clock, its disk not being verified any more, and
   * the node has a stable time.
   */
  ready(): boolean;
  status(): NodeStatus;
  costs(): Costs;
  /** Transactions of which a lost disk took a part (D10), acknowledged ones too, newest last. */
  losses(): readonly Loss[];
  /**
   * Acknowledges losses on this node. Resolves once that is durable, with how many were open; unknown ids are ignored.
   */
  acknowledgeLosses(transactions: readonly TxId[] | 'all'): Promise<number>;
  /** Tells of sampled updates of other regions: how long after its timestamp one became visible here, ms. */
  onVisible(listener: (source: RegionId, ms: number) => void): void;
  /** Stops taking work, flushes and closes links and disk. */
  close(): Promise<void>;
}

/** One whose clients run interactive transactions. */
export interface TransactionsNode extends RunningNode {
  readonly protocol: ServedTransactions;
  readonly port: CoordinatorPort;
  /** The same with promises. */
  readonly requests: TransactionRequests;
  /** Caches of HTTP sessions, kept here or asked for elsewhere. */
  readonly sessions: SessionsMachine;
}

/** One whose clients run single operations. */
export interface OperationsNode extends RunningNode {
  readonly protocol: ServedOperations;
  readonly port: OperationsPort;
  /** The same with promises. */
  readonly requests: OperationRequests;
}

export type AnyNode = TransactionsNode | OperationsNode;

export const runsTransactions = (node: AnyNode): node is TransactionsNode => node.protocol.kind === 'transactions';

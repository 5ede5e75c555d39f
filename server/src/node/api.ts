/** What the API layer (HTTP, WebSocket, status) sees of a running node. */
import type { NodeId, RegionId, Timestamp, Topology, TxId } from '@isochron/core';
import type {
  CommitReq,
  CommitResp,
  EndTxReq,
  EndTxResp,
  GetReq,
  GetResp,
  ListReq,
  ListResp,
  Loss,
  PutReq,
  PutResp,
  ReadReq,
  ReadResp,
  RotReq,
  RotResp,
  StartTxReq,
  StartTxResp,
  TxStatusReq,
  TxStatusResp,
  Unresponsive,
  VerificationStatus,
} from '@isochron/protocols';
import type { SessionsMachine } from '@isochron/sessions';
import type { ClusterConfig } from '../config/cluster-file.js';
import type { ServedOperations, ServedProtocol, ServedTransactions } from './protocols.js';
import type { Scope, Sent, TrafficKind } from './traffic.js';
import type { Blocked } from './waits.js';

/** A request as the API layer writes it: the port adds the reference. */
export type Unreferenced<R> = Omit<R, 'type' | 'ref'>;

/**
 * A coordinator, as a client sees it. Every call ends: with the answer, or with an IsochronError that carries the refusal's
 * code. `coordinator` names another node of the region that opened the transaction; the default is this node.
 */
export interface CoordinatorPort {
  start(request: Unreferenced<StartTxReq>, coordinator?: NodeId): Promise<StartTxResp>;
  read(request: Unreferenced<ReadReq>, coordinator?: NodeId): Promise<ReadResp>;
  list(request: Unreferenced<ListReq>, coordinator?: NodeId): Promise<ListResp>;
  commit(request: Unreferenced<CommitReq>, coordinator?: NodeId): Promise<CommitResp>;
  end(request: Unreferenced<EndTxReq>, coordinator?: NodeId): Promise<EndTxResp>;
  txStatus(request: Unreferenced<TxStatusReq>, coordinator?: NodeId): Promise<TxStatusResp>;
}

/** The coordinator of this node, as a client of single operations sees it. Every call ends, as those of {@link CoordinatorPort} do. */
export interface OperationsPort {
  get(request: Unreferenced<GetReq>): Promise<GetResp>;
  put(request: Unreferenced<PutReq>): Promise<PutResp>;
  rot(request: Unreferenced<RotReq>): Promise<RotResp>;
}

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
  readonly rssBytes: number;
  readonly partitions: readonly PartitionStatus[];
  readonly links: readonly LinkSummary[];
  /** Reads that had to wait until a replica had their snapshot: none where the protocol never lets them. */
  readonly blocking: Blocking;
  readonly counters: Readonly<Record<string, number>>;
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
  /** Universal stable time as this node knows it. */
  ust(): Timestamp;
  /** The node's hybrid logical clock. */
  hlc(): Timestamp;
  /** Age of the stable snapshot in ms. */
  stalenessMs(): number;
  /**
   * Resolves once every node of every region serves `ts`, with the highest time of which that is known: a session that
   * begins anywhere, now or after any crash, sees everything up to it. Rejects with STABLE_TIMEOUT after `timeoutMs`.
   */
  stable(ts: Timestamp, timeoutMs: number): Promise<Timestamp>;
  /** Where the verification of the disk stands: a node that is `verifying` takes no writes. */
  verification(): VerificationStatus;
  /**
   * Resolves with this node's UST once it has reached `ts`: what sessions see here. Rejects with STABLE_TIMEOUT after
   * `timeoutMs`.
   */
  visibleHere(ts: Timestamp, timeoutMs: number): Promise<Timestamp>;
  /** Which nodes and regions do not answer this one. */
  readonly unresponsive: Unresponsive;
  /** Calls `listener` at once when that has changed. */
  onUnresponsive(listener: () => void): void;
  /** Why the wall clock of this node may not go into timestamps (K2); undefined when it may. */
  clockProblem(): string | undefined;
  /**
   * Whether the node may serve: recovered, with a right clock, its disk not being verified any more, and stabilisation
   * has spoken once.
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
  readonly coordinator: CoordinatorPort;
  /** Caches of HTTP sessions, kept here or asked for elsewhere. */
  readonly sessions: SessionsMachine;
}

/** One whose clients run single operations. */
export interface OperationsNode extends RunningNode {
  readonly protocol: ServedOperations;
  readonly coordinator: OperationsPort;
}

export type AnyNode = TransactionsNode | OperationsNode;

export const runsTransactions = (node: AnyNode): node is TransactionsNode => node.protocol.kind === 'transactions';

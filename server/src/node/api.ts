/** What the API layer (HTTP, WebSocket, status) sees of a running node. */
import type { NodeId, RegionId, Timestamp, Topology } from '@isochron/core';
import type {
  CommitReq,
  CommitResp,
  EndTxReq,
  EndTxResp,
  ListReq,
  ListResp,
  ReadReq,
  ReadResp,
  StartTxReq,
  StartTxResp,
  TxStatusReq,
  TxStatusResp,
} from '@isochron/protocols';
import type { ClusterConfig } from '../config/cluster-file.js';

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
  readonly openTransactions: number;
  readonly rssBytes: number;
  readonly partitions: readonly PartitionStatus[];
  readonly links: readonly LinkSummary[];
  readonly counters: Readonly<Record<string, number>>;
}

/** A node in operation. */
export interface RunningNode {
  readonly id: NodeId;
  readonly region: RegionId;
  readonly config: ClusterConfig;
  readonly topology: Topology;
  readonly coordinator: CoordinatorPort;
  /** Node's wall clock, ms since 1970. */
  now(): number;
  /** Universal stable time as this node knows it. */
  ust(): Timestamp;
  /** The node's hybrid logical clock. */
  hlc(): Timestamp;
  /** Age of the stable snapshot in ms. */
  stalenessMs(): number;
  /** Resolves with the UST once it has reached `ts`; rejects with STABLE_TIMEOUT after `timeoutMs`. */
  stable(ts: Timestamp, timeoutMs: number): Promise<Timestamp>;
  /** Whether the node may serve: recovered, stabilisation has spoken once. */
  ready(): boolean;
  status(): NodeStatus;
  /** Stops taking work, flushes and closes links and disk. */
  close(): Promise<void>;
}

/**
 * What replicas and nodes say to one another under every protocol: replication and its replay (D6), copies of lost disks (D10), and
 * stabilisation. Each says who sends it to whom. `schema.ts` gives their encoding and validation.
 */
import type {
  Deps,
  LogGroup,
  NodeId,
  PartitionId,
  QualifiedKey,
  RegionId,
  Timestamp,
  TxId,
  Version,
} from '@isochron/core';

/** Correlates an answer with its request; made by the requester. */
export type Ref = number;

/** A key and one of its versions. */
export interface ListedVersion {
  readonly key: QualifiedKey;
  readonly version: Version;
}

/**
 * Replica → peer replica (Alg. 4 line 15), after the groups are durable here. All groups with `from < ct <= to` that `source`
 * sourced. A fragment of a group has `to` = `from`: only its last part raises the receiver's version clock (P3, D6).
 */
export interface Replicate {
  readonly type: 'Replicate';
  readonly partition: PartitionId;
  readonly source: RegionId;
  readonly from: Timestamp;
  readonly to: Timestamp;
  readonly groups: readonly LogGroup[];
  /** A page of a replay that goes on: the receiver asks for the next one. */
  readonly more: boolean;
  /** Whether every peer has verified the disk that this comes from (D10). */
  readonly verified: boolean;
}

/** Replica → peer replica (Alg. 4 line 21): nothing was applied in `(from, to]`. */
export interface Heartbeat {
  readonly type: 'Heartbeat';
  readonly partition: PartitionId;
  readonly source: RegionId;
  readonly from: Timestamp;
  readonly to: Timestamp;
  readonly verified: boolean;
}

/** Partitions whose version clocks have moved over the same range. */
export interface HeartbeatSpan extends Pick<Heartbeat, 'from' | 'to' | 'verified'> {
  readonly partitions: readonly PartitionId[];
}

/** Rounds of a node → rounds of a node that has replicas of the same partitions: the `Heartbeat`s of a round. */
export interface Heartbeats {
  readonly type: 'Heartbeats';
  readonly source: RegionId;
  readonly spans: readonly HeartbeatSpan[];
}

/** Machine → rounds of its node → rounds of every other node: something is written, rounds come at their interval (`activity.ts`). */
export interface Wake {
  readonly type: 'Wake';
}

/** Replica → peer replica (D6): send again what you sourced after `from`. */
export interface ResyncReq {
  readonly type: 'ResyncReq';
  readonly partition: PartitionId;
  readonly region: RegionId;
  readonly from: Timestamp;
  /**
   * Highest version clock and highest `ct` of a group that came from the receiver itself since the sender started: what it no longer
   * knows of, it has lost (D10). `from` says less: after a restart it may have been raised by UST.
   */
  readonly clock: Timestamp;
  readonly group: Timestamp;
  /** `incarnation` of the sender, and of the receiver as far as the sender knows: whose disk was lost since is met anew (D10). */
  readonly incarnation: Timestamp;
  readonly peerIncarnation: Timestamp;
  /** The sender's own durable version clock: every group that it has ever sent lies at or below. */
  readonly sourced: Timestamp;
}

/** Replica → peer replica (D10): what you lack is no longer in my log, so your disk has lost what it had confirmed. */
export interface ResyncRefused {
  readonly type: 'ResyncRefused';
  readonly partition: PartitionId;
  readonly source: RegionId;
  readonly truncatedUpTo: Timestamp;
}

/** Replica → itself: the range `(after, upTo]` of its log has been brought to memory; send it to `region`. */
export interface ReplayLog {
  readonly type: 'ReplayLog';
  readonly region: RegionId;
  readonly after: Timestamp;
  readonly upTo: Timestamp;
}

/** Node without data → every other node (D10): what do you know of me? */
export interface JoinReq {
  readonly type: 'JoinReq';
}

/** Node → node without data. */
export interface JoinResp {
  readonly type: 'JoinResp';
  /** Whether the answering node has its own data. */
  readonly joined: boolean;
  /** It waits to be rebuilt itself: its data are damaged. */
  readonly retiring: boolean;
  /** It had data, which were set aside: the cluster has lived, whatever else is known. */
  readonly setAside: boolean;
  readonly ust: Timestamp;
  /** Highest version clock seen from the asker, for each partition that both hold. */
  readonly clocks: readonly { readonly partition: PartitionId; readonly clock: Timestamp }[];
}

/** Node without data → replica (D10): a page of your versions from key `start` on. */
export interface CopyReq {
  readonly type: 'CopyReq';
  readonly ref: Ref;
  readonly partition: PartitionId;
  readonly start: QualifiedKey;
  /** Only versions that this region sourced above `above`; null for all versions. */
  readonly source: RegionId | null;
  readonly above: Timestamp;
  /** Answer once your durable version vector has reached this entry of the asker's region. */
  readonly clock: Timestamp;
}

/** Replica → itself: the page has been brought to memory; send it to `node`. */
export interface ReadCopy {
  readonly type: 'ReadCopy';
  readonly node: NodeId;
  readonly request: CopyReq;
  readonly vector: readonly VectorEntry[];
}

/** Replica → node without data: one part of a page, at most about half a MiB. */
export interface CopyResp {
  readonly type: 'CopyResp';
  readonly ref: Ref;
  readonly part: number;
  readonly parts: number;
  readonly versions: readonly ListedVersion[];
  readonly next: QualifiedKey | null;
  /** The durable version vector before the page was read: every version that it covers is in this page or in another one. */
  readonly vector: readonly VectorEntry[];
  readonly gcFloor: Timestamp;
}

export interface VectorEntry {
  readonly region: RegionId;
  readonly ts: Timestamp;
}

/** Node → its parent in the region's tree (Alg. 4 lines 34–35): the minima over its subtree. */
export interface GossipUp {
  readonly type: 'GossipUp';
  /** Minimum over the subtree of every replica's durable version vector; null where it has no replica. */
  readonly gst: Timestamp | null;
  /** Oldest snapshot in use in the subtree (P9). */
  readonly sOld: Timestamp;
  /** The sender's wall clock, for the drift watch (T1). */
  readonly wallMs: number;
  /** Minima over the subtree of what its nodes have installed, under protocols that use them (`RegionalTimes`). */
  readonly regional?: Deps | undefined;
  /**
   * Minimum over the subtree's nodes, also those without replicas, of the stable times on their disks; absent for 0.
   */
  readonly served?: Timestamp | undefined;
  /** The highest time that a caller of one of these nodes waits for to be served everywhere; absent when none does. */
  readonly wanted?: Timestamp | undefined;
}

/** Root → the other regions' roots. */
export interface GossipRoot {
  readonly type: 'GossipRoot';
  readonly region: RegionId;
  readonly gst: Timestamp | null;
  readonly sOld: Timestamp;
  readonly wallMs: number;
  /** The region's minima, under protocols that use those over all regions. */
  readonly regional?: Deps | undefined;
  /** The region's minimum, and the region's highest time that is waited for. */
  readonly served?: Timestamp | undefined;
  readonly wanted?: Timestamp | undefined;
}

/** Root → down its tree (Alg. 4 lines 36–38). */
export interface GossipDown {
  readonly type: 'GossipDown';
  readonly ust: Timestamp;
  readonly sOld: Timestamp;
  readonly wallMs: number;
  /** The region's minima, under protocols that use them. */
  readonly regional?: Deps | undefined;
  /** What every node of every region serves, and the highest time that a caller of any node waits for to be served. */
  readonly served?: Timestamp | undefined;
  readonly wanted?: Timestamp | undefined;
}

/** A node whose clock is off by what it knows of the others' → every node: compare once more (K2). */
export interface ClockReq {
  readonly type: 'ClockReq';
}

/** For `PeerClocks`. */
export interface ClockResp {
  readonly type: 'ClockResp';
  readonly wallMs: number;
}

/** An operator, through the node's API → the node's `losses` machine (D10). */
export interface AcknowledgeLossesReq {
  readonly type: 'AcknowledgeLossesReq';
  readonly ref: Ref;
  /** Null for all of them. */
  readonly transactions: readonly TxId[] | null;
}

/** `losses` → the node's API, once it is durable. */
export interface AcknowledgeLossesResp {
  readonly type: 'AcknowledgeLossesResp';
  readonly ref: Ref;
  /** How many were open and are not any more. */
  readonly acknowledged: number;
}

export type ReplicationMessage =
  | Replicate
  | Heartbeat
  | Heartbeats
  | Wake
  | ResyncReq
  | ResyncRefused
  | ReplayLog
  | JoinReq
  | JoinResp
  | CopyReq
  | ReadCopy
  | CopyResp
  | GossipUp
  | GossipRoot
  | GossipDown
  | ClockReq
  | ClockResp
  | AcknowledgeLossesReq
  | AcknowledgeLossesResp;

/** The messages that a replica takes of others. */
export type StreamMessage = Extract<
  ReplicationMessage,
  { type: 'Replicate' | 'Heartbeat' | 'ResyncReq' | 'ResyncRefused' | 'ReplayLog' | 'CopyReq' | 'ReadCopy' }
>;

/**
 * The messages of replicas and nodes under every protocol: replication and its replay (D6), copies of lost disks (D10),
 * and stabilisation. Each is declared once: its sender and receiver, its fields in the order in which they are encoded,
 * their validation, and the type.
 */
import {
  boolean,
  count,
  type Infer,
  list,
  type MessageOf,
  type MessageSchema,
  message,
  nullable,
  object,
  optional,
  timestamp,
  uint,
} from '@isochron/core';
import {
  deps,
  foldedVersion,
  group,
  key,
  loggedTx,
  node,
  partition,
  partitions,
  region,
  txId,
  version,
  wallMs,
} from './fields.js';

/** Correlates an answer with its request; made by the requester. */
export type Ref = number;

/** Version of the map that the sender has adopted; absent for 0. */
const adoptedMap = optional(uint);
/**
 * The latest of the clocks with which members have adopted the map, 0 once stable time has passed it (M9). Absent for
 * map 0, and while it is not known.
 */
const fence = optional(timestamp);

/** A key and its version in the snapshot of a listing. */
export const ListedVersion = object({ key, version: foldedVersion });
export type ListedVersion = Infer<typeof ListedVersion>;

/** A key and one of its versions. */
export const CopiedVersion = object({
  key,
  version,
  /** Of a transaction of the copying node whose request may be repeated, or that commits again (D5, M8). */
  attempt: optional(uint),
});
export type CopiedVersion = Infer<typeof CopiedVersion>;

/**
 * Replica → peer replica (Alg. 4 line 15), after the groups are durable here. All groups with `from < ct <= to` that
 * `source` sourced. A fragment of a group has `to` = `from`: only its last part raises the receiver's version clock
 * (P3, D6).
 */
export const Replicate = message('Replicate', 27, {
  partition,
  source: region,
  from: timestamp,
  to: timestamp,
  groups: list(group),
  /** This is a page of a replay with further pages: the receiver asks for the next one. */
  more: boolean,
  /** Whether every peer has verified the source's disk (D10). */
  verified: boolean,
  /** What this map defers, and every map before, is not in the groups (M4). */
  map: adoptedMap,
});
export type Replicate = Infer<typeof Replicate>;

/** Replica → peer replica (Alg. 4 line 21): nothing was applied in `(from, to]`. */
export const Heartbeat = message('Heartbeat', 28, {
  partition,
  source: region,
  from: timestamp,
  to: timestamp,
  verified: boolean,
});
export type Heartbeat = Infer<typeof Heartbeat>;

/** Partitions whose version clocks have moved over the same range. */
export const HeartbeatSpan = object({
  from: timestamp,
  to: timestamp,
  verified: boolean,
  partitions,
});
export type HeartbeatSpan = Infer<typeof HeartbeatSpan>;

/** Rounds of a node → rounds of a node that has replicas of the same partitions: the `Heartbeat`s of a round. */
export const Heartbeats = message('Heartbeats', 53, { source: region, spans: list(HeartbeatSpan, 100_000) });
export type Heartbeats = Infer<typeof Heartbeats>;

/**
 * Machine → rounds of its node → rounds of every other node: a client is writing, so rounds keep their interval
 * (`activity.ts`).
 */
export const Wake = message('Wake', 54, {});
export type Wake = Infer<typeof Wake>;

/** Replica → peer replica (D6): send again everything that you sourced after `from`. */
export const ResyncReq = message('ResyncReq', 29, {
  partition,
  region,
  from: timestamp,
  /**
   * Highest version clock and highest `ct` of a group that the sender received from the receiver itself since the
   * sender's start: data that the receiver no longer has are lost (D10). `from` is no proof: a restart may raise it to
   * UST.
   */
  clock: timestamp,
  group: timestamp,
  /**
   * `incarnation` of the sender, and of the receiver as known to the sender: a node with another one has lost its disk
   * since (D10).
   */
  incarnation: timestamp,
  peerIncarnation: timestamp,
  /** The sender's own durable version clock: every group that it has ever sent lies at or below. */
  sourced: timestamp,
});
export type ResyncReq = Infer<typeof ResyncReq>;

/**
 * Replica → peer replica (D10): my log no longer has the groups that you lack, so your disk has lost groups that it had
 * confirmed.
 */
export const ResyncRefused = message('ResyncRefused', 34, { partition, source: region, truncatedUpTo: timestamp });
export type ResyncRefused = Infer<typeof ResyncRefused>;

/** Replica → itself: the range `(after, upTo]` of its log has been brought to memory; send it to `region`. */
export const ReplayLog = message('ReplayLog', 33, { region, after: timestamp, upTo: timestamp });
export type ReplayLog = Infer<typeof ReplayLog>;

/** Replica → itself, after a start: the range `(after, upTo]` of its log has been brought to memory, for `Unstable`. */
export const ReadUnstable = message('ReadUnstable', 107, { after: timestamp, upTo: timestamp });
export type ReadUnstable = Infer<typeof ReadUnstable>;

/** Node without data → every other node (D10): asks for its state, and the version clocks received from here. */
export const JoinReq = message('JoinReq', 35, {});
export type JoinReq = Infer<typeof JoinReq>;

/** Node → node without data. */
export const JoinResp = message('JoinResp', 36, {
  /** Whether the answering node has its own data. */
  joined: boolean,
  /** The node waits to be rebuilt itself: its data are damaged. */
  retiring: boolean,
  /** The node had data, which were set aside: so this is not the cluster's first start. */
  setAside: boolean,
  ust: timestamp,
  /** The part of `ust` that counts every node; absent in map 0, where `ust` does. */
  everywhere: optional(timestamp),
  map: adoptedMap,
  /** Highest version clock received from the asker, for each partition that both hold. */
  clocks: list(object({ partition, clock: timestamp })),
});
export type JoinResp = Infer<typeof JoinResp>;

/** Node without data → replica (D10): a page of your versions from key `start` on. */
export const CopyReq = message('CopyReq', 37, {
  ref: count,
  partition,
  start: key,
  /** Only versions that this region sourced above `above`; null for all versions. */
  source: nullable(region),
  above: timestamp,
  /** Answer once your durable version vector has reached this entry of the asker's region. */
  clock: timestamp,
});
export type CopyReq = Infer<typeof CopyReq>;

/** One region's entry of a version vector. */
export const VectorEntry = object({ region, ts: timestamp });
export type VectorEntry = Infer<typeof VectorEntry>;
const vector = list(VectorEntry, 1_000);

/** Replica → itself: the page has been brought to memory; send it to `node`. */
export const ReadCopy = message('ReadCopy', 38, {
  node,
  request: CopyReq,
  vector,
});
export type ReadCopy = Infer<typeof ReadCopy>;

/** Replica → node without data: one part of a page, at most about half a MiB. */
export const CopyResp = message('CopyResp', 39, {
  ref: count,
  part: uint,
  parts: uint,
  versions: list(CopiedVersion),
  next: nullable(key),
  /**
   * The durable version vector before the page was read: every version that it covers is in this page or in another
   * one.
   */
  vector,
  gcFloor: timestamp,
  /** With the last page: the transactions above stable time, whose versions do not name what they need (M4). */
  unstable: optional(list(object({ ct: timestamp, region, tx: loggedTx }))),
  map: adoptedMap,
});
export type CopyResp = Infer<typeof CopyResp>;

/**
 * The writes that a minimum waits for: those of a region in a partition. Without a partition it is the region's reports
 * that are missing.
 */
export const HeldBackBy = object({ region, partition: optional(partition) });
export type HeldBackBy = Infer<typeof HeldBackBy>;

/** Node → its parent in the region's tree (Alg. 4 lines 34–35): the minima over its subtree. */
export const GossipUp = message('GossipUp', 30, {
  /** Minimum over the subtree of every replica's durable version vector; null where it has no replica. */
  gst: nullable(timestamp),
  /** Oldest snapshot in use in the subtree (P9). */
  sOld: timestamp,
  /** The sender's wall clock, for the drift watch (T1). */
  wallMs,
  /** Minima of the times installed by the nodes of the subtree, under protocols that use them (`RegionalTimes`). */
  regional: deps,
  /**
   * Minimum over the subtree's nodes, also those without replicas, of the stable times on their disks; absent for 0.
   */
  served: optional(timestamp),
  /**
   * The highest time that a caller of one of these nodes waits for until it is served everywhere; absent without one.
   */
  wanted: optional(timestamp),
  /** What the subtree's minimum waits for, while that is old. */
  heldBackBy: optional(HeldBackBy),
  map: adoptedMap,
  fence,
});
export type GossipUp = Infer<typeof GossipUp>;

/** Root → the other regions' roots. */
export const GossipRoot = message('GossipRoot', 31, {
  region,
  gst: nullable(timestamp),
  sOld: timestamp,
  wallMs,
  /** The region's minima, under protocols that use those over all regions. */
  regional: deps,
  /** The region's minimum, and the region's highest time that a caller waits for. */
  served: optional(timestamp),
  wanted: optional(timestamp),
  /** What the region's minimum waits for, while that is old. */
  heldBackBy: optional(HeldBackBy),
  map: adoptedMap,
  fence,
});
export type GossipRoot = Infer<typeof GossipRoot>;

/** Root → down its tree (Alg. 4 lines 36–38). */
export const GossipDown = message('GossipDown', 32, {
  ust: timestamp,
  sOld: timestamp,
  wallMs,
  /** The region's minima, under protocols that use them. */
  regional: deps,
  /** The minimum that every node of every region serves, and the highest time that a caller of any node waits for. */
  served: optional(timestamp),
  wanted: optional(timestamp),
  /** What the stable time waits for, while that is old. */
  heldBackBy: optional(HeldBackBy),
  map: adoptedMap,
  fence,
});
export type GossipDown = Infer<typeof GossipDown>;

/** A node whose clock is too far from the known clocks of the others → every node: compare once more (K2). */
export const ClockReq = message('ClockReq', 51, {});
export type ClockReq = Infer<typeof ClockReq>;

/** For `PeerClocks`. */
export const ClockResp = message('ClockResp', 52, { wallMs });
export type ClockResp = Infer<typeof ClockResp>;

/** An operator, through the node's API → the node's `losses` machine (D10). */
export const AcknowledgeLossesReq = message('AcknowledgeLossesReq', 41, {
  ref: uint,
  /** Null for all of them. */
  transactions: nullable(list(txId, 10_000)),
});
export type AcknowledgeLossesReq = Infer<typeof AcknowledgeLossesReq>;

/** `losses` → the node's API, once it is durable. */
export const AcknowledgeLossesResp = message('AcknowledgeLossesResp', 42, {
  ref: uint,
  /** How many were open and are acknowledged now. */
  acknowledged: uint,
});
export type AcknowledgeLossesResp = Infer<typeof AcknowledgeLossesResp>;

const messages = {
  Replicate,
  Heartbeat,
  Heartbeats,
  Wake,
  ResyncReq,
  ResyncRefused,
  ReplayLog,
  ReadUnstable,
  JoinReq,
  JoinResp,
  CopyReq,
  ReadCopy,
  CopyResp,
  GossipUp,
  GossipRoot,
  GossipDown,
  ClockReq,
  ClockResp,
  AcknowledgeLossesReq,
  AcknowledgeLossesResp,
};
export type ReplicationMessage = MessageOf<typeof messages>;
/** Tags 27–39, 41, 42, 51–54 and 107 are these. */
export const replicationSchema: MessageSchema<ReplicationMessage> = messages;

/** The messages that a replica accepts from others. */
export type StreamMessage = Extract<
  ReplicationMessage,
  {
    type:
      | 'Replicate'
      | 'Heartbeat'
      | 'ResyncReq'
      | 'ResyncRefused'
      | 'ReplayLog'
      | 'ReadUnstable'
      | 'CopyReq'
      | 'ReadCopy';
  }
>;

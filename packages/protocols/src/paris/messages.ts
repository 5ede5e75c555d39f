/**
 * The messages of PaRiS, in the order in which a transaction meets them. Each says who sends it to whom and which lines of the
 * paper it carries out. `schema.ts` gives their encoding and validation.
 */
import type {
  ErrorCode,
  KeyWrite,
  ListRange,
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

/** Client → coordinator (Alg. 1 line 2). Opens a transaction; its id is the client's (P8). */
export interface StartTxReq {
  readonly type: 'StartTxReq';
  readonly ref: Ref;
  readonly txId: TxId;
  /** Highest stable snapshot that the session knows. */
  readonly ust: Timestamp;
  /** Asks for exactly this snapshot: a resumed transaction, or a read of the past. */
  readonly at: Timestamp | null;
}

/** Coordinator → client (Alg. 2 line 5). */
export interface StartTxResp {
  readonly type: 'StartTxResp';
  readonly ref: Ref;
  readonly snapshot: Timestamp;
}

/**
 * Client → coordinator (Alg. 1 line 15). With a `txId` it reads in that open transaction; without one it starts, reads and
 * ends in one round trip (P11), with `ust` and `at` as in StartTxReq.
 */
export interface ReadReq {
  readonly type: 'ReadReq';
  readonly ref: Ref;
  readonly txId: TxId | null;
  readonly ust: Timestamp;
  readonly at: Timestamp | null;
  readonly keys: readonly QualifiedKey[];
}

/** Coordinator → client (Alg. 2 line 16). One entry for each key, in order; null where the snapshot has no version. */
export interface ReadResp {
  readonly type: 'ReadResp';
  readonly ref: Ref;
  readonly snapshot: Timestamp;
  readonly versions: readonly (Version | null)[];
}

/** Client → coordinator: one page of a keyspace in key order, over all its partitions, inside one snapshot. */
export interface ListReq {
  readonly type: 'ListReq';
  readonly ref: Ref;
  readonly txId: TxId | null;
  readonly ust: Timestamp;
  readonly at: Timestamp | null;
  readonly keyspace: string;
  readonly range: ListRange;
}

/** Coordinator → client: keys with a value, and where the next page starts. */
export interface ListResp {
  readonly type: 'ListResp';
  readonly ref: Ref;
  readonly snapshot: Timestamp;
  readonly entries: readonly ListedVersion[];
  readonly next: QualifiedKey | null;
}

export interface ListedVersion {
  readonly key: QualifiedKey;
  readonly version: Version;
}

/**
 * Client → coordinator (Alg. 1 line 27). With `snapshot: null` it commits a transaction that StartTxReq opened; with a number
 * it needs no context: a one-shot write (P11), or a retry anywhere (D4). `homes` holds the home of every attempt so far.
 */
export interface CommitReq {
  readonly type: 'CommitReq';
  readonly ref: Ref;
  readonly txId: TxId;
  readonly snapshot: Timestamp | null;
  readonly hwt: Timestamp;
  readonly birth: Timestamp;
  readonly homes: readonly RegionId[];
  readonly principal: string;
  readonly writes: readonly KeyWrite[];
}

/** Coordinator → client (Alg. 2 line 32), as soon as all prepares are durable (D3). */
export interface CommitResp {
  readonly type: 'CommitResp';
  readonly ref: Ref;
  readonly txId: TxId;
  readonly ct: Timestamp;
}

/** Client → coordinator: the transaction ends without a commit; its context is freed. */
export interface EndTxReq {
  readonly type: 'EndTxReq';
  readonly ref: Ref;
  readonly txId: TxId;
}

/** Coordinator → client: the context is gone, or was never there. */
export interface EndTxResp {
  readonly type: 'EndTxResp';
  readonly ref: Ref;
}

/** Client → coordinator: how did this transaction end? Never causes a tombstone (D2). */
export interface TxStatusReq {
  readonly type: 'TxStatusReq';
  readonly ref: Ref;
  readonly txId: TxId;
}

/**
 * How a transaction stands. `pending`: a cohort is prepared, the outcome is being decided. `lost`: a replica that may have known
 * it has lost its disk (D10). `unknown`: nobody who answered knows it.
 */
export type TransactionStatus = (typeof STATUSES)[number];
export const STATUSES = ['open', 'committed', 'aborted', 'pending', 'lost', 'unknown'] as const;

/**
 * Coordinator → client. `ts` is the commit timestamp, or the snapshot of an open transaction. *Aborted* is said of attempts up to
 * `attempt`: whoever holds the transaction's writes may still try another one (D4).
 */
export interface TxStatusResp {
  readonly type: 'TxStatusResp';
  readonly ref: Ref;
  readonly status: TransactionStatus;
  readonly ts: Timestamp | null;
  readonly attempt: number;
}

/** Coordinator → client, or replica → coordinator: the request with this `ref` is refused. */
export interface Refused {
  readonly type: 'Refused';
  readonly ref: Ref;
  readonly code: ErrorCode;
  readonly detail: string;
}

/** Coordinator → replica, local or remote (Alg. 2 line 12). */
export interface ReadSliceReq {
  readonly type: 'ReadSliceReq';
  readonly ref: Ref;
  readonly partition: PartitionId;
  readonly snapshot: Timestamp;
  readonly keys: readonly QualifiedKey[];
}

/** Replica → coordinator (Alg. 3 line 8). */
export interface ReadSliceResp {
  readonly type: 'ReadSliceResp';
  readonly ref: Ref;
  readonly partition: PartitionId;
  readonly versions: readonly (Version | null)[];
}

/** Coordinator → replica: one partition's share of a listing. */
export interface ListSliceReq {
  readonly type: 'ListSliceReq';
  readonly ref: Ref;
  readonly partition: PartitionId;
  readonly snapshot: Timestamp;
  readonly range: ListRange;
}

/** Replica → coordinator. */
export interface ListSliceResp {
  readonly type: 'ListSliceResp';
  readonly ref: Ref;
  readonly partition: PartitionId;
  readonly entries: readonly ListedVersion[];
  readonly next: QualifiedKey | null;
}

/** What makes a commit the same commit, wherever it is sent (D4). Travels with every prepare and every question about it. */
export interface CommitIdentity {
  readonly txId: TxId;
  readonly attempt: number;
  readonly home: RegionId;
  readonly epoch: number;
  /** All partitions written, ascending. With `home` they name the cohorts. */
  readonly cohorts: readonly PartitionId[];
}

/** Coordinator → cohort (Alg. 2 line 23). A sole cohort commits at its own `pt` (P11). */
export interface PrepareReq {
  readonly type: 'PrepareReq';
  readonly partition: PartitionId;
  readonly identity: CommitIdentity;
  /** Snapshot of the transaction. */
  readonly ust: Timestamp;
  /** `max(ust, hwt)`: everything the client has seen. */
  readonly ht: Timestamp;
  readonly birth: Timestamp;
  readonly principal: string;
  readonly writes: readonly KeyWrite[];
}

/** Cohort → coordinator (Alg. 3 line 14), after the prepare is durable. */
export interface PrepareResp {
  readonly type: 'PrepareResp';
  readonly txId: TxId;
  readonly attempt: number;
  readonly partition: PartitionId;
  readonly pt: Timestamp;
}

/** Cohort → coordinator: the prepare is refused, durably where it matters (D2). */
export interface PrepareRefused {
  readonly type: 'PrepareRefused';
  readonly txId: TxId;
  readonly attempt: number;
  readonly partition: PartitionId;
  readonly code: ErrorCode;
  readonly detail: string;
}

/** Coordinator → cohort (Alg. 2 line 29, the paper's CommitReq to a cohort): all are prepared, commit at `ct`. */
export interface CommitTx {
  readonly type: 'CommitTx';
  readonly partition: PartitionId;
  readonly txId: TxId;
  readonly attempt: number;
  readonly ct: Timestamp;
}

/** Coordinator → cohort: another cohort refused durably, so this attempt can never commit. */
export interface AbortTx {
  readonly type: 'AbortTx';
  readonly partition: PartitionId;
  readonly txId: TxId;
  readonly attempt: number;
}

/**
 * Resolver → cohort (D2): what do you know of this attempt? A cohort that never prepared it writes an abort tombstone
 * before it answers. Sent by a cohort whose commit message is overdue, and by a coordinator before attempt + 1 (D4).
 */
export interface ResolveReq {
  readonly type: 'ResolveReq';
  readonly partition: PartitionId;
  readonly identity: CommitIdentity;
  /** As in PrepareReq: tells a cohort that lost its disk whether it may have known the transaction (D10). */
  readonly birth: Timestamp;
  /** A cohort has lost its disk: whoever is prepared freezes before it answers, and commits on nothing but another one's commit. */
  readonly lost: boolean;
}

/** Cohort → resolver, after what it says is durable. */
export interface ResolveResp {
  readonly type: 'ResolveResp';
  readonly txId: TxId;
  readonly attempt: number;
  readonly partition: PartitionId;
  /** `lost`: the cohort lost its disk since and cannot know (D10). */
  readonly state: 'prepared' | 'committed' | 'aborted' | 'lost';
  /** `pt`, or `ct`; of no meaning otherwise. */
  readonly ts: Timestamp;
  /** Prepared, and frozen: no vote and no commit message commits it any more (D10). */
  readonly frozen: boolean;
}

/** Coordinator → replica: do you know how this transaction ended? Writes nothing. */
export interface OutcomeReq {
  readonly type: 'OutcomeReq';
  readonly ref: Ref;
  readonly partition: PartitionId;
  readonly txId: TxId;
}

/** Replica → coordinator. */
export interface OutcomeResp {
  readonly type: 'OutcomeResp';
  readonly ref: Ref;
  readonly partition: PartitionId;
  readonly state: 'prepared' | 'committed' | 'aborted' | 'lost' | 'unknown';
  /** `ct`, `pt`, the time of a tombstone; of a lost disk, up to when it has forgotten. */
  readonly ts: Timestamp;
  /** Which attempt this is known of (D4). */
  readonly attempt: number;
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
}

/** Replica → peer replica (Alg. 4 line 21): nothing was applied in `(from, to]`. */
export interface Heartbeat {
  readonly type: 'Heartbeat';
  readonly partition: PartitionId;
  readonly source: RegionId;
  readonly from: Timestamp;
  readonly to: Timestamp;
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
}

/** Replica → peer replica (D10): what you lack is no longer in my log, so your disk has lost what it had confirmed. */
export interface ResyncRefused {
  readonly type: 'ResyncRefused';
  readonly partition: PartitionId;
  readonly source: RegionId;
  readonly truncatedUpTo: Timestamp;
}

/** Replica → itself: the stretch `(after, upTo]` of its log has been brought to memory; send it to `region`. */
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
}

/** Root → the other regions' roots. */
export interface GossipRoot {
  readonly type: 'GossipRoot';
  readonly region: RegionId;
  readonly gst: Timestamp | null;
  readonly sOld: Timestamp;
  readonly wallMs: number;
}

/** Root → down its tree (Alg. 4 lines 36–38). */
export interface GossipDown {
  readonly type: 'GossipDown';
  readonly ust: Timestamp;
  readonly sOld: Timestamp;
  readonly wallMs: number;
}

export type ClientRequest = StartTxReq | ReadReq | ListReq | CommitReq | EndTxReq | TxStatusReq;
export type ClientResponse = StartTxResp | ReadResp | ListResp | CommitResp | EndTxResp | TxStatusResp | Refused;

export type ParisMessage =
  | ClientRequest
  | ClientResponse
  | ReadSliceReq
  | ReadSliceResp
  | ListSliceReq
  | ListSliceResp
  | PrepareReq
  | PrepareResp
  | PrepareRefused
  | CommitTx
  | AbortTx
  | ResolveReq
  | ResolveResp
  | OutcomeReq
  | OutcomeResp
  | Replicate
  | Heartbeat
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
  | GossipDown;

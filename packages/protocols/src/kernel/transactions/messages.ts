/**
 * The messages of interactive transactions, in the order in which a transaction meets them. Each says who sends it to whom and which
 * lines of the PaRiS paper it carries out. `schema.ts` gives their encoding and validation.
 */
import type {
  Deps,
  ErrorCode,
  KeyWrite,
  ListRange,
  NodeId,
  PartitionId,
  QualifiedKey,
  RegionId,
  Timestamp,
  TxId,
  Version,
} from '@isochron/core';
import type { Loss } from '../replication/losses.js';
import type { ListedVersion, Ref, ReplicationMessage } from '../replication/messages.js';

/** Client → coordinator (Alg. 1 line 2). Opens a transaction; its id is the client's (P8). */
export interface StartTxReq {
  readonly type: 'StartTxReq';
  readonly ref: Ref;
  readonly txId: TxId;
  /** Highest stable snapshot that the session knows. */
  readonly ust: Timestamp;
  /** Asks for exactly this snapshot: a resumed transaction, or a read of the past. */
  readonly at: Timestamp | null;
  /** What the session has seen beside its `ust`, or the other entries of `at`, under protocols that have them. */
  readonly deps?: Deps | undefined;
}

/** Coordinator → client (Alg. 2 line 5). */
export interface StartTxResp {
  readonly type: 'StartTxResp';
  readonly ref: Ref;
  readonly snapshot: Timestamp;
  /** The snapshot's other entries, under protocols that have them. */
  readonly deps?: Deps | undefined;
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
  /** What the session has seen beside its `ust`, or the other entries of `at`, under protocols that have them. */
  readonly deps?: Deps | undefined;
}

/** Coordinator → client (Alg. 2 line 16). One entry for each key, in order; null where the snapshot has no version. */
export interface ReadResp {
  readonly type: 'ReadResp';
  readonly ref: Ref;
  readonly snapshot: Timestamp;
  readonly versions: readonly (Version | null)[];
  /** The snapshot's other entries, under protocols that have them. */
  readonly deps?: Deps | undefined;
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
  /** What the session has seen beside its `ust`, or the other entries of `at`, under protocols that have them. */
  readonly deps?: Deps | undefined;
}

/** Coordinator → client: keys with a value, and where the next page starts. */
export interface ListResp {
  readonly type: 'ListResp';
  readonly ref: Ref;
  readonly snapshot: Timestamp;
  readonly entries: readonly ListedVersion[];
  readonly next: QualifiedKey | null;
  /** The snapshot's other entries, under protocols that have them. */
  readonly deps?: Deps | undefined;
}

/**
 * Client → coordinator (Alg. 1 line 27). With `snapshot: null` it commits a transaction that StartTxReq opened; with a
 * number it needs no context: a one-shot write (P11), or a retry anywhere (D4). `attemptRegions` holds the home of every attempt
 * so far, and `avoids` what each of them avoids; absent where none avoids anything.
 */
export interface CommitReq {
  readonly type: 'CommitReq';
  readonly ref: Ref;
  readonly txId: TxId;
  readonly snapshot: Timestamp | null;
  readonly hwt: Timestamp;
  readonly sentAfter: Timestamp;
  readonly attemptRegions: readonly RegionId[];
  readonly principal: string;
  readonly writes: readonly KeyWrite[];
  /** The other entries of `snapshot`, or of what the session has seen, under protocols that have them. */
  readonly deps?: Deps | undefined;
  /** For each attempt the regions that it avoids, sorted. */
  readonly avoids?: readonly (readonly RegionId[])[] | undefined;
}

/** Coordinator → client (Alg. 2 line 32), as soon as all prepares are durable (D3). */
export interface CommitResp {
  readonly type: 'CommitResp';
  readonly ref: Ref;
  readonly txId: TxId;
  readonly ct: Timestamp;
  /** What the commit depends on, under protocols whose sessions must know. */
  readonly deps?: Deps | undefined;
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
 * it has lost its disk (D10). `unknown`: nobody who answered knows how it ended.
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
  /** The snapshot's other entries, under protocols that have them. */
  readonly deps?: Deps | undefined;
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
  /** The snapshot's other entries, under protocols that have them. */
  readonly deps?: Deps | undefined;
}

/** Replica → coordinator. */
export interface ListSliceResp {
  readonly type: 'ListSliceResp';
  readonly ref: Ref;
  readonly partition: PartitionId;
  readonly entries: readonly ListedVersion[];
  readonly next: QualifiedKey | null;
}

/** Replica → itself: a read that has waited for its snapshot since then goes on. */
export interface WaitedRead {
  readonly type: 'WaitedRead';
  readonly node: NodeId;
  readonly request: ReadSliceReq | ListSliceReq;
  readonly since: number;
}

/** What makes a commit the same commit, wherever it is sent (D4). Travels with every prepare and every question about it. */
export interface CommitIdentity {
  readonly txId: TxId;
  readonly attempt: number;
  readonly home: RegionId;
  readonly epoch: number;
  /** All partitions written, ascending. With `home` and `avoid` they name the cohorts. */
  readonly cohorts: readonly PartitionId[];
  /** Regions that the attempt avoids, sorted: fixed before it is first sent. Absent where it avoids none. */
  readonly avoid?: readonly RegionId[] | undefined;
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
  readonly sentAfter: Timestamp;
  readonly principal: string;
  readonly writes: readonly KeyWrite[];
  /** What the transaction's versions depend on beside their timestamp, under protocols that track it. */
  readonly deps?: Deps | undefined;
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
 * Coordinator → cohort: another cohort has refused the attempt and has not written that down. The receiver may have
 * prepared it: it asks the other cohorts at once for a decision (D2), because the coordinator sends none.
 */
export interface ResolveNow {
  readonly type: 'ResolveNow';
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
  readonly sentAfter: Timestamp;
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
  /** `reported`: among the losses that are reported (D10), whatever else the replica has of it. */
  readonly state: 'prepared' | 'committed' | 'aborted' | 'lost' | 'unknown' | 'reported';
  /** `ct`, `pt`, the time of a tombstone; of *lost* and *unknown*, up to when the replica has forgotten. */
  readonly ts: Timestamp;
  /** Which attempt this is known of (D4). */
  readonly attempt: number;
}

/**
 * Node that has lost its disk → every node (D10): no vote of the previous incarnation counts any more. See
 * `settlement.ts`.
 */
export interface LossNotice {
  readonly type: 'LossNotice';
  /** Of the sender: names its incarnation. */
  readonly incarnation: Timestamp;
}

/** Node → node that has lost its disk: it holds no such vote. */
export interface LossNoticed {
  readonly type: 'LossNoticed';
  readonly incarnation: Timestamp;
  /** Losses above its stable time: not every node may have stored their verdict. */
  readonly losses: readonly Loss[];
  /** All others that it reports: the lost disk reported them, too. */
  readonly reported: readonly Loss[];
}

/**
 * Node that has lost its disk → replica (D10): which of your own transactions above `after` have a cohort on my node?
 */
export interface SuspectsReq {
  readonly type: 'SuspectsReq';
  readonly partition: PartitionId;
  readonly after: Timestamp;
}

/** Replica → itself: the range `(request.after, upTo]` of its log has been brought to memory; answer `request`. */
export interface ReadSuspects {
  readonly type: 'ReadSuspects';
  readonly node: NodeId;
  readonly request: SuspectsReq;
  /** Those that were not in the log when the request came. */
  readonly queued: readonly Suspect[];
  readonly upTo: Timestamp;
}

/** A transaction that has, or had, a cohort on a lost disk. */
export interface Suspect {
  readonly txId: TxId;
  readonly attempt: number;
  /** Whether this cohort has committed it; otherwise it is prepared, and stays so until the verdict. */
  readonly committed: boolean;
  /** Its commit timestamp, or the proposal of this cohort. */
  readonly ts: Timestamp;
  /** Partitions whose cohort was the asker. */
  readonly partitions: readonly PartitionId[];
  /** What this cohort wrote. */
  readonly keys: readonly QualifiedKey[];
}

/** Replica → node that has lost its disk: one page of the log, and those that are not in the log yet. */
export interface SuspectsResp {
  readonly type: 'SuspectsResp';
  readonly partition: PartitionId;
  readonly region: RegionId;
  readonly after: Timestamp;
  readonly suspects: readonly Suspect[];
  readonly next: Timestamp | null;
}

/** Node that has lost its disk → every node (D10): these transactions are lost; take back what may be taken back. */
export interface TakeBackReq {
  readonly type: 'TakeBackReq';
  readonly part: number;
  /** What is not in the verdict is whole: it may be decided again. */
  readonly last: boolean;
  readonly losses: readonly Loss[];
}

/** Node → node that has lost its disk, after the verdict is durable. */
export interface TakeBackResp {
  readonly type: 'TakeBackResp';
  readonly part: number;
}

export type ClientRequest = StartTxReq | ReadReq | ListReq | CommitReq | EndTxReq | TxStatusReq;
export type ClientResponse = StartTxResp | ReadResp | ListResp | CommitResp | EndTxResp | TxStatusResp | Refused;

export type TransactionMessage =
  | ReplicationMessage
  | ClientRequest
  | ClientResponse
  | ReadSliceReq
  | ReadSliceResp
  | ListSliceReq
  | ListSliceResp
  | WaitedRead
  | PrepareReq
  | PrepareResp
  | PrepareRefused
  | CommitTx
  | AbortTx
  | ResolveReq
  | ResolveNow
  | ResolveResp
  | OutcomeReq
  | OutcomeResp
  | LossNotice
  | LossNoticed
  | SuspectsReq
  | ReadSuspects
  | SuspectsResp
  | TakeBackReq
  | TakeBackResp;

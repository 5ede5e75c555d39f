/**
 * The messages of protocols of single operations: GET and PUT of one key, and one-shot read-only transactions (ROTs). Each says who
 * sends it to whom, and what the papers call it. What replicas and nodes say to one another is in `../replication/messages.ts`.
 *
 * `seen` is what a session depends on, in entries whose meaning is the protocol's; empty when it has seen nothing yet.
 */
import type {
  Dependency,
  Deps,
  PartitionId,
  QualifiedKey,
  RegionId,
  Timestamp,
  TxId,
  Value,
  Version,
} from '@isochron/core';
import type { Ref, ReplicationMessage } from '../replication/messages.js';
import type { Refused } from '../transactions/messages.js';

/** Client → coordinator: the freshest version of a key that the session may see. */
export interface GetReq {
  readonly type: 'GetReq';
  readonly ref: Ref;
  readonly key: QualifiedKey;
  readonly seen: Deps;
  /** The region in which `seen` was seen. */
  readonly region: RegionId;
}

/** Coordinator → client. `seen` is to be merged with what the session has seen before; `ust` is for the `sentAfter` of its PUTs. */
export interface GetResp {
  readonly type: 'GetResp';
  readonly ref: Ref;
  readonly version: Version | null;
  readonly seen: Deps;
  readonly ust: Timestamp;
  /** What the session depends on from now on, beside what it did, under protocols whose dependencies name keys. */
  readonly depends?: readonly Dependency[] | undefined;
}

/**
 * Client → coordinator: writes a version of a key, or deletes it (`null`). It is sent again, under the same id, until its outcome is
 * known (D4): `attemptRegions` holds the region of every attempt so far; the last is this one's.
 */
export interface PutReq {
  readonly type: 'PutReq';
  readonly ref: Ref;
  readonly txId: TxId;
  readonly key: QualifiedKey;
  readonly value: Value | null;
  readonly seen: Deps;
  readonly region: RegionId;
  /** The highest `ust` that the session knew when it first sent the PUT (D5). */
  readonly sentAfter: Timestamp;
  readonly attemptRegions: readonly RegionId[];
  readonly principal: string;
  /** What the version depends on, under protocols whose dependencies name keys; absent when that is nothing. */
  readonly depends?: readonly Dependency[] | undefined;
}

/** Coordinator → client, when the version is on the disk of the region's replica. */
export interface PutResp {
  readonly type: 'PutResp';
  readonly ref: Ref;
  readonly txId: TxId;
  readonly ts: Timestamp;
  readonly seen: Deps;
  /** Where it was written: what the session has seen is of this region now. */
  readonly region: RegionId;
  readonly ust: Timestamp;
  /** What the session depends on now, as in GetResp. */
  readonly depends?: readonly Dependency[] | undefined;
}

/** Client → coordinator: a one-shot read-only transaction. */
export interface RotReq {
  readonly type: 'RotReq';
  readonly ref: Ref;
  readonly keys: readonly QualifiedKey[];
  readonly seen: Deps;
  readonly region: RegionId;
  /** Its id and the session's, under protocols that remember who has read. */
  readonly id?: TxId | undefined;
}

/** Coordinator → client. One entry for each key, in order; null where the snapshot has no version. */
export interface RotResp {
  readonly type: 'RotResp';
  readonly ref: Ref;
  readonly versions: readonly (Version | null)[];
  readonly seen: Deps;
  readonly ust: Timestamp;
  readonly depends?: readonly Dependency[] | undefined;
}

/** Coordinator → replica (Okapi's GETReq). */
export interface GetSliceReq {
  readonly type: 'GetSliceReq';
  readonly ref: Ref;
  readonly partition: PartitionId;
  readonly key: QualifiedKey;
  readonly seen: Deps;
}

/** Replica → coordinator, once what it shows is on disk (D1). */
export interface GetSliceResp {
  readonly type: 'GetSliceResp';
  readonly ref: Ref;
  readonly version: Version | null;
  readonly seen: Deps;
}

/** Coordinator → the home's replica (the papers' PUTReq). */
export interface PutSliceReq {
  readonly type: 'PutSliceReq';
  readonly ref: Ref;
  readonly partition: PartitionId;
  readonly txId: TxId;
  /** How many attempts came before (D4). */
  readonly attempt: number;
  readonly sentAfter: Timestamp;
  readonly principal: string;
  readonly key: QualifiedKey;
  readonly value: Value | null;
  readonly seen: Deps;
  readonly depends?: readonly Dependency[] | undefined;
}

/** Replica → coordinator (PUTReply), once the version is on disk (D1). The same PUT again has the same timestamp. */
export interface PutSliceResp {
  readonly type: 'PutSliceResp';
  readonly ref: Ref;
  readonly ts: Timestamp;
}

/** Coordinator → the replica of an earlier home (D4): this attempt must not happen any more, if it has not. */
export interface SettleReq {
  readonly type: 'SettleReq';
  readonly ref: Ref;
  readonly partition: PartitionId;
  readonly txId: TxId;
  readonly attempt: number;
  readonly sentAfter: Timestamp;
}

/**
 * Replica → coordinator, once the answer is durable. `lost`: it has forgotten (D5), or lost its disk since (D10), and
 * cannot know.
 */
export interface SettleResp {
  readonly type: 'SettleResp';
  readonly ref: Ref;
  readonly state: 'committed' | 'aborted' | 'lost';
  /** Of a PUT that has happened; of no meaning otherwise. */
  readonly ts: Timestamp;
}

/** The client's node → coordinator partition of a ROT (Contrarian's Snap-Req): choose its snapshot. */
export interface SnapReq {
  readonly type: 'SnapReq';
  readonly ref: Ref;
  readonly partition: PartitionId;
  readonly seen: Deps;
}

/** Coordinator partition → the client's node (Snap-Resp). */
export interface SnapResp {
  readonly type: 'SnapResp';
  readonly ref: Ref;
  readonly snapshot: Deps;
}

/** Coordinator → replica: one partition's keys of a ROT (Contrarian's ROT-Req, Okapi's SliceREQ). */
export interface RotSliceReq {
  readonly type: 'RotSliceReq';
  readonly ref: Ref;
  readonly partition: PartitionId;
  readonly snapshot: Deps;
  readonly keys: readonly QualifiedKey[];
  readonly id?: TxId | undefined;
}

/** Replica → coordinator, once what it shows is on disk (D1). */
export interface RotSliceResp {
  readonly type: 'RotSliceResp';
  readonly ref: Ref;
  readonly versions: readonly (Version | null)[];
}

/** What a coordinator asks of a replica and what may have to wait there. */
export type Slice = GetSliceReq | PutSliceReq | RotSliceReq;

/** Replica → itself: what has waited since then goes on, so that the driver can bring what it reads to memory again. */
export interface WaitedSlice {
  readonly type: 'WaitedSlice';
  /** Whose coordinator asks. */
  readonly node: string;
  readonly request: Slice;
  readonly since: number;
}

/**
 * Replica → another replica of its region (the papers' dependency check): answer when this is there for good. What is needed of each source, as pairs of
 * its region's position in the cluster file and a timestamp.
 */
export interface DepCheckReq {
  readonly type: 'DepCheckReq';
  readonly ref: Ref;
  readonly partition: PartitionId;
  readonly needs: Deps;
}

/** Replica → replica: it is there, durably, and so is all that it depends on. */
export interface DepCheckResp {
  readonly type: 'DepCheckResp';
  readonly ref: Ref;
}

/** Replica → itself: the keys have been brought to memory; what waits of this source's up to here may be applied. */
export interface AdmitUpdates {
  readonly type: 'AdmitUpdates';
  readonly source: RegionId;
  readonly upTo: Timestamp;
  readonly keys: readonly QualifiedKey[];
}

/**
 * Coordinator → replica: the second round of a ROT (COPS' get_by_version). For each key the versions that the first round has asked for, as pairs of a
 * region's position and a timestamp: the freshest of them is meant. Answered by RotSliceResp.
 */
export interface RotVersionsReq {
  readonly type: 'RotVersionsReq';
  readonly ref: Ref;
  readonly partition: PartitionId;
  readonly keys: readonly QualifiedKey[];
  readonly wanted: readonly Deps[];
}

/** A read-only transaction, and its logical time. */
export interface Reader {
  readonly id: TxId;
  readonly at: Timestamp;
}

/**
 * Replica → another replica of its region (COPS-SNOW's readers check): once what is needed is here (as in DepCheckReq), who has read older versions of
 * these keys?
 */
export interface ReadersCheckReq {
  readonly type: 'ReadersCheckReq';
  readonly ref: Ref;
  readonly partition: PartitionId;
  readonly keys: readonly QualifiedKey[];
  readonly needs: Deps;
}

/** Replica → replica: the old readers, of each client the latest. */
export interface ReadersCheckResp {
  readonly type: 'ReadersCheckResp';
  readonly ref: Ref;
  readonly readers: readonly Reader[];
}

/** Replica → the source of updates (Orbe, section 6.2): all of yours up to here are applied at the replica of `region`, durably. */
export interface ReplicationAck {
  readonly type: 'ReplicationAck';
  readonly partition: PartitionId;
  /** Who says so. */
  readonly region: RegionId;
  readonly upTo: Timestamp;
}

/** Source → the other replicas: all updates of `region` up to here are applied everywhere. */
export interface ReplicationComplete {
  readonly type: 'ReplicationComplete';
  readonly partition: PartitionId;
  readonly region: RegionId;
  readonly upTo: Timestamp;
}

export type OperationRequest = GetReq | PutReq | RotReq;
export type OperationResponse = GetResp | PutResp | RotResp | Refused;

export type OperationMessage =
  | ReplicationMessage
  | OperationRequest
  | OperationResponse
  | GetSliceReq
  | GetSliceResp
  | PutSliceReq
  | PutSliceResp
  | SettleReq
  | SettleResp
  | SnapReq
  | SnapResp
  | RotSliceReq
  | RotSliceResp
  | WaitedSlice
  | DepCheckReq
  | DepCheckResp
  | AdmitUpdates
  | ReplicationAck
  | ReplicationComplete
  | RotVersionsReq
  | ReadersCheckReq
  | ReadersCheckResp;

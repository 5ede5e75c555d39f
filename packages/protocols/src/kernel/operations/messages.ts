/**
 * The messages of protocols of single operations: GET and PUT of one key, and one-shot read-only transactions (ROTs).
 * Each is declared once: its sender and receiver, its name in the papers, its fields in the order in which they are
 * encoded, their validation, and the type. The messages of replicas and nodes are in `../replication/messages.ts`.
 *
 * `seen` holds a session's dependencies, in entries whose meaning is the protocol's; empty for a new session.
 */
import {
  count,
  type Infer,
  type Kind,
  list,
  MalformedMessage,
  type MessageOf,
  type MessageSchema,
  message,
  nullable,
  object,
  oneOf,
  optional,
  timestamp,
  uint,
  value,
} from '@isochron/core';
import type { RequestMap } from '../../request-table.js';
import {
  dependencies,
  foldedVersion,
  key,
  keys,
  node,
  partition,
  principal,
  region,
  txId,
  versions,
} from '../replication/fields.js';
import { type ReplicationMessage, replicationSchema } from '../replication/messages.js';
import { Refused } from '../transactions/messages.js';

const seen = list(timestamp, 1_000_000);

/** Client → coordinator: the freshest version of a key that the session may see. */
export const GetReq = message('GetReq', 64, {
  ref: uint,
  key,
  seen,
  /** The region in which `seen` was seen. */
  region,
});
export type GetReq = Infer<typeof GetReq>;

/**
 * Coordinator → client. The client merges `seen` with its own; `ust` is for the `sentAfter` of its PUTs.
 */
export const GetResp = message('GetResp', 65, {
  ref: uint,
  version: nullable(foldedVersion),
  seen,
  ust: timestamp,
  /** The session's new dependencies, besides its former ones, under protocols whose dependencies name keys. */
  depends: dependencies,
});
export type GetResp = Infer<typeof GetResp>;

/**
 * Client → coordinator: writes a version of a key, or deletes it (`null`). It is sent again, under the same id, until
 * its outcome is known (D4): `attemptRegions` holds the region of every attempt so far, this one's last.
 */
export const PutReq = message('PutReq', 66, {
  ref: uint,
  txId,
  key,
  value: nullable(value),
  seen,
  region,
  /** The highest `ust` that the session knew when it first sent the PUT (D5). */
  sentAfter: timestamp,
  attemptRegions: list(region, 16),
  principal,
  /** The version's dependencies, under protocols whose dependencies name keys; absent when there are none. */
  depends: dependencies,
});
export type PutReq = Infer<typeof PutReq>;

/** Coordinator → client, when the version is on the disk of the region's replica. */
export const PutResp = message('PutResp', 67, {
  ref: uint,
  txId,
  ts: timestamp,
  seen,
  /** Where it was written: the session's `seen` is of this region now. */
  region,
  ust: timestamp,
  /** The session's present dependencies, as in GetResp. */
  depends: dependencies,
});
export type PutResp = Infer<typeof PutResp>;

/** Client → coordinator: a one-shot read-only transaction. */
export const RotReq = message('RotReq', 68, {
  ref: uint,
  keys,
  seen,
  region,
  /** Its id and the session's, under protocols that remember readers. */
  id: optional(txId),
});
export type RotReq = Infer<typeof RotReq>;

/** Coordinator → client. One entry for each key, in order; null where the snapshot has no version. */
export const RotResp = message('RotResp', 69, {
  ref: uint,
  versions,
  seen,
  ust: timestamp,
  depends: dependencies,
});
export type RotResp = Infer<typeof RotResp>;

/** Coordinator → replica (Okapi's GETReq). */
export const GetSliceReq = message('GetSliceReq', 70, { ref: count, partition, key, seen });
export type GetSliceReq = Infer<typeof GetSliceReq>;

/** Replica → coordinator, once the version is on disk (D1). */
export const GetSliceResp = message('GetSliceResp', 71, { ref: count, version: nullable(foldedVersion), seen });
export type GetSliceResp = Infer<typeof GetSliceResp>;

/** Coordinator → the home's replica (the papers' PUTReq). */
export const PutSliceReq = message('PutSliceReq', 72, {
  ref: count,
  partition,
  txId,
  /** Number of earlier attempts (D4). */
  attempt: uint,
  sentAfter: timestamp,
  principal,
  key,
  value: nullable(value),
  seen,
  depends: dependencies,
});
export type PutSliceReq = Infer<typeof PutSliceReq>;

/** Replica → coordinator (PUTReply), once the version is on disk (D1). The same PUT again has the same timestamp. */
export const PutSliceResp = message('PutSliceResp', 73, { ref: count, ts: timestamp });
export type PutSliceResp = Infer<typeof PutSliceResp>;

/** Coordinator → the replica of an earlier home (D4): unless this attempt has happened, it must never happen. */
export const SettleReq = message('SettleReq', 74, { ref: count, partition, txId, attempt: uint, sentAfter: timestamp });
export type SettleReq = Infer<typeof SettleReq>;

/**
 * Replica → coordinator, once the answer is durable. `lost`: the replica has dropped the outcome (D5), or lost its disk
 * since (D10), and cannot know it.
 */
export const SettleResp = message('SettleResp', 75, {
  ref: count,
  state: oneOf('committed', 'aborted', 'lost'),
  /** Of a PUT that has happened; no meaning otherwise. */
  ts: timestamp,
});
export type SettleResp = Infer<typeof SettleResp>;

/** The client's node → coordinator partition of a ROT (Contrarian's Snap-Req): choose its snapshot. */
export const SnapReq = message('SnapReq', 76, { ref: count, partition, seen });
export type SnapReq = Infer<typeof SnapReq>;

/** Coordinator partition → the client's node (Snap-Resp). */
export const SnapResp = message('SnapResp', 77, { ref: count, snapshot: seen });
export type SnapResp = Infer<typeof SnapResp>;

/** Coordinator → replica: one partition's keys of a ROT (Contrarian's ROT-Req, Okapi's SliceREQ). */
export const RotSliceReq = message('RotSliceReq', 78, {
  ref: count,
  partition,
  snapshot: seen,
  keys,
  id: optional(txId),
});
export type RotSliceReq = Infer<typeof RotSliceReq>;

/** Replica → coordinator, once the versions are on disk (D1). */
export const RotSliceResp = message('RotSliceResp', 79, { ref: count, versions });
export type RotSliceResp = Infer<typeof RotSliceResp>;

/** A coordinator's request to a replica that may have to wait there. */
export type Slice = GetSliceReq | PutSliceReq | RotSliceReq;

/** It never leaves its node: a replica refuses one that a peer sends. */
const waiting = object({ get: nullable(GetSliceReq), put: nullable(PutSliceReq), rot: nullable(RotSliceReq) });
const slice: Kind<Slice> = {
  encode: (request) =>
    waiting.encode({
      get: request.type === 'GetSliceReq' ? request : null,
      put: request.type === 'PutSliceReq' ? request : null,
      rot: request.type === 'RotSliceReq' ? request : null,
    }),
  decode: (raw) => {
    const { get, put, rot } = waiting.decode(raw);
    const request = get ?? put ?? rot;
    if (request === null) throw new MalformedMessage('expected an operation');
    return request;
  },
};

/**
 * Replica → itself: a slice that has waited since then goes on, so that the driver can bring its versions to memory
 * again.
 */
export const WaitedSlice = message('WaitedSlice', 80, {
  /** The node of the coordinator that asks. */
  node,
  request: slice,
  since: count,
});
export type WaitedSlice = Infer<typeof WaitedSlice>;

/**
 * Replica → another replica of its region (the papers' dependency check): answer once these are here for good. `needs`
 * are pairs of a region's position in the cluster file and a timestamp.
 */
export const DepCheckReq = message('DepCheckReq', 81, { ref: count, partition, needs: list(timestamp, 10_000) });
export type DepCheckReq = Infer<typeof DepCheckReq>;

/** Replica → replica: they are here, durably, with all their dependencies. */
export const DepCheckResp = message('DepCheckResp', 82, { ref: count });
export type DepCheckResp = Infer<typeof DepCheckResp>;

/** Replica → itself: the keys have been brought to memory; waiting updates of this source up to here may be applied. */
export const AdmitUpdates = message('AdmitUpdates', 83, { source: region, upTo: timestamp, keys });
export type AdmitUpdates = Infer<typeof AdmitUpdates>;

/**
 * Coordinator → replica: the second round of a ROT (COPS' get_by_version). For each key the versions that the first
 * round needs, as pairs of a region's position and a timestamp: the freshest of them is requested. Answered by
 * RotSliceResp.
 */
export const RotVersionsReq = message('RotVersionsReq', 92, {
  ref: count,
  partition,
  keys,
  wanted: list(list(timestamp, 100)),
});
export type RotVersionsReq = Infer<typeof RotVersionsReq>;

/** A read-only transaction, and its logical time. */
export const Reader = object({ id: txId, at: timestamp });
export type Reader = Infer<typeof Reader>;

/**
 * Replica → another replica of its region (COPS-SNOW's readers check): once the needs are here (as in DepCheckReq),
 * which ROTs have read older versions of these keys?
 */
export const ReadersCheckReq = message('ReadersCheckReq', 90, {
  ref: count,
  partition,
  keys,
  needs: list(timestamp, 1_000_000),
});
export type ReadersCheckReq = Infer<typeof ReadersCheckReq>;

/** Replica → replica: the old readers, the latest of each client. */
export const ReadersCheckResp = message('ReadersCheckResp', 91, {
  ref: count,
  readers: list(Reader),
});
export type ReadersCheckResp = Infer<typeof ReadersCheckResp>;

/**
 * Replica → the source of updates (Orbe, section 6.2): the replica of `region` has applied all of yours up to here,
 * durably.
 */
export const ReplicationAck = message('ReplicationAck', 84, {
  partition,
  /** The region of the sender. */
  region,
  upTo: timestamp,
});
export type ReplicationAck = Infer<typeof ReplicationAck>;

/** Source → the other replicas: all updates of `region` up to here are applied everywhere. */
export const ReplicationComplete = message('ReplicationComplete', 85, { partition, region, upTo: timestamp });
export type ReplicationComplete = Infer<typeof ReplicationComplete>;

const messages = {
  GetReq,
  PutReq,
  RotReq,
  GetResp,
  PutResp,
  RotResp,
  Refused,
  GetSliceReq,
  GetSliceResp,
  PutSliceReq,
  PutSliceResp,
  SettleReq,
  SettleResp,
  SnapReq,
  SnapResp,
  RotSliceReq,
  RotSliceResp,
  WaitedSlice,
  DepCheckReq,
  DepCheckResp,
  AdmitUpdates,
  ReplicationAck,
  ReplicationComplete,
  RotVersionsReq,
  ReadersCheckReq,
  ReadersCheckResp,
};
export type OperationMessage = ReplicationMessage | MessageOf<typeof messages>;
/** Tags 64–85 and 90–92, and those of replication. */
export const operationSchema: MessageSchema<OperationMessage> = { ...replicationSchema, ...messages };

/** The requests of clients under protocols of single operations. */
export const operationRequests = {
  GetReq: { answer: 'GetResp', machine: 'coordinator' },
  PutReq: { answer: 'PutResp', machine: 'coordinator' },
  RotReq: { answer: 'RotResp', machine: 'coordinator' },
} as const;
/** The requests of clients under protocols of single operations, by type, each with its answer. */
export type OperationRequestMap = RequestMap<typeof operationRequests, OperationMessage>;
export type OperationRequest = OperationRequestMap[keyof OperationRequestMap]['request'];
export type OperationResponse = OperationRequestMap[keyof OperationRequestMap]['answer'] | Refused;

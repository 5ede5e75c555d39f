/**
 * The messages of interactive transactions, in the order in which a transaction meets them. Each is declared once: its
 * sender and receiver, the lines of the PaRiS paper that it carries out, its fields in the order in which they are
 * encoded, their validation, and the type.
 */
import {
  boolean,
  type CommitCounter,
  count,
  ERROR_CODES,
  type ErrorCode,
  type Infer,
  type Kind,
  type ListRange,
  list,
  MalformedMessage,
  type MessageOf,
  type MessageSchema,
  message,
  nullable,
  object,
  oneOf,
  optional,
  type QueuePlace,
  struct,
  text,
  timestamp,
  uint,
} from '@isochron/core';
import type { RequestMap } from '../../request-table.js';
import { type FeedMessage, feedRequests, feedSchema } from '../feeds/messages.js';
import { type MapMessage, mapSchema } from '../maps/messages.js';
import {
  deps,
  foldedVersion,
  key,
  keys,
  name,
  needs,
  node,
  partition,
  partitions,
  principal,
  region,
  txId,
  versions,
  writes,
} from '../replication/fields.js';
import { ListedVersion, type ReplicationMessage, replicationSchema } from '../replication/messages.js';
import { type ReturnMessage, returnSchema } from './return-messages.js';
import { type SettlementMessage, settlementSchema } from './settlement-messages.js';

const nullableTimestamp = nullable(timestamp);
const range = struct<ListRange>({ start: key, end: nullable(key), limit: uint, level: optional(uint) });
/** The regions that an attempt avoids. */
const avoid = list(region, 64);
const code: Kind<ErrorCode> = {
  encode: (c) => c,
  decode: (raw) => (typeof raw === 'string' && Object.hasOwn(ERROR_CODES, raw) ? (raw as ErrorCode) : 'INTERNAL'),
};
const detail = text(1024);
const digest = text(1024);
/**
 * The newest versions that the replicas have applied, where these are not the versions of the snapshot. Absent where
 * the request did not ask for the newest versions, and where there are none above the snapshot.
 */
const newer = optional(list(object({ index: uint, version: foldedVersion })));
/** The place of a commit in the queue of its client (OF1). */
const queue = struct<QueuePlace>({ id: name, n: uint });
/** Version of the map that a snapshot belongs to (M6); absent for map 0. */
const snapshotMap = optional(uint);

/** Client → coordinator (Alg. 1 line 2). Opens a transaction; its id is the client's (P8). */
export const StartTxReq = message('StartTxReq', 1, {
  ref: uint,
  txId,
  /** Highest stable snapshot known to the session. */
  ust: timestamp,
  /** Asks for exactly this snapshot: a resumed transaction, or a read of the past. */
  at: nullableTimestamp,
  /** The session's `seen` beside its `ust`, or the other entries of `at`, under protocols that have them. */
  deps,
});
export type StartTxReq = Infer<typeof StartTxReq>;

/** Coordinator → client (Alg. 2 line 5). */
export const StartTxResp = message('StartTxResp', 2, {
  ref: uint,
  snapshot: timestamp,
  /** The snapshot's other entries, under protocols that have them. */
  deps,
});
export type StartTxResp = Infer<typeof StartTxResp>;

/**
 * Client → coordinator (Alg. 1 line 15). With a `txId` it reads in that open transaction; without one it starts, reads
 * and ends in one round trip (P11), with `ust` and `at` as in StartTxReq.
 */
export const ReadReq = message('ReadReq', 3, {
  ref: uint,
  txId: nullable(txId),
  ust: timestamp,
  at: nullableTimestamp,
  keys,
  /** The session's `seen` beside its `ust`, or the other entries of `at`, under protocols that have them. */
  deps,
  /** Asks for the newest versions, too. */
  newest: optional(boolean),
});
export type ReadReq = Infer<typeof ReadReq>;

/** Coordinator → client (Alg. 2 line 16). One entry for each key, in order; null where the snapshot has no version. */
export const ReadResp = message('ReadResp', 4, {
  ref: uint,
  snapshot: timestamp,
  versions,
  /** The snapshot's other entries, under protocols that have them. */
  deps,
  newer,
});
export type ReadResp = Infer<typeof ReadResp>;

/** Client → coordinator: one page of a keyspace in key order, over all its partitions, inside one snapshot. */
export const ListReq = message('ListReq', 5, {
  ref: uint,
  txId: nullable(txId),
  ust: timestamp,
  at: nullableTimestamp,
  keyspace: name,
  range,
  /** The session's `seen` beside its `ust`, or the other entries of `at`, under protocols that have them. */
  deps,
});
export type ListReq = Infer<typeof ListReq>;

/** Coordinator → client: keys with a value, and where the next page starts. */
export const ListResp = message('ListResp', 6, {
  ref: uint,
  snapshot: timestamp,
  entries: list(ListedVersion),
  next: nullable(key),
  /** The snapshot's other entries, under protocols that have them. */
  deps,
});
export type ListResp = Infer<typeof ListResp>;

/**
 * Client → coordinator (Alg. 1 line 27). With `snapshot: null` it commits a transaction that StartTxReq opened; with a
 * number it needs no context: a one-shot write (P11), or a retry anywhere (D4). `attemptRegions` holds the home of
 * every attempt so far, and `avoids` the regions that each of them avoids; absent if none avoids any. The attempts and
 * their maps fix the cohorts.
 */
export const CommitReq = message('CommitReq', 7, {
  ref: uint,
  txId,
  snapshot: nullableTimestamp,
  hwt: timestamp,
  sentAfter: timestamp,
  attemptRegions: list(region, 16),
  principal,
  writes,
  /** The other entries of `snapshot`, or of the session's `seen`, under protocols that have them. */
  deps,
  /** For each attempt the regions that it avoids, sorted. */
  avoids: optional(list(avoid, 16)),
  /** For each attempt the version of its map; absent if all are of map 0. */
  maps: optional(list(uint, 16)),
  /** What unstable writes of the session need (M4). */
  behind: needs,
  /** The digests of the slices, of a deferred transaction that its own node commits again: it has no principal. */
  digests: optional(list(object({ partition, digest }), 100_000)),
  /** The first commit timestamp, of a deferred transaction that is committed again (M8). */
  first: optional(timestamp),
  /** The place in the queue of a client that numbers its commits (OF1). */
  queue: optional(queue),
});
export type CommitReq = Infer<typeof CommitReq>;

/** Coordinator → client (Alg. 2 line 32), as soon as all prepares are durable (D3). */
export const CommitResp = message('CommitResp', 8, {
  ref: uint,
  txId,
  ct: timestamp,
  /** The commit's dependencies, under protocols whose sessions must know them. */
  deps,
  /** Numbers of the nodes with slices; absent where the coordinator does not know them. */
  nodes: optional(list(uint, 100_000)),
  /** Version of the map of the attempt that has committed; absent where the coordinator does not know it. */
  map: optional(uint),
  /** Only a later commit of the queue shows this commit (OF2), which lies at or below `ct`. */
  upTo: optional(boolean),
});
export type CommitResp = Infer<typeof CommitResp>;

/**
 * Client → coordinator (OF3): end a counted commit whose outcome is not known. It has the fields of the commit, and
 * the keys of its writes.
 */
export const SettleCommitReq = message('SettleCommitReq', 117, {
  ref: uint,
  txId,
  queue,
  sentAfter: timestamp,
  attemptRegions: list(region, 16),
  principal,
  keys,
  avoids: optional(list(avoid, 16)),
  maps: optional(list(uint, 16)),
});
export type SettleCommitReq = Infer<typeof SettleCommitReq>;

/** Coordinator → client: definite. */
export const SettleCommitResp = message('SettleCommitResp', 118, {
  ref: uint,
  txId,
  /** Null: the transaction has no effect, and never will. */
  ct: nullableTimestamp,
  nodes: optional(list(uint, 100_000)),
  map: optional(uint),
  upTo: optional(boolean),
});
export type SettleCommitResp = Infer<typeof SettleCommitResp>;

/** Replica → itself: has its log this transaction (M8)? */
export const FindCommit = message('FindCommit', 111, { txId, after: timestamp, upTo: timestamp });
export type FindCommit = Infer<typeof FindCommit>;

/** Client → coordinator: the transaction ends without a commit; its context is freed. */
export const EndTxReq = message('EndTxReq', 9, { ref: uint, txId });
export type EndTxReq = Infer<typeof EndTxReq>;

/** Coordinator → client: the context is gone, or was never there. */
export const EndTxResp = message('EndTxResp', 10, { ref: uint });
export type EndTxResp = Infer<typeof EndTxResp>;

/** Client → coordinator: how did this transaction end? Never causes a tombstone (D2). */
export const TxStatusReq = message('TxStatusReq', 11, { ref: uint, txId });
export type TxStatusReq = Infer<typeof TxStatusReq>;

/**
 * The state of all attempts. `pending`: one is prepared. `deferred`: a map has taken it back, and it will be committed
 * again (M8). `lost`: a lost disk took a part, and no attempt took effect
 * (D10). `forgotten`: a disk that may have known it is lost. `unknown`: no replica knows it, or not all have answered.
 */
export type TransactionStatus = (typeof STATUSES)[number];
const STATUSES = ['open', 'committed', 'aborted', 'pending', 'deferred', 'lost', 'forgotten', 'unknown'] as const;

/**
 * Coordinator → client. `ts` is the commit timestamp, or the snapshot of an open transaction. *Aborted* covers attempts
 * up to `attempt`: a client that holds the transaction's writes may still try another one (D4).
 */
export const TxStatusResp = message('TxStatusResp', 12, {
  ref: uint,
  status: oneOf(...STATUSES),
  ts: nullableTimestamp,
  attempt: uint,
});
export type TxStatusResp = Infer<typeof TxStatusResp>;

/** Coordinator → client, or replica → coordinator: the request with this `ref` is refused. */
export const Refused = message('Refused', 13, { ref: count, code, detail });
export type Refused = Infer<typeof Refused>;

/** Coordinator → replica, local or remote (Alg. 2 line 12). */
export const ReadSliceReq = message('ReadSliceReq', 14, {
  ref: count,
  partition,
  snapshot: timestamp,
  keys,
  /** The snapshot's other entries, under protocols that have them. */
  deps,
  /** Asks for the newest versions, too, of a replica that has everything up to this stable time. */
  newest: optional(timestamp),
  map: snapshotMap,
});
export type ReadSliceReq = Infer<typeof ReadSliceReq>;

/** Replica → coordinator (Alg. 3 line 8). */
export const ReadSliceResp = message('ReadSliceResp', 15, { ref: count, partition, versions, newer });
export type ReadSliceResp = Infer<typeof ReadSliceResp>;

/** Coordinator → replica: one partition's share of a listing. */
export const ListSliceReq = message('ListSliceReq', 16, {
  ref: count,
  partition,
  snapshot: timestamp,
  range,
  /** The snapshot's other entries, under protocols that have them. */
  deps,
  map: snapshotMap,
});
export type ListSliceReq = Infer<typeof ListSliceReq>;

/** Replica → coordinator. */
export const ListSliceResp = message('ListSliceResp', 17, {
  ref: count,
  partition,
  entries: list(ListedVersion),
  next: nullable(key),
});
export type ListSliceResp = Infer<typeof ListSliceResp>;

/** It never leaves its node: a replica refuses one that a peer sends. */
const waiting = object({ read: nullable(ReadSliceReq), list: nullable(ListSliceReq) });
const waitedRequest: Kind<ReadSliceReq | ListSliceReq> = {
  encode: (request) =>
    waiting.encode(request.type === 'ReadSliceReq' ? { read: request, list: null } : { read: null, list: request }),
  decode: (raw) => {
    const { read, list: listing } = waiting.decode(raw);
    const request = read ?? listing;
    if (request === null) throw new MalformedMessage('expected a read');
    return request;
  },
};

/** Replica → itself: a read that has waited for its snapshot since then goes on. */
export const WaitedRead = message('WaitedRead', 40, { node, request: waitedRequest, since: count });
export type WaitedRead = Infer<typeof WaitedRead>;

/**
 * Identifies a commit wherever it is sent (D4). Travels with every prepare and every question about it.
 */
export const CommitIdentity = object({
  txId,
  attempt: uint,
  home: region,
  /** Version of the map that the cohorts follow from. */
  map: uint,
  /** All partitions written, ascending. With `home` and `avoid` they name the cohorts. */
  cohorts: partitions,
  /** Regions that the attempt avoids, sorted: fixed before it is first sent. Absent if it avoids none. */
  avoid: optional(avoid),
});
export type CommitIdentity = Infer<typeof CommitIdentity>;

/** Coordinator → cohort (Alg. 2 line 23). A sole cohort commits at its own `pt` (P11). */
export const PrepareReq = message('PrepareReq', 18, {
  partition,
  identity: CommitIdentity,
  /** Snapshot of the transaction. */
  ust: timestamp,
  /** `max(ust, hwt)`: everything the client has seen. */
  ht: timestamp,
  sentAfter: timestamp,
  principal,
  writes,
  /** The dependencies of the transaction's versions beside their timestamp, under protocols that track them. */
  deps,
  /** What unstable writes of the session need (M4). */
  behind: needs,
  /** That of `writes` and a principal, where the sender does not know the principal. */
  digest: optional(digest),
  /** The first commit timestamp, of a deferred transaction that is committed again (M8). */
  first: optional(timestamp),
});
export type PrepareReq = Infer<typeof PrepareReq>;

/** Cohort → coordinator (Alg. 3 line 14), after the prepare is durable. */
export const PrepareResp = message('PrepareResp', 19, { txId, attempt: uint, partition, pt: timestamp });
export type PrepareResp = Infer<typeof PrepareResp>;

/** Cohort → coordinator: the prepare is refused, durably where it matters (D2). */
export const PrepareRefused = message('PrepareRefused', 20, { txId, attempt: uint, partition, code, detail });
export type PrepareRefused = Infer<typeof PrepareRefused>;

/** Coordinator → cohort (Alg. 2 line 29, the paper's CommitReq to a cohort): all are prepared, commit at `ct`. */
export const CommitTx = message('CommitTx', 21, { partition, txId, attempt: uint, ct: timestamp });
export type CommitTx = Infer<typeof CommitTx>;

/** Coordinator → cohort: another cohort refused durably, so this attempt can never commit. */
export const AbortTx = message('AbortTx', 22, { partition, txId, attempt: uint });
export type AbortTx = Infer<typeof AbortTx>;

/**
 * Coordinator → cohort: another cohort has refused the attempt without a durable record. The receiver may have prepared
 * it: it asks the other cohorts at once for a decision (D2), because the coordinator sends none.
 */
export const ResolveNow = message('ResolveNow', 43, { partition, txId, attempt: uint });
export type ResolveNow = Infer<typeof ResolveNow>;

/**
 * Resolver → cohort (D2): what became of this attempt? A cohort that never prepared it writes an abort tombstone before
 * it answers. Sent by a cohort whose commit message is overdue, and by a coordinator before attempt + 1 (D4).
 */
export const ResolveReq = message('ResolveReq', 23, {
  partition,
  identity: CommitIdentity,
  /** As in PrepareReq: shows a cohort that lost its disk whether it may have known the transaction (D10). */
  sentAfter: timestamp,
  /** Of a counted commit (OF2). */
  counter: optional(struct<CommitCounter>({ key, n: uint })),
});
export type ResolveReq = Infer<typeof ResolveReq>;

/** Cohort → resolver, once the answer is durable. */
export const ResolveResp = message('ResolveResp', 24, {
  txId,
  attempt: uint,
  partition,
  /** `lost`: the cohort lost its disk since and cannot know (D10). */
  state: oneOf('prepared', 'committed', 'aborted', 'lost', 'deferred'),
  /** `pt`, or `ct`; no meaning otherwise. */
  ts: timestamp,
  /** The counter shows the commit (OF2), of any attempt: by its number, or by a higher number, and `ts` is a bound. */
  counted: optional(oneOf('equal', 'above')),
});
export type ResolveResp = Infer<typeof ResolveResp>;

/** Coordinator → replica: how did this transaction end? Writes nothing. */
export const OutcomeReq = message('OutcomeReq', 25, { ref: count, partition, txId });
export type OutcomeReq = Infer<typeof OutcomeReq>;

/** Replica → coordinator. */
export const OutcomeResp = message('OutcomeResp', 26, {
  ref: count,
  partition,
  /** `reported`: among the reported losses (D10), whatever else the replica has of it. */
  state: oneOf('prepared', 'committed', 'aborted', 'deferred', 'lost', 'unknown', 'reported'),
  /** `ct`, `pt`, the time of a tombstone; of *lost* and *unknown*, up to when the replica has dropped outcomes. */
  ts: timestamp,
  /** The attempt to which the state belongs (D4). */
  attempt: uint,
});
export type OutcomeResp = Infer<typeof OutcomeResp>;

const messages = {
  StartTxReq,
  ReadReq,
  ListReq,
  CommitReq,
  EndTxReq,
  TxStatusReq,
  StartTxResp,
  ReadResp,
  ListResp,
  CommitResp,
  EndTxResp,
  TxStatusResp,
  SettleCommitReq,
  SettleCommitResp,
  Refused,
  ReadSliceReq,
  ReadSliceResp,
  ListSliceReq,
  ListSliceResp,
  WaitedRead,
  PrepareReq,
  PrepareResp,
  PrepareRefused,
  CommitTx,
  AbortTx,
  ResolveReq,
  ResolveNow,
  ResolveResp,
  OutcomeReq,
  OutcomeResp,
  FindCommit,
};
export type TransactionMessage =
  | ReplicationMessage
  | FeedMessage
  | MapMessage
  | ReturnMessage
  | SettlementMessage
  | MessageOf<typeof messages>;
/** Tags 1–26, 40, 43, 111, 117, 118, and those of replication, feeds, maps, returns and settlements. */
export const transactionSchema: MessageSchema<TransactionMessage> = {
  ...replicationSchema,
  ...feedSchema,
  ...mapSchema,
  ...returnSchema,
  ...settlementSchema,
  ...messages,
};

/** The requests of clients. */
export const clientRequests = {
  StartTxReq: { answer: 'StartTxResp', machine: 'coordinator' },
  ReadReq: { answer: 'ReadResp', machine: 'coordinator' },
  ListReq: { answer: 'ListResp', machine: 'coordinator' },
  CommitReq: { answer: 'CommitResp', machine: 'coordinator' },
  EndTxReq: { answer: 'EndTxResp', machine: 'coordinator' },
  TxStatusReq: { answer: 'TxStatusResp', machine: 'coordinator' },
  SettleCommitReq: { answer: 'SettleCommitResp', machine: 'coordinator' },
  ...feedRequests,
} as const;
/** The requests of clients, by type, each with its answer. */
export type ClientRequestMap = RequestMap<typeof clientRequests, TransactionMessage>;
export type ClientRequest = ClientRequestMap[keyof ClientRequestMap]['request'];
export type ClientResponse = NonNullable<ClientRequestMap[keyof ClientRequestMap]['answer']> | Refused;

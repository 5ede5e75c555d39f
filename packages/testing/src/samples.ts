/**
 * One message of every type that machines send, as in a small cluster: tests build theirs from these, or damage them.
 */
import {
  firstMap,
  type KeyWrite,
  type PartitionId,
  type QualifiedKey,
  type RegionId,
  type Timestamp,
  type TxId,
  type Version,
} from '@isochron/core';
import type { OperationMessage, RotSliceReq } from '@isochron/protocols/kernel/operations/messages';
import type { Loss } from '@isochron/protocols/kernel/replication/losses';
import type { CopyReq, ReplicationMessage } from '@isochron/protocols/kernel/replication/messages';
import type { CommitIdentity, TransactionMessage } from '@isochron/protocols/kernel/transactions/messages';
import type { SuspectsReq } from '@isochron/protocols/kernel/transactions/settlement-messages';

/** The partitions, the key, the transaction, the regions and the time of the samples. */
export interface SampleContext {
  readonly partition: PartitionId;
  /** A partition that the same transaction writes. */
  readonly other: PartitionId;
  readonly key: QualifiedKey;
  readonly txId: TxId;
  readonly now: Timestamp;
  readonly home: RegionId;
  readonly source: RegionId;
}

/** A field of {@link sample}. */
export const SAMPLE_CONTEXT: SampleContext = {
  partition: 0,
  other: 4,
  key: 'default/a',
  txId: 'abcdefghijklmnopqrstuv.0',
  now: 200_000_000_000_000,
  home: 'virginia',
  source: 'oregon',
};

/** By type, so that a new message does not compile without a sample. */
type SamplesOf<M extends { readonly type: string }> = { readonly [T in M['type']]: Extract<M, { type: T }> };
export type ReplicationSamples = SamplesOf<ReplicationMessage>;
export type TransactionSamples = SamplesOf<TransactionMessage>;
export type OperationSamples = SamplesOf<OperationMessage>;

/** A version of the key, and writes of every kind. */
function contentOf({ key, txId, now, source }: SampleContext): { version: Version; writes: KeyWrite[] } {
  return {
    version: { ts: now - 5000, txId, region: source, value: '{"a":1}' },
    writes: [
      { key, value: '"one"' },
      { key: `${key}/bytes`, value: Uint8Array.of(0, 1, 255) },
      { key: `${key}/gone`, value: null },
    ],
  };
}

function replicationSamples(context: SampleContext): ReplicationSamples {
  const { partition, key, txId, now, source } = context;
  const { version, writes } = contentOf(context);
  const groups = [{ ct: now - 10, txs: [{ txId, writes }] }];
  const gossip = { sOld: now - 9000, wallMs: now / 4096, served: now - 9000, wanted: now };
  const copyReq: CopyReq = {
    type: 'CopyReq',
    ref: 11,
    partition,
    start: 'default/',
    source,
    above: 0,
    clock: now - 9000,
  };
  const vector = [{ region: source, ts: now - 9000 }];
  return {
    Replicate: { type: 'Replicate', partition, source, from: now - 5000, to: now, groups, more: false, verified: true },
    Heartbeat: { type: 'Heartbeat', partition, source, from: now - 5000, to: now, verified: false },
    Heartbeats: {
      type: 'Heartbeats',
      source,
      spans: [{ from: now - 5000, to: now, verified: true, partitions: [partition] }],
    },
    Wake: { type: 'Wake' },
    ResyncReq: {
      type: 'ResyncReq',
      partition,
      region: source,
      from: now,
      clock: now,
      group: 0,
      incarnation: 0,
      peerIncarnation: 0,
      sourced: 0,
    },
    ResyncRefused: { type: 'ResyncRefused', partition, source, truncatedUpTo: now - 9000 },
    ReadUnstable: { type: 'ReadUnstable', after: 5, upTo: 9 },
    ReplayLog: { type: 'ReplayLog', region: source, after: now - 5000, upTo: now },
    JoinReq: { type: 'JoinReq' },
    JoinResp: {
      type: 'JoinResp',
      joined: true,
      retiring: false,
      setAside: false,
      ust: now - 9000,
      clocks: [{ partition, clock: now }],
    },
    CopyReq: copyReq,
    ReadCopy: { type: 'ReadCopy', node: 'oregon-1', request: copyReq, vector },
    CopyResp: {
      type: 'CopyResp',
      ref: 11,
      part: 0,
      parts: 1,
      versions: [{ key, version, attempt: 1 }],
      next: null,
      vector,
      gcFloor: 0,
    },
    GossipUp: { type: 'GossipUp', gst: now - 9000, ...gossip },
    GossipRoot: { type: 'GossipRoot', region: source, gst: now - 9000, ...gossip },
    GossipDown: { type: 'GossipDown', ust: now - 9000, ...gossip },
    ClockReq: { type: 'ClockReq' },
    ClockResp: { type: 'ClockResp', wallMs: gossip.wallMs },
    AcknowledgeLossesReq: { type: 'AcknowledgeLossesReq', ref: 13, transactions: [txId] },
    AcknowledgeLossesResp: { type: 'AcknowledgeLossesResp', ref: 13, acknowledged: 1 },
  };
}

const FOUNDING = firstMap({
  regions: ['virginia', 'oregon'].map((id) => ({ id, nodes: [{ id: `${id}-1` }] })),
  keyspaces: [{ name: 'default', partitions: 2, replication: 2 }],
});

/** A sample of every message of nodes with interactive transactions. */
export function transactionSamples(context: SampleContext): TransactionSamples {
  const { partition, other, key, txId, now, home, source } = context;
  const { version, writes } = contentOf(context);
  const identity: CommitIdentity = {
    txId,
    attempt: 0,
    home,
    map: 0,
    cohorts: [partition, other].sort((a, b) => a - b),
  };
  const range = { start: 'default/', end: 'default0', limit: 10 };
  const newer = [{ index: 1, version }];
  const suspectsReq: SuspectsReq = { type: 'SuspectsReq', partition, after: now - 9000 };
  const suspect = { txId, attempt: 0, committed: true, ts: now - 10, partitions: [partition], keys: [key] };
  const loss: Loss = { ...suspect, takenBack: true, node: 'oregon-1', acknowledged: false, overtaken: false };
  const map = { ...FOUNDING, version: 1, horizon: now - 8000 };
  return {
    ...replicationSamples(context),
    LeaveReq: { type: 'LeaveReq', ref: 16 },
    LeaveResp: { type: 'LeaveResp', ref: 16, why: 'only-replica' },
    ReturnReq: { type: 'ReturnReq', ref: 17 },
    OrderReq: { type: 'OrderReq', ref: 18, action: 'hold', nodes: ['ireland-1'] },
    EvictionReq: { type: 'EvictionReq', nodes: ['ireland-1'] },
    EvictionResp: { type: 'EvictionResp', isWhole: true },
    OrderResp: { type: 'OrderResp', ref: 18, why: 'silent', nodes: ['oregon-1'] },
    ChangeReq: { type: 'ChangeReq', version: 1, action: 'suspend', nodes: ['ireland-1'] },
    DeferredReq: { type: 'DeferredReq', version: 2, stable: now - 9000 },
    DeferredResp: { type: 'DeferredResp', version: 2, slices: [] },
    DropDeferred: { type: 'DropDeferred', partition: 1, txId, attempt: 0 },
    Silent: { type: 'Silent', nodes: ['ireland-1'] },
    Leaving: { type: 'Leaving' },
    MemberReq: { type: 'MemberReq', version: 0, leaves: true },
    NewestMap: { type: 'NewestMap', version: 1 },
    ProposeMap: { type: 'ProposeMap' },
    SealReq: { type: 'SealReq', version: 1, ballot: 4 },
    Sealed: {
      type: 'Sealed',
      version: 1,
      ballot: 4,
      minimum: now - 8000,
      stable: now - 9000,
      votes: true,
      accepted: { ballot: 3, map },
    },
    StillSealed: { type: 'StillSealed', version: 1 },
    AcceptReq: { type: 'AcceptReq', ballot: 4, map },
    Accepted: { type: 'Accepted', version: 1, ballot: 4 },
    DecidedMaps: { type: 'DecidedMaps', maps: [map] },
    ChangesReq: { type: 'ChangesReq', ref: 9, prefix: 'default/', after: now - 9000, waitMs: 1000, limitBytes: 1e6 },
    ChangesResp: {
      type: 'ChangesResp',
      ref: 9,
      from: now - 9000,
      to: now - 8000,
      transactions: [{ txId, ct: now - 8000, writes }],
    },
    ChangesPageReq: { type: 'ChangesPageReq', partition, after: now - 9000 },
    ReadChanges: { type: 'ReadChanges', node: 'virginia-1', partition, after: now - 9000, upTo: now - 8000 },
    ChangesPageResp: {
      type: 'ChangesPageResp',
      partition,
      after: now - 9000,
      upTo: now - 8000,
      changes: [{ ct: now - 8000, tx: { txId, writes }, source }],
      truncatedUpTo: 0,
    },
    LiveReq: {
      type: 'LiveReq',
      ref: 14,
      reader: 1,
      after: now - 9000,
      add: [{ watch: 1, keys: [key], ranges: [{ start: 'default/', end: 'default0' }] }],
      remove: [0],
      waitMs: 1000,
      limitBytes: 1e6,
    },
    LiveResp: {
      type: 'LiveResp',
      ref: 14,
      to: now - 8000,
      changes: [{ key, contents: [{ ct: now - 8000, txId, content: '1' }] }],
    },
    LiveEnd: { type: 'LiveEnd', ref: 15, reader: 1 },
    StartTxReq: { type: 'StartTxReq', ref: 1, txId, ust: now - 8000, at: null },
    StartTxResp: { type: 'StartTxResp', ref: 1, snapshot: now - 8000 },
    ReadReq: { type: 'ReadReq', ref: 2, txId: null, ust: now - 8000, at: null, keys: [key], newest: true },
    ReadResp: { type: 'ReadResp', ref: 2, snapshot: now - 8000, versions: [version, null], newer },
    ListReq: { type: 'ListReq', ref: 3, txId: null, ust: 0, at: null, keyspace: 'default', range },
    ListResp: { type: 'ListResp', ref: 3, snapshot: now - 8000, entries: [{ key, version }], next: key },
    CommitReq: {
      type: 'CommitReq',
      ref: 4,
      txId,
      snapshot: now - 8000,
      hwt: 0,
      sentAfter: now - 8000,
      attemptRegions: [home],
      principal: 'anonymous',
      writes,
    },
    CommitResp: { type: 'CommitResp', ref: 4, txId, ct: now },
    EndTxReq: { type: 'EndTxReq', ref: 5, txId },
    EndTxResp: { type: 'EndTxResp', ref: 5 },
    TxStatusReq: { type: 'TxStatusReq', ref: 6, txId },
    TxStatusResp: { type: 'TxStatusResp', ref: 6, status: 'committed', ts: now, attempt: 0 },
    SettleCommitReq: {
      type: 'SettleCommitReq',
      ref: 6,
      txId,
      queue: { id: 'q'.repeat(22), n: 1 },
      sentAfter: now - 8000,
      attemptRegions: [home],
      principal: 'anonymous',
      keys: [key],
    },
    SettleCommitResp: { type: 'SettleCommitResp', ref: 6, txId, ct: null },
    Refused: { type: 'Refused', ref: 7, code: 'SNAPSHOT_UNAVAILABLE', detail: 'not yet' },
    ReadSliceReq: { type: 'ReadSliceReq', ref: 8, partition, snapshot: now - 9000, keys: [key], newest: now - 8000 },
    ReadSliceResp: { type: 'ReadSliceResp', ref: 8, partition, versions: [version, null], newer },
    ListSliceReq: { type: 'ListSliceReq', ref: 9, partition, snapshot: now - 9000, range },
    ListSliceResp: { type: 'ListSliceResp', ref: 9, partition, entries: [{ key, version }], next: null },
    WaitedRead: {
      type: 'WaitedRead',
      node: 'oregon-1',
      request: { type: 'ReadSliceReq', ref: 8, partition, snapshot: now - 9000, keys: [key] },
      since: now,
    },
    PrepareReq: {
      type: 'PrepareReq',
      partition,
      identity,
      ust: now - 8000,
      ht: now - 8000,
      sentAfter: now - 8000,
      principal: 'anonymous',
      writes,
    },
    PrepareResp: { type: 'PrepareResp', txId, attempt: 0, partition, pt: now },
    PrepareRefused: { type: 'PrepareRefused', txId, attempt: 0, partition, code: 'CLOCK_DRIFT', detail: 'off' },
    CommitTx: { type: 'CommitTx', partition, txId, attempt: 0, ct: now },
    AbortTx: { type: 'AbortTx', partition, txId, attempt: 0 },
    ResolveReq: {
      type: 'ResolveReq',
      partition,
      identity,
      sentAfter: now - 8000,
      counter: { key: `~/${partition}/anonymous/${'q'.repeat(22)}`, n: 1 },
    },
    ResolveResp: { type: 'ResolveResp', txId, attempt: 0, partition, state: 'committed', ts: now, counted: 'above' },
    FindCommit: { type: 'FindCommit', txId, after: 5, upTo: 9 },
    ResolveNow: { type: 'ResolveNow', partition, txId, attempt: 0 },
    OutcomeReq: { type: 'OutcomeReq', ref: 10, partition, txId },
    OutcomeResp: { type: 'OutcomeResp', ref: 10, partition, state: 'committed', ts: now, attempt: 0 },
    LossNotice: { type: 'LossNotice', incarnation: now - 9000 },
    LossNoticed: { type: 'LossNoticed', incarnation: now - 9000, losses: [loss], reported: [loss], map: 1 },
    SuspectsReq: suspectsReq,
    ReadSuspects: { type: 'ReadSuspects', node: 'oregon-1', request: suspectsReq, queued: [suspect], upTo: now },
    SuspectsResp: {
      type: 'SuspectsResp',
      partition,
      region: source,
      after: now - 9000,
      suspects: [suspect],
      next: null,
    },
    TakeBackReq: { type: 'TakeBackReq', part: 0, last: true, losses: [loss] },
    TakeBackResp: { type: 'TakeBackResp', part: 0 },
  };
}

/** A sample of every message of nodes with single operations. */
export function operationSamples(context: SampleContext): OperationSamples {
  const { partition, key, txId, now, home: region } = context;
  const { version } = contentOf(context);
  const put = { txId, sentAfter: now - 8000, principal: 'anonymous', key, value: '"one"' };
  const seen = [now - 5000, now - 9000];
  const request: RotSliceReq = { type: 'RotSliceReq', ref: 3, partition, snapshot: seen, keys: [key] };
  return {
    ...replicationSamples(context),
    Refused: { type: 'Refused', ref: 1, code: 'NOT_READY', detail: 'Later.' },
    GetReq: { type: 'GetReq', ref: 1, key, seen, region },
    GetResp: { type: 'GetResp', ref: 1, version, seen, ust: now - 8000 },
    PutReq: { type: 'PutReq', ref: 2, ...put, seen, region, attemptRegions: [region] },
    PutResp: { type: 'PutResp', ref: 2, txId, ts: now, seen, region, ust: now - 8000 },
    RotReq: { type: 'RotReq', ref: 3, keys: [key], seen, region },
    RotResp: { type: 'RotResp', ref: 3, versions: [version, null], seen, ust: now - 8000 },
    GetSliceReq: { type: 'GetSliceReq', ref: 1, partition, key, seen },
    GetSliceResp: { type: 'GetSliceResp', ref: 1, version, seen },
    PutSliceReq: { type: 'PutSliceReq', ref: 2, partition, attempt: 1, ...put, seen },
    PutSliceResp: { type: 'PutSliceResp', ref: 2, ts: now },
    SettleReq: { type: 'SettleReq', ref: 4, partition, txId, attempt: 0, sentAfter: now - 8000 },
    SettleResp: { type: 'SettleResp', ref: 4, state: 'lost', ts: 0 },
    SnapReq: { type: 'SnapReq', ref: 5, partition, seen },
    SnapResp: { type: 'SnapResp', ref: 5, snapshot: seen },
    RotSliceReq: request,
    RotSliceResp: { type: 'RotSliceResp', ref: 3, versions: [null, version] },
    WaitedSlice: { type: 'WaitedSlice', node: 'virginia-1', request, since: now },
    DepCheckReq: { type: 'DepCheckReq', ref: 6, partition, needs: [0, now - 5000, 2, now - 9000] },
    DepCheckResp: { type: 'DepCheckResp', ref: 6 },
    AdmitUpdates: { type: 'AdmitUpdates', source: region, upTo: now, keys: [key] },
    ReplicationAck: { type: 'ReplicationAck', partition, region, upTo: now },
    ReplicationComplete: { type: 'ReplicationComplete', partition, region, upTo: now },
    RotVersionsReq: { type: 'RotVersionsReq', ref: 3, partition, keys: [key], wanted: [[0, now - 5000, 1, now]] },
    ReadersCheckReq: { type: 'ReadersCheckReq', ref: 7, partition, keys: [key], needs: [0, now] },
    ReadersCheckResp: { type: 'ReadersCheckResp', ref: 7, readers: [{ id: txId, at: now }] },
  };
}

const SAMPLES = { ...operationSamples(SAMPLE_CONTEXT), ...transactionSamples(SAMPLE_CONTEXT) };

/** A sample with other values in some of its fields. */
export function sample<T extends keyof typeof SAMPLES>(
  type: T,
  fields: Partial<Omit<(typeof SAMPLES)[T], 'type'>> = {},
): (typeof SAMPLES)[T] {
  return { ...SAMPLES[type], ...fields };
}

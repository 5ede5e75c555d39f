/** One message of every kind that nodes send each other, as a small cluster would: the material that the properties spoil. */
import type { KeyWrite, PartitionId, QualifiedKey, Timestamp, TxId, Version } from '@isochron/core';
import type { CommitIdentity, CopyReq, Loss, SuspectsReq, TransactionMessage } from '@isochron/protocols';

/** What the samples speak of. */
export interface SampleContext {
  readonly partition: PartitionId;
  /** A partition that the same transaction writes. */
  readonly other: PartitionId;
  readonly key: QualifiedKey;
  readonly txId: TxId;
  readonly now: Timestamp;
  readonly home: string;
  readonly source: string;
}

/** By type, so that a new kind of message does not compile without a sample. */
export type Samples = { readonly [T in TransactionMessage['type']]: Extract<TransactionMessage, { type: T }> };

export function samplesOf({ partition, other, key, txId, now, home, source }: SampleContext): Samples {
  const version: Version = { ts: now - 5000, txId, region: source, value: '{"a":1}' };
  const writes: KeyWrite[] = [
    { key, value: '"one"' },
    { key: `${key}/bytes`, value: Uint8Array.of(0, 1, 255) },
    { key: `${key}/gone`, value: null },
  ];
  const identity: CommitIdentity = {
    txId,
    attempt: 0,
    home,
    epoch: 0,
    cohorts: [partition, other].sort((a, b) => a - b),
  };
  const range = { start: 'default/', end: 'default0', limit: 10 };
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
  const suspectsReq: SuspectsReq = { type: 'SuspectsReq', partition, after: now - 9000 };
  const suspect = { txId, attempt: 0, committed: true, ts: now - 10, partitions: [partition], keys: [key] };
  const loss: Loss = { ...suspect, takenBack: true, node: 'oregon-1', acknowledged: false };
  return {
    StartTxReq: { type: 'StartTxReq', ref: 1, txId, ust: now - 8000, at: null },
    StartTxResp: { type: 'StartTxResp', ref: 1, snapshot: now - 8000 },
    ReadReq: { type: 'ReadReq', ref: 2, txId: null, ust: now - 8000, at: null, keys: [key] },
    ReadResp: { type: 'ReadResp', ref: 2, snapshot: now - 8000, versions: [version, null] },
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
    Refused: { type: 'Refused', ref: 7, code: 'SNAPSHOT_UNAVAILABLE', detail: 'not yet' },
    ReadSliceReq: { type: 'ReadSliceReq', ref: 8, partition, snapshot: now - 9000, keys: [key] },
    ReadSliceResp: { type: 'ReadSliceResp', ref: 8, partition, versions: [version, null] },
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
    ResolveReq: { type: 'ResolveReq', partition, identity, sentAfter: now - 8000 },
    ResolveResp: { type: 'ResolveResp', txId, attempt: 0, partition, state: 'prepared', ts: now },
    ResolveNow: { type: 'ResolveNow', partition, txId, attempt: 0 },
    OutcomeReq: { type: 'OutcomeReq', ref: 10, partition, txId },
    OutcomeResp: { type: 'OutcomeResp', ref: 10, partition, state: 'committed', ts: now, attempt: 0 },
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
      versions: [{ key, version }],
      next: null,
      vector,
      gcFloor: 0,
    },
    GossipUp: { type: 'GossipUp', gst: now - 9000, ...gossip },
    GossipRoot: { type: 'GossipRoot', region: source, gst: now - 9000, ...gossip },
    GossipDown: { type: 'GossipDown', ust: now - 9000, ...gossip },
    ClockReq: { type: 'ClockReq' },
    ClockResp: { type: 'ClockResp', wallMs: gossip.wallMs },
    LossNotice: { type: 'LossNotice', incarnation: now - 9000 },
    LossNoticed: { type: 'LossNoticed', incarnation: now - 9000, losses: [loss], reported: [loss] },
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
    AcknowledgeLossesReq: { type: 'AcknowledgeLossesReq', ref: 13, transactions: [txId] },
    AcknowledgeLossesResp: { type: 'AcknowledgeLossesResp', ref: 13, acknowledged: 1 },
  };
}

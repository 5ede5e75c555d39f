/** Traffic to other nodes by kind: the bytes and messages by which the papers compare protocols. */
import type { LogGroup, LoggedTx, NodeId, RegionId } from '@isochron/core';
import type { OperationMessage, Replicate, TransactionMessage } from '@isochron/protocols';
import type { SessionMessage } from '@isochron/sessions';
import type { PackedFrame } from '@isochron/transport';
import { packedSize } from '@isochron/wire';

type CountedMessage = TransactionMessage | OperationMessage | SessionMessage;

/**
 * The kind of a message.
 *
 * - `operations`: reads and writes of clients, between the client's node and the replicas.
 * - `commits`: two-phase commit.
 * - `replication`: updates to the other regions, and heartbeats, which replace them.
 * - `stabilization`: agreement of regions and nodes on stable times.
 * - `dependency-checks`: whether a region has the dependencies of an update, under protocols that ask.
 * - `readers-checks`: who has read older versions of it.
 * - `recovery`: outcomes, resyncs, copies of lost disks.
 * - `sessions`: session caches that nodes exchange.
 * - `changes`: logs for readers of changes.
 * - `framing`: frames as such, around the messages in them.
 */
export type TrafficKind = (typeof TRAFFIC_KINDS)[number];
export const TRAFFIC_KINDS = [
  'operations',
  'commits',
  'replication',
  'stabilization',
  'dependency-checks',
  'readers-checks',
  'recovery',
  'sessions',
  'changes',
  'maps',
  'framing',
] as const;

/** Inside a region, or between regions. */
export type TrafficScope = 'region' | 'wan';
export const SCOPES = ['region', 'wan'] as const;

/** The kind of each message type. A missing one does not compile. */
export const KIND_OF: { readonly [Type in CountedMessage['type']]: TrafficKind } = {
  StartTxReq: 'operations',
  StartTxResp: 'operations',
  ReadReq: 'operations',
  ReadResp: 'operations',
  ListReq: 'operations',
  ListResp: 'operations',
  CommitReq: 'operations',
  CommitResp: 'operations',
  EndTxReq: 'operations',
  EndTxResp: 'operations',
  TxStatusReq: 'operations',
  TxStatusResp: 'operations',
  SettleCommitReq: 'operations',
  SettleCommitResp: 'operations',
  LeaveReq: 'maps',
  LeaveResp: 'maps',
  ReturnReq: 'maps',
  OrderReq: 'maps',
  OrderResp: 'maps',
  ChangeReq: 'maps',
  EvictionReq: 'maps',
  EvictionResp: 'maps',
  Silent: 'maps',
  Leaving: 'maps',
  MemberReq: 'maps',
  NewestMap: 'maps',
  ProposeMap: 'maps',
  SealReq: 'maps',
  Sealed: 'maps',
  StillSealed: 'maps',
  AcceptReq: 'maps',
  Accepted: 'maps',
  DecidedMaps: 'maps',
  Refused: 'operations',
  ReadSliceReq: 'operations',
  ReadSliceResp: 'operations',
  ListSliceReq: 'operations',
  ListSliceResp: 'operations',
  WaitedRead: 'operations',
  GetReq: 'operations',
  GetResp: 'operations',
  PutReq: 'operations',
  PutResp: 'operations',
  RotReq: 'operations',
  RotResp: 'operations',
  GetSliceReq: 'operations',
  GetSliceResp: 'operations',
  PutSliceReq: 'operations',
  PutSliceResp: 'operations',
  SnapReq: 'operations',
  SnapResp: 'operations',
  RotSliceReq: 'operations',
  RotSliceResp: 'operations',
  RotVersionsReq: 'operations',
  WaitedSlice: 'operations',
  PrepareReq: 'commits',
  PrepareResp: 'commits',
  PrepareRefused: 'commits',
  CommitTx: 'commits',
  AbortTx: 'commits',
  Replicate: 'replication',
  Heartbeat: 'replication',
  Heartbeats: 'replication',
  Wake: 'stabilization',
  GossipUp: 'stabilization',
  GossipRoot: 'stabilization',
  GossipDown: 'stabilization',
  ClockReq: 'stabilization',
  ClockResp: 'stabilization',
  DepCheckReq: 'dependency-checks',
  DepCheckResp: 'dependency-checks',
  AdmitUpdates: 'dependency-checks',
  ReplicationAck: 'dependency-checks',
  ReplicationComplete: 'dependency-checks',
  ReadersCheckReq: 'readers-checks',
  ReadersCheckResp: 'readers-checks',
  ResolveReq: 'recovery',
  ResolveNow: 'recovery',
  ResolveResp: 'recovery',
  OutcomeReq: 'recovery',
  OutcomeResp: 'recovery',
  LossNotice: 'recovery',
  LossNoticed: 'recovery',
  SuspectsReq: 'recovery',
  ReadSuspects: 'recovery',
  SuspectsResp: 'recovery',
  TakeBackReq: 'recovery',
  TakeBackResp: 'recovery',
  SettleReq: 'recovery',
  SettleResp: 'recovery',
  ResyncReq: 'recovery',
  ResyncRefused: 'recovery',
  DeferredReq: 'recovery',
  DeferredResp: 'recovery',
  DropDeferred: 'recovery',
  ReadUnstable: 'recovery',
  FindCommit: 'recovery',
  ReplayLog: 'recovery',
  JoinReq: 'recovery',
  JoinResp: 'recovery',
  CopyReq: 'recovery',
  ReadCopy: 'recovery',
  CopyResp: 'recovery',
  AcknowledgeLossesReq: 'recovery',
  AcknowledgeLossesResp: 'recovery',
  ChangesReq: 'changes',
  ChangesResp: 'changes',
  ChangesPageReq: 'changes',
  ReadChanges: 'changes',
  ChangesPageResp: 'changes',
  LiveReq: 'changes',
  LiveResp: 'changes',
  LiveEnd: 'changes',
  SessionCacheReq: 'sessions',
  SessionCacheResp: 'sessions',
  SessionHandover: 'sessions',
  SessionHandoverResp: 'sessions',
};

export interface Sent {
  readonly messages: number;
  readonly bytes: number;
}

type Tally = { -readonly [Field in keyof Sent]: Sent[Field] };
type Tallies = { readonly [K in TrafficKind]: Tally };

/** Counts messages to other nodes. Messages within the node are not encoded and not counted. */
export class Traffic {
  /** Updates in replication messages, once for each region that they are sent to. */
  replicatedUpdates = 0;
  /**
   * Bytes of the fields that order these updates: timestamps and dependencies, as encoded. Not the key, the value, the
   * transaction's id, nor partition and region, which are the range's. A transaction's metadata is counted once,
   * however many keys it writes.
   */
  metadataBytes = 0;
  readonly #byScope: { readonly [S in TrafficScope]: Tallies } = { region: newTallies(), wan: newTallies() };

  constructor(
    readonly region: RegionId,
    readonly regionOf: (node: NodeId) => RegionId,
  ) {}

  of(kind: TrafficKind, scope: TrafficScope): Sent {
    return this.#byScope[scope][kind];
  }

  /** Counts a frame that has been sent. */
  count(to: NodeId, { bytes, envelopes, sizes }: PackedFrame<CountedMessage>): void {
    const tallies = this.#byScope[this.regionOf(to) === this.region ? 'region' : 'wan'];
    let framing = bytes.length;
    for (let i = 0; i < envelopes.length; i++) {
      const { message } = envelopes[i]!;
      const tally = tallies[KIND_OF[message.type]];
      tally.messages++;
      tally.bytes += sizes[i]!;
      framing -= sizes[i]!;
      if (message.type === 'Replicate') this.#countUpdates(message);
    }
    tallies.framing.messages++;
    tallies.framing.bytes += framing;
  }

  #countUpdates({ groups }: Replicate): void {
    for (const group of groups) {
      this.metadataBytes += metadataSize(group);
      for (const { writes } of group.txs) this.replicatedUpdates += writes.length;
    }
  }
}

const newTallies = (): Tallies =>
  Object.fromEntries(TRAFFIC_KINDS.map((kind) => [kind, { messages: 0, bytes: 0 }])) as Tallies;

/** Fields of a transaction that do not order its updates: lost disks and lost nodes need them. */
type NoOrder = 'txId' | 'writes' | 'siblings' | 'attempt' | 'needs';
/** Fields that order a transaction's updates. A missing one does not compile. */
const METADATA: { readonly [Field in Exclude<keyof LoggedTx, NoOrder>]-?: true } = {
  deps: true,
  depends: true,
  at: true,
};
const METADATA_FIELDS = Object.keys(METADATA) as (keyof typeof METADATA)[];

/** By fields: a transaction object may have fields that are not sent. */
function metadataSize({ ct, txs }: LogGroup): number {
  let size = packedSize(ct);
  for (const tx of txs) {
    for (const field of METADATA_FIELDS) if (tx[field] !== undefined) size += packedSize(tx[field]);
  }
  return size;
}

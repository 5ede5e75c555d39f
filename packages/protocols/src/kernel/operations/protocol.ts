/**
 * What tells one protocol of single operations from another: what a session depends on, how a PUT is stamped, which versions a GET may
 * show, how the snapshot of a read-only transaction is chosen, and what waits for what.
 */
import type {
  Dependency,
  Deps,
  LoggedTx,
  NodeId,
  PartitionId,
  QualifiedKey,
  ReadNeeds,
  RegionId,
  Timestamp,
  TxId,
  Version,
  WallMs,
} from '@isochron/core';
import type { Address, Effects } from '../../machine.js';
import type { DriftWatch } from '../drift-watch.js';
import type { NodeClock } from '../node-clock.js';
import type { RegionalRule } from '../node-parts.js';
import type { NodeState } from '../node-state.js';
import type { Replication } from '../replication/replication.js';
import type { Refusal } from '../transactions/snapshots.js';
import type { Wait } from '../waiting.js';
import type { DependencyChecks } from './dependency-checks.js';
import type { OperationMessage, OperationRequest, PutSliceReq, Slice } from './messages.js';
import type { ReplicaAsks } from './replica-asks.js';
import type { OperationSessionRules } from './session.js';
import type { Versions } from './versions.js';

type Out = Effects<OperationMessage>;

/** What a PUT's version depends on. */
export interface Stamp {
  /** Kept with the version here; absent where the protocol needs nothing beside the timestamp. */
  readonly deps?: Deps | undefined;
  /** What other regions get of it. */
  readonly sent?: Deps | undefined;
}

/** What a GET finds, and what a session has seen that is shown it. */
export interface Found {
  readonly version: Version | undefined;
  readonly seen: Deps;
}

/** What a replica's part looks at. */
export interface ReplicaView {
  readonly partition: PartitionId;
  readonly replication: Replication;
  /** The partition's versions, those on their way to the disk included. */
  readonly versions: Versions;
  /** What it asks of other partitions of its region. */
  readonly asks: ReplicaAsks;
  /** What others ask of it: whether what they depend on is here. */
  readonly checks: DependencyChecks;
}

/** What must be in a region before that which depends on it: everything that `region` sourced of `partition` up to `ts`. */
export interface Need {
  readonly partition: PartitionId;
  readonly region: RegionId;
  readonly ts: Timestamp;
}

/** One update of a peer that has come and is not applied yet. */
export interface PeerUpdate {
  readonly source: RegionId;
  readonly ts: Timestamp;
  readonly tx: LoggedTx;
}

/** How updates of peers are let in, under protocols that show a version only with what it depends on. */
export interface AdmissionRules {
  /** What it needs in this region: of the own partition, and of others, which are asked. */
  needs(update: PeerUpdate, replica: ReplicaView): readonly Need[];
  /**
   * What the protocol itself has to do before: begun when the update has come, besides the dependency checks; `ready` says that it is done. Several are
   * under way at a time.
   */
  prepare?(update: PeerUpdate, replica: ReplicaView, ready: () => void, now: WallMs, out: Out): void;
  /** It came for nothing: it is lost with its source, or comes again. */
  dropped?(update: PeerUpdate, replica: ReplicaView): void;
  /** What of its keys is read by `admitted`; undefined: nothing. */
  readonly reads?: Reach;
  /** It is applied in this step, after this. */
  admitted?(update: PeerUpdate, replica: ReplicaView, now: WallMs, out: Out): void;
}

/** What of a protocol lives in each replica: messages of its own, and what it does from time to time. */
export interface ReplicaPart {
  /** Takes a message; returns whether it was one of its own. */
  take?(message: OperationMessage, now: WallMs, from: Address, out: Out): boolean;
  /** What such a message reads. */
  needs?(message: OperationMessage): ReadNeeds | undefined;
  /** In every round, before what has become durable leaves for the peers. */
  round?(now: WallMs, out: Out): void;
  link?(node: NodeId, up: boolean, now: WallMs, out: Out): void;
  /** What a PUT waits for that will be written here. */
  put?(request: PutSliceReq, now: WallMs, out: Out): Wait | undefined;
  /** The node has lost its disk, and goes on with copies (D10). */
  joined?(): void;
  /** A version, own or a peer's, becomes visible in this step. */
  written?(key: QualifiedKey, version: Version): void;
  readonly counters?: Readonly<Record<string, number>>;
}

/** What is kept of dependencies that name keys (`Dependency`). */
export interface NamedRules {
  /** What a session depends on, beside what it did, that was shown these. */
  saw(keys: readonly QualifiedKey[], versions: readonly (Version | null)[]): readonly Dependency[];
  /** What a session depends on, because it has written. */
  wrote(key: QualifiedKey, ts: Timestamp, region: RegionId): readonly Dependency[];
}

/** A key of a read-only transaction that needs a second round, and the versions of which it needs the freshest. */
export interface Demand {
  /** Among the keys of the transaction. */
  readonly position: number;
  /** Pairs of a region's position and a timestamp. */
  readonly wanted: Deps;
}

/** How much of a key's versions is looked at: its newest ones, found by timestamp, or any. */
export type Reach = 'keys' | 'chains';

/** A node's part of a protocol. */
export interface OperationRules {
  /** How many entries `seen` has, and a snapshot. */
  readonly entries: { readonly seen: number; readonly snapshot: number };
  /** `put`: what a PUT looks at of its key (`replaced`); undefined: nothing. */
  readonly reach: { readonly get: Reach; readonly put?: Reach; readonly rot: Reach };
  /** Whether these can be what a session has seen, where they have no fixed number; undefined: as many as `entries.seen`. */
  fits?(seen: Deps): boolean;
  /** Its highest timestamp: no client may name one in the future (T1). */
  newest(seen: Deps): Timestamp;
  /**
   * What a session has seen in another region (D9), as one of this region has seen it; undefined as long as this region does not have all of it.
   * Any replica here may be asked next: it must be told what this node knows.
   */
  arrive(seen: Deps, from: RegionId): Deps | undefined;

  /** What a PUT's timestamp lies above, beside what its replica has issued; a physical clock is waited for. */
  floor(seen: Deps): Timestamp;
  /** @param replaced the version that the key has here */
  stamp(seen: Deps, ts: Timestamp, replaced: () => Version | undefined): Stamp;
  /** What a session has seen that has written a version in a region. */
  wrote(seen: Deps, ts: Timestamp, region: RegionId, partition: PartitionId): Deps;

  /** What a GET's replica has to know of what its session has seen; undefined: all of it. */
  narrow?(seen: Deps, partition: PartitionId): Deps;

  /** Whether the replica lacks something of what a session says it has seen: a GET waits for it. */
  lacks(seen: Deps, replica: ReplicaView, now: WallMs): Wait | undefined;
  get(key: QualifiedKey, seen: Deps, replica: ReplicaView, now: WallMs): Found;

  /** The partition, of those read, that chooses a ROT's snapshot; undefined: the node that the client is connected to. */
  choosesAt(partitions: readonly PartitionId[]): PartitionId | undefined;
  /** The snapshot of a ROT. */
  choose(seen: Deps, now: WallMs): Deps | Wait;
  /** After this time a ROT is executed again with a smaller snapshot, where there is one. */
  readonly patience?: { readonly ms: number; readonly smaller: (seen: Deps, snapshot: Deps) => Deps | undefined };
  /** Whether the replica has the snapshot: that it has to wait, or why it never will have it; undefined when it has. */
  obstacle(snapshot: Deps, replica: ReplicaView, now: WallMs): Wait | Refusal | undefined;
  /** Up to where the replica promises, by answering, that no PUT here will ever be stamped; 0 where no such promise is needed. */
  closes(snapshot: Deps): Timestamp;
  /** @param rot its id, under protocols that remember who has read */
  read(key: QualifiedKey, snapshot: Deps, replica: ReplicaView, rot: TxId | undefined): Version | undefined;
  /** What a session has seen that was shown these versions of a snapshot. */
  saw(seen: Deps, snapshot: Deps, versions: readonly (Version | null)[], keys: readonly QualifiedKey[]): Deps;

  /** Whether a ROT with this snapshot has taken so long that what it was shown may not fit together: it begins anew. */
  expired?(snapshot: Deps): boolean;
  /**
   * What a ROT's answers lack to be a causal snapshot.
   *
   * @param absent what earlier tries have asked for, of replicas that do not have it
   */
  demands?(
    keys: readonly QualifiedKey[],
    versions: readonly (Version | null)[],
    absent: readonly Demand[],
  ): readonly Demand[];
  /** A replica that has answered in this snapshot begins every later incarnation at or above this timestamp. */
  outlives?(snapshot: Deps): Timestamp;
  /** Under protocols whose dependencies name keys. */
  readonly named?: NamedRules;
  /** Whether a client's, or a node's, words beside `seen` make sense (D12). */
  sensible?(request: OperationRequest | Slice): boolean;

  /** How updates of peers are let in; undefined: at once, as they come. */
  readonly admission?: AdmissionRules;
  /** What of the protocol lives in each replica. */
  part?(replica: ReplicaView): ReplicaPart;
}

/** A protocol of single PUT and GET with one-shot read-only transactions, replicated in full. */
export interface OperationProtocol {
  readonly name: string;
  /** False where it has no read-only transactions: they are refused with NOT_SUPPORTED_BY_PROTOCOL. */
  readonly rots?: false;
  /** How its clients remember what they have seen; by default the highest of each entry. */
  readonly session?: OperationSessionRules;
  /** Where its nodes' timestamps come from. */
  readonly Clock: new (
    start: Timestamp,
    ceiling: Timestamp,
    drift: DriftWatch,
  ) => NodeClock;
  /** What a node contributes to the times of its region, or of all regions; undefined: none are used. */
  readonly regional?: RegionalRule;
  rules(state: NodeState): OperationRules;
}

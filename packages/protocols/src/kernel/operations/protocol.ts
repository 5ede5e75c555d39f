/**
 * The differences between protocols of single operations: a session's dependencies, the stamp of a PUT, the versions
 * that a GET may show, the choice of a read-only transaction's snapshot, and the reasons to wait.
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

/** The dependencies of a PUT's version. */
export interface Stamp {
  /** Kept with the version here; absent if the protocol needs only the timestamp. */
  readonly deps?: Deps | undefined;
  /** The part that other regions receive. */
  readonly sent?: Deps | undefined;
}

/** The result of a GET, and what a session has seen after reading it. */
export interface Found {
  readonly version: Version | undefined;
  readonly seen: Deps;
}

/** The parts of a replica that its protocol uses. */
export interface ReplicaView {
  readonly partition: PartitionId;
  readonly replication: Replication;
  /** The partition's versions, including those on their way to the disk. */
  readonly versions: Versions;
  /** Its questions to other partitions of its region. */
  readonly asks: ReplicaAsks;
  /** The questions of others: whether their dependencies are here. */
  readonly checks: DependencyChecks;
}

/** Versions that a dependent one needs in its region: everything that `region` sourced of `partition` up to `ts`. */
export interface Need {
  readonly partition: PartitionId;
  readonly region: RegionId;
  readonly ts: Timestamp;
}

/** A received update of a peer that is not applied yet. */
export interface PeerUpdate {
  readonly source: RegionId;
  readonly ts: Timestamp;
  readonly tx: LoggedTx;
}

/** How updates of peers are admitted, under protocols that show a version only with its dependencies. */
export interface AdmissionRules {
  /** Its needs in this region: in the own partition, and in others, which are asked. */
  needs(update: PeerUpdate, replica: ReplicaView): readonly Need[];
  /**
   * The protocol's own preparation, begun when the update arrives, besides the dependency checks; `ready` ends it.
   * Several are under way at a time.
   */
  prepare?(update: PeerUpdate, replica: ReplicaView, ready: () => void, now: WallMs, out: Out): void;
  /** The update is dropped: it is lost with its source, or will be received again. */
  dropped?(update: PeerUpdate, replica: ReplicaView): void;
  /** How far `admitted` reads its keys; undefined: not at all. */
  readonly reads?: Reach;
  /** The update is applied in this step, after this call. */
  admitted?(update: PeerUpdate, replica: ReplicaView, now: WallMs, out: Out): void;
}

/** A protocol's part in each replica: its own messages, and its periodic work. */
export interface ReplicaPart {
  /** Takes a message; returns whether it was one of its own. */
  take?(message: OperationMessage, now: WallMs, from: Address, out: Out): boolean;
  /** The versions that such a message reads. */
  needs?(message: OperationMessage): ReadNeeds | undefined;
  /** In every round, before durable data leave for the peers. */
  round?(now: WallMs, out: Out): void;
  link?(node: NodeId, up: boolean, now: WallMs, out: Out): void;
  /** The wait of a PUT that would be written here. */
  put?(request: PutSliceReq, now: WallMs, out: Out): Wait | undefined;
  /** The node has lost its disk, and continues with copies (D10). */
  joined?(): void;
  /** A version, own or a peer's, becomes visible in this step. */
  written?(key: QualifiedKey, version: Version): void;
  readonly counters?: Readonly<Record<string, number>>;
}

/** How dependencies that name keys (`Dependency`) are recorded. */
export interface NamedRules {
  /** Dependencies that a session adds by reading these. */
  saw(keys: readonly QualifiedKey[], versions: readonly (Version | null)[]): readonly Dependency[];
  /** The dependencies of a session after its own write. */
  wrote(key: QualifiedKey, ts: Timestamp, region: RegionId): readonly Dependency[];
}

/** A key of a read-only transaction that needs a second round: the freshest of the wanted versions. */
export interface Demand {
  /** Among the keys of the transaction. */
  readonly position: number;
  /** Pairs of a region's position and a timestamp. */
  readonly wanted: Deps;
}

/** Which versions of a key are read: its newest ones, found by timestamp, or any. */
export type Reach = 'keys' | 'chains';

/** A node's part of a protocol. */
export interface OperationRules {
  /** How many entries `seen` has, and a snapshot. */
  readonly entries: { readonly seen: number; readonly snapshot: number };
  /** `put`: how far a PUT reads its key (`replaced`); undefined: not at all. */
  readonly reach: { readonly get: Reach; readonly put?: Reach; readonly rot: Reach };
  /** Whether these can be a session's entries, if their number is not fixed; undefined: as many as `entries.seen`. */
  fits?(seen: Deps): boolean;
  /** Its highest timestamp: no client may name one in the future (T1). */
  newest(seen: Deps): Timestamp;
  /**
   * What a session has seen in another region (D9), in the terms of this region; undefined as long as this region lacks
   * a part. The result holds all that this node knows, because the next request may go to any replica here.
   */
  arrive(seen: Deps, from: RegionId): Deps | undefined;

  /** A lower bound of a PUT's timestamp, besides those that its replica has issued; a physical clock is waited for. */
  floor(seen: Deps): Timestamp;
  /** @param replaced the version that the key has here */
  stamp(seen: Deps, ts: Timestamp, replaced: () => Version | undefined): Stamp;
  /** What a session has seen after writing a version in a region. */
  wrote(seen: Deps, ts: Timestamp, region: RegionId, partition: PartitionId): Deps;

  /** The part of a session's `seen` that a GET's replica needs; undefined: all of it. */
  narrow?(seen: Deps, partition: PartitionId): Deps;

  /** Whether the replica lacks a part of a session's `seen`: then a GET waits. */
  lacks(seen: Deps, replica: ReplicaView, now: WallMs): Wait | undefined;
  get(key: QualifiedKey, seen: Deps, replica: ReplicaView, now: WallMs): Found;

  /**
   * The partition, of those read, that chooses a ROT's snapshot; undefined: the node that the client is connected to.
   */
  choosesAt(partitions: readonly PartitionId[]): PartitionId | undefined;
  /** The snapshot of a ROT. */
  choose(seen: Deps, now: WallMs): Deps | Wait;
  /** After this time a ROT is executed again with a smaller snapshot, if there is one. */
  readonly patience?: { readonly ms: number; readonly smaller: (seen: Deps, snapshot: Deps) => Deps | undefined };
  /** Whether the replica has the snapshot: undefined when it has; otherwise a wait, or why it never will have it. */
  obstacle(snapshot: Deps, replica: ReplicaView, now: WallMs): Wait | Refusal | undefined;
  /** The bound up to which an answer promises that no later PUT here is stamped; 0 if no such promise is needed. */
  closes(snapshot: Deps): Timestamp;
  /** @param rot its id, under protocols that remember readers */
  read(key: QualifiedKey, snapshot: Deps, replica: ReplicaView, rot: TxId | undefined): Version | undefined;
  /** What a session has seen after reading these versions of a snapshot. */
  saw(seen: Deps, snapshot: Deps, versions: readonly (Version | null)[], keys: readonly QualifiedKey[]): Deps;

  /** Whether a ROT with this snapshot has taken so long that its answers may not fit together: it begins anew. */
  expired?(snapshot: Deps): boolean;
  /**
   * The versions that a ROT's answers lack to be a causal snapshot.
   *
   * @param absent demands of earlier tries that their replicas could not serve
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
  /** Whether the fields of a request beside `seen` make sense (D12), from a client or a node. */
  sensible?(request: OperationRequest | Slice): boolean;

  /** How updates of peers are admitted; undefined: at once, on arrival. */
  readonly admission?: AdmissionRules;
  /** The protocol's part in each replica. */
  part?(replica: ReplicaView): ReplicaPart;
}

/** A protocol of single PUT and GET with one-shot read-only transactions, replicated in full. */
export interface OperationProtocol {
  readonly name: string;
  /** False without read-only transactions: they are refused with NOT_SUPPORTED_BY_PROTOCOL. */
  readonly rots?: false;
  /** How its clients merge what they have seen; by default the highest of each entry. */
  readonly session?: OperationSessionRules;
  /** The source of its nodes' timestamps. */
  readonly Clock: new (
    start: Timestamp,
    ceiling: Timestamp,
    drift: DriftWatch,
  ) => NodeClock;
  /** A node's contribution to the times of its region, or of all regions; undefined: none are used. */
  readonly regional?: RegionalRule;
  rules(state: NodeState): OperationRules;
}

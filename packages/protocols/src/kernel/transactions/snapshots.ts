/**
 * The differences between protocols of interactive transactions: their snapshots, and the versions that belong to them.
 */
import type {
  Deps,
  ErrorCode,
  ListPage,
  ListRange,
  PartitionId,
  QualifiedKey,
  ReadNeeds,
  RegionId,
  Timestamp,
  Topology,
  Version,
  WallMs,
} from '@isochron/core';
import type { DriftWatch } from '../drift-watch.js';
import type { NodeClock } from '../node-clock.js';
import type { NodeState } from '../node-state.js';
import type { Replication } from '../replication/replication.js';
import type { Wait } from '../waiting.js';
import type { CommittedQueue } from './committed-queue.js';
import type { PreparedQueue } from './prepared-queue.js';

/**
 * The snapshot of a transaction, or of what a session has seen: a timestamp, and under some protocols further entries.
 */
export interface Snapshot {
  readonly ts: Timestamp;
  readonly deps?: Deps | undefined;
}

/** A commit before it has a timestamp. */
export interface CommitContext {
  /** The region whose cohorts commit it. */
  readonly home: RegionId;
  /** Commit timestamp of the session's last write. */
  readonly hwt: Timestamp;
}

/** A coordinator's part. */
export interface SnapshotRules {
  /** The snapshot of a transaction whose session has seen `seen`; undefined while this node has not reached it. */
  assign(seen: Snapshot, now: WallMs): Snapshot | undefined;
  /**
   * The same for a snapshot that the request names.
   * @param seen the part of it that the request's session has seen: of the rest nothing shows that it is a snapshot
   * @throws IsochronError SNAPSHOT_TOO_OLD
   */
  confirm(at: Snapshot, now: WallMs, seen: Timestamp): Snapshot | undefined;
  /** A snapshot that another node uses came with a message. */
  observeSnapshot(snapshot: Snapshot): void;
  /** Its lowest entry: nothing above it may be collected while it is in use (P9). */
  oldest(snapshot: Snapshot): Timestamp;
  /** Its highest entry: commits of its transaction lie above (P6), and no client may name one in the future (T1). */
  newest(snapshot: Snapshot): Timestamp;
  /** The dependencies of versions written by a transaction with this snapshot, beside their timestamp. */
  depsOf(snapshot: Snapshot, commit: CommitContext): Deps | undefined;
  /** The same, once their timestamp is known, and the region whose cohorts commit them. */
  stamp(deps: Deps | undefined, ct: Timestamp, source: RegionId): Deps | undefined;
  /** The regions whose replicas can serve reads of a partition, the preferred one first. */
  sources(partition: PartitionId): readonly RegionId[];
  /** Whether every cohort of a commit has to be in its home, because versions name the region that they depend on. */
  readonly cohortsAtHome?: boolean;
  /** Throws when the state is impossible. */
  invariants(): void;
}

/** The parts of a replica that its protocol uses. */
export interface ReplicaView {
  readonly partition: PartitionId;
  readonly replication: Replication;
  readonly prepared: PreparedQueue;
  readonly committed: CommittedQueue;
}

/** Why a replica does not answer. */
export interface Refusal {
  readonly code: ErrorCode;
  readonly detail: string;
}

/** A replica's part. */
export interface ReadRules {
  /**
   * Whether the replica has the snapshot: undefined when it has, and then the read is answered at once; otherwise a
   * wait, or why it never will have it.
   */
  obstacle(snapshot: Snapshot, now: WallMs): Wait | Refusal | undefined;
  read(key: QualifiedKey, snapshot: Snapshot): Version | undefined;
  /** The newest version that the replica has applied, in any snapshot. */
  newest(key: QualifiedKey): Version | undefined;
  list(range: ListRange, snapshot: Snapshot): ListPage;
  /** The data that the driver must bring to memory for `read` and `newest`, and for `list`. */
  needs(keys: readonly QualifiedKey[]): ReadNeeds;
  needsOfList(range: ListRange, snapshot: Snapshot): ReadNeeds;
}

/** A protocol of interactive transactions. */
export interface TransactionProtocol {
  readonly name: string;
  /**
   * Readers see only versions up to the stable time: the remains of a transaction above it can be taken back after the
   * loss of a disk (D10).
   */
  readonly stableSnapshots?: true;
  /** Why it cannot run on the cluster file's placement, or undefined. The error's code is `CONFIG_INVALID`. */
  unsupported?(topology: Topology): string | undefined;
  /** How many entries its snapshots have beside their timestamp; none by default. */
  entries?(topology: Topology): number;
  /** The source of its nodes' timestamps; a hybrid clock by default. */
  readonly Clock?: new (
    start: Timestamp,
    ceiling: Timestamp,
    drift: DriftWatch,
  ) => NodeClock;
  /**
   * A node's contribution to its region's times (`RegionalTimes`), and its number of entries; undefined: none are used.
   */
  readonly regional?: {
    size(topology: Topology): number;
    own(replicas: readonly Replication[], state: Pick<NodeState, 'region' | 'topology'>): Deps;
  };
  rules(state: NodeState): SnapshotRules;
  reading(replica: ReplicaView, state: NodeState): ReadRules;
}

/** The refusal of every replica for a snapshot below its floor (P9). */
export const TOO_OLD: Refusal = {
  code: 'SNAPSHOT_TOO_OLD',
  detail: 'Versions of this snapshot were garbage collected; start a new transaction.',
};

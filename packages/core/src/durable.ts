import type { Deps, NodeId, PartitionId, QualifiedKey, RegionId, StoredVersion, Timestamp, TxId } from './ids.js';
import type { KeyWrite, LoggedTx, OutcomeRecord } from './versions.js';

/** A prepared transaction on one cohort: all data needed to finish it (D2, D4, D5, P8). */
export interface PreparedRecord {
  /** Proposed timestamp. */
  readonly pt: Timestamp;
  /** Region that fixes the cohort list, and the number of attempts before it. */
  readonly home: RegionId;
  readonly attempt: number;
  /** The session's `ust` when it first sent the commit. */
  readonly sentAfter: Timestamp;
  /** Epoch of the topology that the cohort list was computed under. */
  readonly epoch: number;
  /** All partitions that the transaction writes, ascending; with `home` and `epoch` they name the cohorts. */
  readonly cohorts: readonly PartitionId[];
  /** Digest of `writes` and the principal. */
  readonly digest: string;
  readonly coordinator: NodeId;
  readonly writes: readonly KeyWrite[];
  /** The dependencies of the transaction's versions. */
  readonly deps?: Deps | undefined;
  /** As in the log ({@link LoggedTx}). */
  readonly repeatable?: boolean | undefined;
  /** Regions that the attempt avoids, sorted; with `home` they fix its cohorts. Absent if it avoids none. */
  readonly avoid?: readonly RegionId[] | undefined;
}

/**
 * The records that a step makes durable. All records of one step reach the disk in one batch.
 *
 * - `version`: insert into the key's chain.
 * - `remove`: take the version with this `ts` and `txId`, whatever its region, out of the key's chain (D10); no effect
 *   when it is not there. Reads and listings miss it at once, pages of a copy once the removal is durable.
 *   Versions that `collect` dropped in its favour do not come back.
 * - `prepared`: store, or with `record: null` remove, a prepared transaction.
 * - `outcome`: the outcome of a transaction.
 * - `log`: a committed transaction: an own one, or one of another region (`source`). It replaces an entry of the same
 *   `ct` and transaction. `confirmLog`: every peer has the own ones at or below `upTo`, and `VersionReader.log` gives
 *   them no more; `changes` does. `truncateLog` drops all at or below `upTo`; with `bytes` also the oldest ones at or
 *   below the meta value `ust`, while they take more than that on disk.
 * - `collect`: raise the partition's `gcFloor` (meta `gcFloor/<partition>`, durable in or before the batch that
 *   deletes) and drop, per key, everything older than its newest version at or below the floor; a tombstone that is
 *   then the only version left at or below the floor goes too (P9).
 * - `forget`: raise `forgottenUpTo/<partition>` and drop outcomes with a lower `ts` (D5).
 * - `meta`: a small named value (`vv/3`, `ceiling`, `ust`).
 */
export type DurableRecord =
  | {
      readonly kind: 'version';
      readonly partition: PartitionId;
      readonly key: QualifiedKey;
      readonly version: StoredVersion;
    }
  | {
      readonly kind: 'remove';
      readonly partition: PartitionId;
      readonly key: QualifiedKey;
      readonly ts: Timestamp;
      readonly txId: TxId;
    }
  | {
      readonly kind: 'prepared';
      readonly partition: PartitionId;
      readonly txId: TxId;
      readonly record: PreparedRecord | null;
    }
  | { readonly kind: 'outcome'; readonly partition: PartitionId; readonly txId: TxId; readonly record: OutcomeRecord }
  | {
      readonly kind: 'log';
      readonly partition: PartitionId;
      readonly ct: Timestamp;
      readonly tx: LoggedTx;
      readonly source?: RegionId | undefined;
    }
  | { readonly kind: 'confirmLog'; readonly partition: PartitionId; readonly upTo: Timestamp }
  | {
      readonly kind: 'truncateLog';
      readonly partition: PartitionId;
      readonly upTo: Timestamp;
      readonly bytes?: number | undefined;
    }
  | { readonly kind: 'collect'; readonly partition: PartitionId; readonly floor: Timestamp }
  | { readonly kind: 'forget'; readonly partition: PartitionId; readonly upTo: Timestamp }
  | { readonly kind: 'meta'; readonly name: string; readonly value: MetaValue };

/** A small durable value: a timestamp, or timestamps by name. */
export type MetaValue = Timestamp | { readonly [name: string]: Timestamp };

/** The data of a store after a restart (D7). The log is read through `VersionReader.log`. */
export interface RecoveredState {
  readonly meta: ReadonlyMap<string, MetaValue>;
  readonly prepared: readonly {
    readonly partition: PartitionId;
    readonly txId: TxId;
    readonly record: PreparedRecord;
  }[];
  /** Highest own commit timestamp in the log of each partition whose log has own entries. */
  readonly logEnds: ReadonlyMap<PartitionId, Timestamp>;
}

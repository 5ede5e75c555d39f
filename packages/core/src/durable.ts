import type { Deps, NodeId, PartitionId, QualifiedKey, RegionId, StoredVersion, Timestamp, TxId } from './ids.js';
import type { Need } from './needs.js';
import type { Change, KeyWrite, LoggedTx, OutcomeRecord } from './versions.js';

/** A prepared transaction on one cohort: all data needed to finish it (D2, D4, D5, P8). */
export interface PreparedRecord {
  /** Proposed timestamp. */
  readonly pt: Timestamp;
  /** Region that fixes the cohort list, and the number of attempts before it. */
  readonly home: RegionId;
  readonly attempt: number;
  /** The session's `ust` when it first sent the commit. */
  readonly sentAfter: Timestamp;
  /** Version of the map that the cohorts follow from. */
  readonly map: number;
  /** All partitions that the transaction writes, ascending; with `home` and `map` they name the cohorts. */
  readonly cohorts: readonly PartitionId[];
  /** Digest of `writes` and the principal. */
  readonly digest: string;
  readonly coordinator: NodeId;
  readonly writes: readonly KeyWrite[];
  /** The dependencies of the transaction's versions. */
  readonly deps?: Deps | undefined;
  /** Whether each replica keeps the outcome, as the log states ({@link LoggedTx}). */
  readonly repeatable?: boolean | undefined;
  readonly needs?: readonly Need[] | undefined;
  /** Regions that the attempt avoids, sorted; with `home` they fix its cohorts. Absent if it avoids none. */
  readonly avoid?: readonly RegionId[] | undefined;
  /** The commit timestamp, if the commit is decided (D10): no crash and no other record takes the decision back. */
  readonly ct?: Timestamp | undefined;
  /** The version of the map that has deferred the slice (M4), and the first timestamp of the slice (M11). */
  readonly deferred?: { readonly map: number; readonly first: Timestamp } | undefined;
  /** The first timestamp of a transaction that is committed again (M8), as its sender knows it. */
  readonly first?: Timestamp | undefined;
}

/** A committed transaction at one replica. */
export interface AppliedRecord {
  readonly kind: 'applied';
  readonly partition: PartitionId;
  readonly ct: Timestamp;
  readonly tx: LoggedTx;
  /** The region that committed the transaction; each of its versions carries the region. */
  readonly region: RegionId;
  /** The place in the partition's log: among own transactions, among transactions of other regions, nowhere. */
  readonly log: 'own' | 'received' | 'none';
  /** The outcome for retries; absent where the replica keeps no outcome of the transaction. */
  readonly outcome?: Pick<OutcomeRecord, 'attempt' | 'digest'> | undefined;
  /** The dependencies that the versions have here, if other regions receive others (`tx.deps`). */
  readonly localDeps?: Deps | undefined;
  /**
   * Whether the transaction is prepared on the partition, with the same writes, attempt and digest: the record of the
   * prepare goes.
   */
  readonly prepared?: boolean | undefined;
}

/**
 * The horizons of a partition: timestamps that only rise, and what they drop. Each is kept as a meta value, for example
 * `gcFloor/3`, durable in or before the batch that deletes.
 */
export interface Horizons {
  /**
   * Reads below are refused. Per key, everything older than its newest version at or below is dropped; a tombstone that
   * is then the only version left at or below goes too (P9).
   */
  gcFloor: Timestamp;
  /** Outcomes with a lower `ts` are dropped (D5). */
  forgottenUpTo: Timestamp;
  /** Every peer has the own log entries at or below: `VersionReader.log` gives them no more, `changes` does. */
  logConfirmedUpTo: Timestamp;
  /** Log entries at or below are dropped. */
  logTruncatedUpTo: Timestamp;
}

/** The name of a horizon. */
export type Horizon = keyof Horizons;

/** All horizons, in the order of their numbers in records of the durable log. */
export const HORIZONS: readonly Horizon[] = ['gcFloor', 'forgottenUpTo', 'logConfirmedUpTo', 'logTruncatedUpTo'];

/**
 * The records that a step makes durable. All records of one step reach the disk in one batch.
 *
 * - `applied`: a committed transaction at a replica: its versions, its entry in the log, its outcome, and the end of
 *   its prepare ({@link factsOf}). The log entry replaces an entry of the same `ct` and transaction.
 * - `version`: insert into the key's chain.
 * - `remove`: take the version with this `ts` and `txId`, whatever its region, out of the key's chain (D10); no effect
 *   when it is not there. Reads and listings miss it at once, pages of a copy once the removal is durable.
 *   Versions that a rise of `gcFloor` dropped in its favour do not come back.
 * - `prepared`: store, or with `record: null` remove, a prepared transaction.
 * - `outcome`: the outcome of a transaction that has aborted, or whose commit was taken back.
 * - `horizon`: raise a horizon of a partition to `upTo`, with its effect ({@link Horizons}). With `bytes`,
 *   `logTruncatedUpTo` also drops the oldest log entries at or below the meta value `ust`, while they take more than
 *   `bytes` on disk.
 * - `meta`: a small named value (`vv/3`, `ceiling`, `ust`).
 */
export type DurableRecord = AppliedRecord | SimpleRecord;

/** A record that states one fact. */
type SimpleRecord =
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
      readonly kind: 'horizon';
      readonly partition: PartitionId;
      readonly horizon: Horizon;
      readonly upTo: Timestamp;
      readonly bytes?: number | undefined;
    }
  | { readonly kind: 'meta'; readonly name: string; readonly value: MetaValue };

/** An entry of a partition's log: an own transaction, or one of another region (`source`). */
export interface LogFact extends Change {
  readonly kind: 'log';
  readonly partition: PartitionId;
}

/** What a store holds after a record, one change each. */
export type DurableFact = SimpleRecord | LogFact;

/** The facts that records state, in the order of the records. Every store and check reads `applied` through this. */
export function factsOf(records: readonly DurableRecord[]): DurableFact[] {
  const facts: DurableFact[] = [];
  for (const record of records) {
    if (record.kind === 'applied') addFacts(record, facts);
    else facts.push(record);
  }
  return facts;
}

function addFacts(record: AppliedRecord, facts: DurableFact[]): void {
  const { partition, ct, tx, region, log, outcome, prepared } = record;
  const { txId } = tx;
  for (const { key, version } of versionsIn(record)) facts.push({ kind: 'version', partition, key, version });
  if (log !== 'none') facts.push({ kind: 'log', partition, ct, tx, source: log === 'own' ? undefined : region });
  if (outcome !== undefined)
    facts.push({ kind: 'outcome', partition, txId, record: { status: 'committed', ts: ct, ...outcome } });
  if (prepared) facts.push({ kind: 'prepared', partition, txId, record: null });
}

/** The versions that an applied transaction writes. */
export function versionsIn({ ct: ts, tx, region, localDeps }: Omit<AppliedRecord, 'kind' | 'partition'>): {
  readonly key: QualifiedKey;
  readonly version: StoredVersion;
}[] {
  const { txId, writes, depends, siblings, at } = tx;
  const deps = localDeps ?? tx.deps;
  return writes.map(({ key, value }) => ({ key, version: { ts, txId, region, value, deps, depends, siblings, at } }));
}

/** A small durable value: a timestamp, timestamps by name, or a text. */
export type MetaValue = Timestamp | string | { readonly [name: string]: Timestamp };

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

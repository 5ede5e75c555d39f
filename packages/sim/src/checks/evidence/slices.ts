/** Transactions as the records on disks show them. */
import type {
  Deps,
  DurableFact,
  KeyWrite,
  LoggedTx,
  Need,
  NodeId,
  PartitionId,
  PreparedRecord,
  QualifiedKey,
  RegionId,
  StoredVersion,
  Timestamp,
  TxId,
} from '@isochron/core';
import type { MemoryState } from '@isochron/storage';

/** The writes of a transaction on one partition. */
export interface Slice {
  readonly region: RegionId;
  readonly writes: readonly KeyWrite[];
  /** Dependencies of all its versions there, in the region that made them. */
  readonly deps: Deps | undefined;
  /** The same, as they travel. */
  readonly sent: Deps | undefined;
  /** As in the log. */
  readonly needs: readonly Need[];
  /** As in the log: the first timestamp, of a slice that is late (F9). */
  readonly at: Timestamp | undefined;
}

/** The state of a transaction. */
export interface Known {
  /** One for each map, too: a request under an Idempotency-Key begins anew in each. */
  readonly attempts: PreparedAttempt[];
  committed?: CommittedTx | undefined;
  damaged: boolean;
  /** The commit timestamps at which maps have deferred it. */
  readonly deferredAt: Set<Timestamp>;
  /** Partitions whose cohort has lost its whole disk since. */
  readonly lostAt: Set<PartitionId>;
  /** Versions in replicas that are durable: `region|key`. */
  readonly durable: Set<string>;
  /** The same, including versions that a disk has lost since: messages about them may be in flight for long. */
  readonly everDurable: Set<string>;
  /** Partitions whose slice only a lost disk had, with the node of that disk. */
  readonly lost: Map<PartitionId, NodeId>;
  /** Partitions among them that an older disk lacked until the stable time had passed them. */
  readonly unnoticed: Set<PartitionId>;
  missing: number;
}

export const newKnown = (): Known => ({
  attempts: [],
  damaged: false,
  deferredAt: new Set(),
  lostAt: new Set(),
  unnoticed: new Set(),
  durable: new Set(),
  everDurable: new Set(),
  lost: new Map(),
  missing: 0,
});

/** A slice that an older disk lacks. */
export interface Lacking {
  readonly known: Known;
  readonly partition: PartitionId;
  readonly source: RegionId;
  readonly key: QualifiedKey;
}

/** One attempt of a transaction, as prepare records show it. */
export interface PreparedAttempt {
  readonly attempt: number;
  /** Version of the map that it was made under. */
  readonly map: number;
  readonly cohorts: readonly PartitionId[];
  readonly prepared: Map<PartitionId, Prepared>;
}

/** A transaction that is committed. */
export interface CommittedTx {
  readonly txId: TxId;
  readonly ct: Timestamp;
  readonly attempt: number;
  /** When it became committed. */
  readonly atMs: number;
  readonly slices: ReadonlyMap<PartitionId, Slice>;
  /** Version of the map that its attempt was made under. */
  readonly map: number;
}

/** Whether a transaction has writes that are judged by an earlier time (F9). */
export const isLate = ({ slices }: Pick<CommittedTx, 'slices'>): boolean =>
  [...slices.values()].some(({ at }) => at !== undefined);

/** The content of an outcome that comes without its writes. */
export const NOTHING: Pick<LoggedTx, 'writes' | 'deps' | 'siblings' | 'needs' | 'at'> = { writes: [], deps: undefined };
/** A prepared slice, which is the same everywhere. */
export type Prepared = Omit<Slice, 'sent' | 'at'> & { readonly pt: Timestamp; readonly first: Timestamp | undefined };

/** A transaction's log entry in a batch. */
export function loggedIn(records: readonly DurableFact[], partition: PartitionId, txId: TxId): LoggedTx | undefined {
  for (const record of records)
    if (record.kind === 'log' && record.partition === partition && record.tx.txId === txId) return record.tx;
  return undefined;
}

/** The dependencies of the version in a batch with a transaction's outcome. */
export function writtenWith(records: readonly DurableFact[], partition: PartitionId, txId: TxId): Deps | undefined {
  for (const record of records)
    if (record.kind === 'version' && record.partition === partition && record.version.txId === txId)
      return record.version.deps;
  return undefined;
}

/** The reports that a node has received since its start. */
export interface Reports {
  /** Whether the node may decide transactions: its disk is not being verified. */
  mayDecide(node: NodeId): boolean;
  /** Whether a region's replica of the partition has reported to the node, which waits for the rest of its stream. */
  hasReported(node: NodeId, partition: PartitionId, region: RegionId): boolean;
}

export const ALWAYS: Reports = { mayDecide: () => true, hasReported: () => true };

/**
 * Unstable versions that replicas show: none, their own region's, or all. The last is for protocols whose snapshots
 * name no versions of other regions, so that no read waits for them.
 */
export type Unstable = 'nothing' | 'own' | 'all';

/** Receives commits at once. */
export interface LedgerListener {
  /** A transaction has just become committed. */
  onCommitted(tx: CommittedTx): void;
}

export type LeftPartition = NonNullable<ReturnType<MemoryState['partitions']['get']>>;

export const isUndeferred = (record: PreparedRecord | null): record is PreparedRecord =>
  record !== null && record.deferred === undefined;

/** A copy (D10) brings one region's dependencies to another, and returns versions with the dependencies that travel. */
export const dependsSo = ({ deps }: StoredVersion, slice: Slice): boolean =>
  `${deps}` === `${slice.sent}` || `${deps}` === `${slice.deps}`;

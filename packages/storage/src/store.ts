import type { DurableRecord, PartitionId, ReadNeeds, RecoveredState, VersionReader } from '@isochron/core';

/**
 * The versions, prepared transactions, outcomes, replication log and meta values of one node.
 *
 * `list`, `log`, `changes` and `copy` use memory only: call them when `resident` returns true, or right after
 * `prefetch` with the same arguments. `read` and `outcome` always return a result, from disk when they must, or throw
 * `CorruptRecord`.
 */
export interface VersionStore extends VersionReader {
  /**
   * Makes the records durable: all or none, in the order of the calls. Versions, outcomes and log entries are visible
   * to reads at once; resolves when they are on disk. After a failure every later commit is refused with it.
   * @throws IsochronError `STORAGE_FAILED`; `STORAGE_FULL` when there is no room; of class `CorruptRecord` when a
   * chain that the records belong to is damaged
   */
  commit(records: readonly DurableRecord[]): Promise<void>;
  /** Whether everything in `needs` is in memory. */
  resident(needs: ReadNeeds): boolean;
  /**
   * Brings the data to memory. A page of a listing or of the log stays until it was used (and a little longer).
   * @throws IsochronError `STORAGE_FAILED`; of class `CorruptRecord` when a part of the data is damaged
   */
  prefetch(needs: ReadNeeds): Promise<void>;
  /**
   * Meta values and prepared transactions.
   * @throws CorruptRecord for the first one that is damaged; nothing is left out
   */
  recover(): Promise<RecoveredState>;
  /** Counts since the store was opened, and its present size. Cheap. */
  stats(): VersionStoreStats;
  /**
   * Waits for the commits in flight, then releases the disk, so that the next start is quick. Later commits are
   * refused.
   */
  close(): Promise<void>;
}

/** See {@link VersionStore.stats}. */
export interface VersionStoreStats {
  /** Per partition: keys that are stored (tombstones too) and versions of all of them. */
  readonly partitions: ReadonlyMap<PartitionId, { readonly keys: number; readonly versions: number }>;
  /** Updates that reads and the collector have folded. */
  readonly folded: number;
  /** Keys in memory; `bytes` is the memory of settled keys, and an estimate of the heap that the others take. */
  readonly cache: {
    readonly bytes: number;
    readonly limitBytes: number;
    readonly keys: number;
    /** Reads and prefetched keys that were in memory, and those that were not. */
    readonly hits: number;
    readonly misses: number;
  };
  readonly commits: {
    readonly batches: number;
    readonly records: number;
    /** Batches asked for and not yet durable. */
    readonly waiting: number;
    /** How long the disk took for the latest batch, and for the slowest. */
    readonly lastSyncMs: number;
    readonly slowestSyncMs: number;
  };
}

import { join } from 'node:path';
import type {
  Belongs,
  ChangesPage,
  CopyPage,
  DurableRecord,
  Horizon,
  ListPage,
  ListRange,
  LogPage,
  OutcomeRecord,
  PartitionId,
  QualifiedKey,
  ReadNeeds,
  RecoveredState,
  Timestamp,
  TxId,
  Version,
} from '@isochron/core';
import { type BlockFiles, openBlockFiles } from './changelog/block-files.js';
import { Changes } from './checkpoint/changes.js';
import { type CheckpointPolicy, Checkpoints, coveredBy } from './checkpoint/checkpoints.js';
import { Collector } from './collector/collector.js';
import { JobWriter } from './commit-job.js';
import { FirstFailure, storageFailed } from './failure.js';
import { type Disk, openDisk, scan } from './level/disk.js';
import { allOf, metaKey, partitionIn, restOf } from './level/disk-keys.js';
import { logEnds, Partitions, readMeta } from './level/partitions.js';
import { openAs, PREPARED } from './level/records.js';
import { Tails } from './level/tails.js';
import { ChainCache } from './memory/chain-cache.js';
import { ChainLoader } from './memory/chain-loader.js';
import { type ChainNeeds, ChainReads } from './memory/chain-reads.js';
import { ChainWriter } from './memory/chain-writer.js';
import { Folder } from './memory/folds.js';
import { Outcomes } from './memory/outcomes.js';
import type { Partition } from './memory/partition.js';
import { Staging } from './memory/staging.js';
import { Pages } from './pages/pages.js';
import { Pipeline } from './pipeline.js';
import type { VersionStore, VersionStoreStats } from './store.js';
import type { DurableLog, Position } from './wal/durable-log.js';
import { LogRecords } from './wal/log-records.js';
import { openLogIn } from './wal/segment-log.js';

/**
 * LevelDB sees a key that is written often once a checkpoint, and log entries and prepares that end before it never:
 * so checkpoints are far apart. A start after a crash reads the log since the last checkpoint, and takes a few seconds
 * at most. What waits for a checkpoint takes several times its bytes in the log: with little memory the log is shorter,
 * and chains take a quarter of what chains may.
 */
const checkpointPolicy = ({ limitBytes, chainLimitBytes }: ChainCache): CheckpointPolicy => ({
  bytes: Math.min(8 * 1024 * 1024, Math.max(1024 * 1024, limitBytes / 8)),
  ms: 60_000,
  chainBytes: chainLimitBytes / 4,
});
/** The log frees whole segments, and so do its blocks. */
const SEGMENT_BYTES = 4 * 1024 * 1024;

/** How to open a store on LevelDB. */
export interface LevelStoreOptions {
  /** Folder of the database; created when it is missing. */
  readonly location: string;
  /** `synced`: a commit resolves after fsync. `memory`: after the operating system has the data. */
  readonly durability: 'synced' | 'memory';
  /** Limit of the keys in memory. Chains that wait for a checkpoint may exceed it. */
  readonly cacheBytes: number;
  /** LevelDB's own cache of uncompressed blocks. 8 MiB unless given. */
  readonly blockCacheBytes?: number | undefined;
  /**
   * LevelDB's memtable; two may be in memory. 16 MiB unless given: a smaller one is merged
   * into the data more often, each time with all of them where keys are random.
   */
  readonly writeBufferBytes?: number | undefined;
  /** Per partition, newest log entries in memory. 1 MiB unless given. */
  readonly logTailBytes?: number | undefined;
  /**
   * When the durable log is written to LevelDB, which bounds the log that a start after a crash reads. See
   * `checkpointPolicy`.
   */
  readonly checkpoint?: Partial<CheckpointPolicy> | undefined;
  /** Size of a segment of the durable log, and of a file of blocks. 4 MiB unless given. */
  readonly segmentBytes?: number | undefined;
}

/**
 * Opens the store in a folder, or creates it.
 * @throws IsochronError `STORAGE_FAILED`, with advice, when the folder cannot be used; of class `CorruptRecord` when a
 * horizon, the counters or the end of a log are damaged, or LevelDB reports its own files as damaged
 */
export async function openLevelStore(options: LevelStoreOptions): Promise<VersionStore> {
  const { location, blockCacheBytes = 8 * 1024 * 1024, writeBufferBytes = 16 * 1024 * 1024 } = options;
  const disk = await openDisk(location, blockCacheBytes, writeBufferBytes);
  return await openStoreOn(disk, () => openLog(options), options);
}

/**
 * As `openLevelStore`, on an open database, with a log that is opened once the database is verified. Closes both with
 * the store, and when it cannot be opened.
 */
export async function openStoreOn(
  disk: Disk,
  open: () => Promise<DurableLog>,
  options: LevelStoreOptions,
): Promise<VersionStore> {
  let log: DurableLog | undefined;
  let files: BlockFiles | undefined;
  try {
    const partitions = new Partitions(options.logTailBytes ?? 1024 * 1024);
    await partitions.load(disk);
    log = await open();
    const covered = await coveredBy(disk, log);
    files = await openBlocks(options, partitions);
    const store = new LevelStore({ disk, log, files }, covered, partitions, options);
    await store.replay();
    return store;
  } catch (error) {
    await log?.close();
    await files?.close();
    await disk.close();
    throw storageFailed(`Cannot read the data folder ${options.location}`, error);
  }
}

/** The durable log is in a folder of its own inside that of LevelDB, which is locked while it is open. */
const openLog = ({ location, durability, segmentBytes = SEGMENT_BYTES }: LevelStoreOptions): Promise<DurableLog> =>
  openLogIn(join(location, 'log'), { segmentBytes, sync: durability === 'synced' });

const openBlocks = (
  { location, durability, segmentBytes = SEGMENT_BYTES }: LevelStoreOptions,
  partitions: Partitions,
) => openBlockFiles(location, partitions.blockPlaces, { fileBytes: segmentBytes, sync: durability === 'synced' });

/** What a store keeps on disk. */
interface Media {
  readonly disk: Disk;
  readonly log: DurableLog;
  readonly files: BlockFiles;
}

const isOfChains = (needs: ReadNeeds): needs is ChainNeeds => needs.kind === 'keys' || needs.kind === 'chains';

class LevelStore implements VersionStore {
  readonly #disk: Disk;
  readonly #log: DurableLog;
  readonly #files: BlockFiles;
  readonly #covered: Position;
  readonly #partitions: Partitions;
  readonly #sync: boolean;
  readonly #cache: ChainCache;
  readonly #changes: Changes;
  readonly #packing: LogRecords;
  readonly #collector: Collector;
  readonly #checkpoints: Checkpoints;
  readonly #pipeline: Pipeline;
  readonly #chains: ChainReads;
  readonly #pages: Pages;
  readonly #outcomes: Outcomes;
  readonly #folder = new Folder();
  readonly #failure = new FirstFailure();
  #closed: Promise<void> | undefined;

  constructor({ disk, log, files }: Media, covered: Position, partitions: Partitions, options: LevelStoreOptions) {
    this.#disk = disk;
    this.#log = log;
    this.#files = files;
    this.#covered = covered;
    this.#partitions = partitions;
    this.#sync = options.durability === 'synced';
    this.#packing = new LogRecords();
    const failure = this.#failure;
    const cache = new ChainCache(options.cacheBytes);
    const changes = new Changes(cache, files);
    const tails = new Tails(disk, changes);
    const loader = new ChainLoader(disk, cache, tails);
    const writer = new ChainWriter(tails, cache, changes, this.#folder);
    const outcomes = new Outcomes(disk, partitions, changes);
    const collector = new Collector(disk, loader, writer, changes);
    const policy = { ...checkpointPolicy(cache), ...options.checkpoint };
    const checkpoints = new Checkpoints(
      { disk, log, files, partitions, changes, failure },
      policy,
      this.#sync,
      covered,
    );
    const pipeline = new Pipeline({
      log,
      packing: this.#packing,
      staging: new Staging(partitions, loader, cache, outcomes.recent),
      loader,
      writer: new JobWriter(partitions, writer, changes, (partition, horizon) => this.#raised(partition, horizon)),
      checkpoints,
      collector,
      failure,
    });
    const chains = new ChainReads(partitions, cache, loader, tails, this.#folder);
    this.#cache = cache;
    this.#changes = changes;
    this.#outcomes = outcomes;
    this.#collector = collector;
    this.#checkpoints = checkpoints;
    this.#pipeline = pipeline;
    this.#chains = chains;
    this.#pages = new Pages({ files, tails, partitions, changes, checkpoints, pipeline, chains });
  }

  /** Replays the records that the log holds and LevelDB does not. After a failure nothing is written any more. */
  async replay(): Promise<void> {
    try {
      await this.#replay();
    } catch (error) {
      await this.#checkpoints.stop();
      throw error;
    }
    this.#checkpoints.schedule();
  }

  async #replay(): Promise<void> {
    await scan(this.#disk, allOf('p'), (key, bytes) => {
      this.#packing.prepared(partitionIn(key), restOf(key), openAs(PREPARED, bytes, key));
      this.#changes.preparedOnDisk(key);
      return true;
    });
    for await (const slice of this.#log.read(this.#covered)) await this.#pipeline.replay(slice);
    this.#pipeline.replayed();
  }

  read(partition: PartitionId, key: QualifiedKey, snapshot: Timestamp): Version | undefined {
    return this.#chains.read(partition, key, snapshot);
  }

  find(partition: PartitionId, key: QualifiedKey, belongs: Belongs): Version | undefined {
    return this.#chains.find(partition, key, belongs);
  }

  list(partition: PartitionId, range: ListRange, snapshot: Timestamp | Belongs): ListPage {
    return this.#pages.list(partition, range, snapshot);
  }

  log(partition: PartitionId, after: Timestamp, upTo: Timestamp): LogPage {
    return this.#pages.log(partition, after, upTo);
  }

  changes(partition: PartitionId, after: Timestamp, upTo: Timestamp): ChangesPage {
    return this.#pages.changes(partition, after, upTo);
  }

  copy(partition: PartitionId, start: QualifiedKey): CopyPage {
    return this.#pages.copy(partition, start);
  }

  outcome(partition: PartitionId, txId: TxId): OutcomeRecord | undefined {
    return this.#outcomes.of(partition, txId);
  }

  commit(records: readonly DurableRecord[]): Promise<void> {
    return this.#pipeline.commit(records);
  }

  resident(needs: ReadNeeds): boolean {
    const partition = this.#partitions.of(needs.partition);
    return isOfChains(needs) ? this.#chains.resident(partition, needs) : this.#pages.resident(partition, needs);
  }

  async prefetch(needs: ReadNeeds): Promise<void> {
    const partition = this.#partitions.of(needs.partition);
    try {
      await (isOfChains(needs) ? this.#chains.load(partition, needs) : this.#pages.load(partition, needs));
    } catch (error) {
      throw storageFailed('Cannot read from disk', error);
    }
  }

  async recover(): Promise<RecoveredState> {
    await this.#pipeline.settled();
    await this.#checkpoints.run();
    const prepared: RecoveredState['prepared'][number][] = [];
    try {
      const meta = await readMeta(this.#disk);
      await scan(this.#disk, allOf('p'), (key, bytes) => {
        prepared.push({ partition: partitionIn(key), txId: restOf(key), record: openAs(PREPARED, bytes, key) });
        return true;
      });
      return { meta, prepared, logEnds: logEnds(this.#partitions) };
    } catch (error) {
      throw storageFailed('Cannot recover from disk', error);
    }
  }

  stats(): VersionStoreStats {
    const partitions = new Map<PartitionId, { keys: number; versions: number }>();
    this.#partitions.forEach(({ id, counters: { keys, versions } }) => {
      partitions.set(id, { keys, versions });
    });
    const { bytes, limitBytes, keys, hits, misses } = this.#cache;
    return {
      partitions,
      folded: this.#folder.folded,
      cache: { bytes, limitBytes, keys, hits, misses },
      commits: this.#pipeline.counts,
    };
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    await this.#pipeline.close();
    try {
      if (this.#failure.error === undefined) await this.#endCleanly();
      await this.#checkpoints.stop();
    } finally {
      await this.#log.close();
      await this.#files.close();
      await this.#disk.close();
    }
  }

  /** A clean start replays nothing. If the last checkpoint cannot be written, a synced log still holds everything. */
  async #endCleanly(): Promise<void> {
    try {
      await this.#checkpoints.run();
      // One synced write takes all before it to disk, also writes that were not synced.
      if (!this.#sync) await this.#disk.del(metaKey('closed'), { sync: true });
    } catch (error) {
      if (!this.#sync) throw storageFailed('Cannot write to disk', error);
    }
  }

  #raised(partition: Partition, horizon: Horizon): void {
    if (horizon === 'logTruncatedUpTo') {
      partition.log.truncate(partition.horizons.logTruncatedUpTo);
      this.#checkpoints.truncated(partition);
      return;
    }
    if (horizon === 'logConfirmedUpTo') {
      partition.log.settle(Math.min(partition.horizons.logConfirmedUpTo, this.#partitions.settled));
      return;
    }
    if (horizon === 'gcFloor') partition.walkDue = true;
    else partition.forgetting = '';
    this.#collector.wake(partition);
  }
}

import { join } from 'node:path';
import {
  type Belongs,
  type CopyPage,
  type DurableRecord,
  invariant,
  type ListPage,
  type ListRange,
  type LogPage,
  type OutcomeRecord,
  type PartitionId,
  type QualifiedKey,
  type ReadNeeds,
  type RecoveredState,
  type Timestamp,
  type TxId,
  type Version,
} from '@isochron/core';
import { LRUCache } from 'lru-cache';
import type { Chain } from './chain.js';
import { ChainCache } from './chain-cache.js';
import { ChainLoader } from './chain-loader.js';
import { ChainWriter } from './chain-writer.js';
import { Changes } from './changes.js';
import { type CheckpointPolicy, Checkpoints, coveredBy } from './checkpoints.js';
import { Collector } from './collector.js';
import { JobWriter } from './commit-job.js';
import { COPY_CHAINS } from './copy-page.js';
import { type Disk, openDisk, scan } from './disk.js';
import { allOf, metaKey, partitionIn, restOf } from './disk-keys.js';
import { FirstFailure, storageFailed } from './failure.js';
import type { Horizon } from './horizons.js';
import { HeldPage } from './list-page.js';
import type { DurableLog, Position } from './log/durable-log.js';
import { openLogIn } from './log/segment-log.js';
import { HeldLog } from './log-page.js';
import { LogRecords } from './log-records.js';
import { scanChains, scanList, scanLog } from './page-scans.js';
import type { Partition } from './partition.js';
import { logEnds, Partitions, readMeta } from './partitions.js';
import { Pipeline } from './pipeline.js';
import { OUTCOME, openAs, PREPARED } from './records.js';
import { Staging } from './staging.js';
import type { VersionStore, VersionStoreStats } from './store.js';
import { Tails, tailOf } from './tails.js';
import { freshestIn, visibleIn } from './versions.js';

/** Recent outcomes in memory: what retries and resolvers ask for. */
const RECENT_OUTCOMES = 8192;

/** What waits for a checkpoint is in memory: more of it costs more there than it saves on disk. */
const CHECKPOINT_POLICY: CheckpointPolicy = { bytes: 1024 * 1024, ms: 1000 };
/** The log frees whole segments. */
const SEGMENT_BYTES = 4 * 1024 * 1024;

/** How to open a store on LevelDB. */
export interface LevelStoreOptions {
  /** Folder of the database; created when it is not there. */
  readonly location: string;
  /** `synced`: a commit resolves after fsync. `memory`: after it was handed to the operating system. */
  readonly durability: 'synced' | 'memory';
  /** Limit of the version chains in memory. What is on its way to disk may exceed it. */
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
  /** When what the durable log holds is written to LevelDB: what a start after a crash has to read. See `CHECKPOINT_POLICY`. */
  readonly checkpoint?: Partial<CheckpointPolicy> | undefined;
  /** Size of a segment of the durable log. 4 MiB unless given. */
  readonly segmentBytes?: number | undefined;
}

/**
 * Opens the store in a folder, or creates it.
 * @throws IsochronError `STORAGE_FAILED`, with advice, when the folder cannot be used; of class `CorruptRecord` when a horizon, the counters
 * or the end of a log are damaged, or LevelDB finds its own files so
 */
export async function openLevelStore(options: LevelStoreOptions): Promise<VersionStore> {
  const { location, blockCacheBytes = 8 * 1024 * 1024, writeBufferBytes = 16 * 1024 * 1024 } = options;
  const disk = await openDisk(location, blockCacheBytes, writeBufferBytes);
  return await openStoreOn(disk, () => openLog(options), options);
}

/**
 * The same on an open database, with a log that is opened once the database is known to be whole. Closes both with the store, and when
 * it cannot be opened.
 */
export async function openStoreOn(
  disk: Disk,
  open: () => Promise<DurableLog>,
  options: LevelStoreOptions,
): Promise<VersionStore> {
  let log: DurableLog | undefined;
  try {
    const partitions = new Partitions(options.logTailBytes ?? 1024 * 1024);
    await partitions.load(disk);
    log = await open();
    const store = new LevelStore(disk, log, await coveredBy(disk, log), partitions, options);
    await store.replay();
    return store;
  } catch (error) {
    await log?.close();
    await disk.close();
    throw storageFailed(`Cannot read the data folder ${options.location}`, error);
  }
}

/** The durable log is in a folder of its own inside that of LevelDB, which is locked while it is open. */
const openLog = ({ location, durability, segmentBytes = SEGMENT_BYTES }: LevelStoreOptions): Promise<DurableLog> =>
  openLogIn(join(location, 'log'), { segmentBytes, sync: durability === 'synced' });

type ChainNeeds = Extract<ReadNeeds, { kind: 'keys' | 'chains' }>;

/** Whether a chain is in memory: its head, or all of it. */
const holds = (chain: Chain | undefined, kind: ChainNeeds['kind']): boolean =>
  chain?.loaded === true && (kind === 'keys' || chain.whole);

class LevelStore implements VersionStore {
  readonly #disk: Disk;
  readonly #log: DurableLog;
  readonly #covered: Position;
  readonly #partitions: Partitions;
  readonly #sync: boolean;
  readonly #cache: ChainCache;
  readonly #changes: Changes;
  readonly #packing = new LogRecords();
  readonly #loader: ChainLoader;
  readonly #tails: Tails;
  readonly #collector: Collector;
  readonly #checkpoints: Checkpoints;
  readonly #pipeline: Pipeline;
  readonly #failure = new FirstFailure();
  readonly #recent = new LRUCache<string, OutcomeRecord>({ max: RECENT_OUTCOMES });
  #closed: Promise<void> | undefined;

  constructor(disk: Disk, log: DurableLog, covered: Position, partitions: Partitions, options: LevelStoreOptions) {
    this.#disk = disk;
    this.#log = log;
    this.#covered = covered;
    this.#partitions = partitions;
    this.#sync = options.durability === 'synced';
    const cache = new ChainCache(options.cacheBytes);
    const changes = new Changes(cache);
    this.#cache = cache;
    this.#changes = changes;
    this.#tails = new Tails(disk, changes);
    const loader = new ChainLoader(disk, cache, this.#tails);
    this.#loader = loader;
    const chains = new ChainWriter(this.#tails, cache, changes);
    const collector = new Collector(disk, loader, chains, changes);
    this.#collector = collector;
    const policy = { ...CHECKPOINT_POLICY, ...options.checkpoint };
    const checkpoints = new Checkpoints(
      { disk, log, partitions, changes, failure: this.#failure },
      policy,
      this.#sync,
      covered,
    );
    this.#checkpoints = checkpoints;
    const writer = new JobWriter(partitions, chains, changes, (partition, horizon) => this.#raised(partition, horizon));
    const staging = new Staging(partitions, loader, cache, this.#recent);
    this.#pipeline = new Pipeline({
      log,
      packing: this.#packing,
      staging,
      loader,
      cache,
      writer,
      checkpoints,
      collector,
      failure: this.#failure,
    });
  }

  /** Takes in what the log holds and LevelDB does not. */
  async replay(): Promise<void> {
    await scan(this.#disk, allOf('p'), (key, bytes) => {
      this.#packing.prepared(partitionIn(key), restOf(key), openAs(PREPARED, bytes, key));
      this.#changes.preparedOnDisk(key);
      return true;
    });
    const batches: Uint8Array[] = [];
    await this.#log.read(this.#covered, (record) => batches.push(record));
    for (const [i, packed] of batches.entries()) await this.#pipeline.replay(this.#covered + i, packed);
    this.#pipeline.replayed();
    this.#checkpoints.schedule();
  }

  read(partitionId: PartitionId, key: QualifiedKey, snapshot: Timestamp): Version | undefined {
    const chain = this.#chain(partitionId, key);
    if (chain.removals > 0) return this.find(partitionId, key, ({ ts }) => ts <= snapshot);
    let version = visibleIn(chain.versions, snapshot);
    if (version === undefined && !chain.whole)
      version = this.#readTail((tails) => tails.visible(tailOf(chain), snapshot));
    return chain.staged === null ? version : chain.withStaged(version, ({ ts }) => ts <= snapshot);
  }

  find(partitionId: PartitionId, key: QualifiedKey, belongs: Belongs): Version | undefined {
    const chain = this.#chain(partitionId, key);
    const stored = chain.belonging(belongs);
    let version = freshestIn(chain.versions, stored);
    if (version === undefined && !chain.whole) version = this.#readTail((tails) => tails.find(tailOf(chain), stored));
    return chain.staged === null ? version : chain.withStaged(version, belongs);
  }

  list(partitionId: PartitionId, range: ListRange, snapshot: Timestamp | Belongs): ListPage {
    if (typeof snapshot === 'function') {
      return this.#heldPage(partitionId, range, 'any').take(snapshot, (key) => this.find(partitionId, key, snapshot));
    }
    const lookUp = (key: QualifiedKey) => this.read(partitionId, key, snapshot);
    return this.#heldPage(partitionId, range, snapshot).take(({ ts }) => ts <= snapshot, lookUp);
  }

  log(partitionId: PartitionId, after: Timestamp, upTo: Timestamp): LogPage {
    const { log, logs, horizons } = this.#partitions.of(partitionId);
    const from = Math.max(after, horizons.logTruncatedUpTo);
    if (log.covers(from)) return log.page(from, upTo);
    const page = logs.get(HeldLog.nameOf(after, upTo));
    invariant(page !== undefined, 'a page of the log must be prefetched before it is read');
    logs.dropUsedSoon();
    return page.take(horizons.logTruncatedUpTo);
  }

  copy(partitionId: PartitionId, start: QualifiedKey): CopyPage {
    const { copies } = this.#partitions.of(partitionId);
    const page = copies.take(start);
    invariant(page !== undefined, 'a page of a copy must be prefetched before it is read');
    return page;
  }

  outcome(partitionId: PartitionId, txId: TxId): OutcomeRecord | undefined {
    const partition = this.#partitions.of(partitionId);
    const name = partition.keys.outcome(txId);
    const known =
      partition.outcomes.get(txId) ??
      this.#recent.get(name) ??
      this.#changes.outcomeOf(partition, txId) ??
      this.#readOutcome(name);
    return known === undefined || known.ts < partition.horizons.forgottenUpTo ? undefined : known;
  }

  commit(records: readonly DurableRecord[]): Promise<void> {
    return this.#pipeline.commit(records);
  }

  resident(needs: ReadNeeds): boolean {
    const partition = this.#partitions.of(needs.partition);
    switch (needs.kind) {
      case 'keys':
      case 'chains':
        return needs.keys.every((key) => holds(this.#cache.get(partition, key), needs.kind));
      case 'list':
        return partition.lists.get(HeldPage.nameOf(needs.range, needs.snapshot)) !== undefined;
      case 'log': {
        const after = Math.max(needs.after, partition.horizons.logTruncatedUpTo);
        return partition.log.covers(after) || partition.logs.get(HeldLog.nameOf(needs.after, needs.upTo)) !== undefined;
      }
      case 'copy':
        return false; // a page that another copy read may be older than what is durable now
    }
  }

  async prefetch(needs: ReadNeeds): Promise<void> {
    const partition = this.#partitions.of(needs.partition);
    try {
      if (needs.kind === 'keys' || needs.kind === 'chains') await this.#loadChains(partition, needs);
      else if (needs.kind === 'list') await this.#loadList(partition, needs.range, needs.snapshot);
      else if (needs.kind === 'copy') await this.#loadCopy(partition, needs.start);
      else if (!this.resident(needs)) await this.#loadLog(partition, needs.after, needs.upTo);
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
      return { meta, prepared, logEnds: await logEnds(this.#disk) };
    } catch (error) {
      throw storageFailed('Cannot recover from disk', error);
    }
  }

  stats(): VersionStoreStats {
    const partitions = new Map<PartitionId, { keys: number; versions: number }>();
    this.#partitions.forEach(({ id, counters: { keys, versions } }) => {
      partitions.set(id, { keys, versions });
    });
    const { bytes, limitBytes, chains, hits, misses } = this.#cache;
    return {
      partitions,
      cache: { bytes, limitBytes, chains, hits, misses },
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
      await this.#disk.close();
    }
  }

  /** A clean start replays nothing. Where the last checkpoint cannot be written, a synced log still holds everything. */
  async #endCleanly(): Promise<void> {
    try {
      await this.#checkpoints.run();
      // One synced write takes all before it to disk, whatever they were handed to.
      if (!this.#sync) await this.#disk.del(metaKey('closed'), { sync: true });
    } catch (error) {
      if (!this.#sync) throw storageFailed('Cannot write to disk', error);
    }
  }

  // Reading.

  /** The chain of a key, loaded at once when it must be. */
  #chain(partitionId: PartitionId, key: QualifiedKey): Chain {
    const partition = this.#partitions.of(partitionId);
    let chain = this.#cache.get(partition, key);
    if (chain?.loaded) this.#cache.hits++;
    else {
      this.#cache.misses++;
      chain = this.#loadSync(partition, key);
    }
    chain.hot = true;
    return chain;
  }

  #loadSync(partition: Partition, key: QualifiedKey): Chain {
    try {
      return this.#loader.loadSync(partition, key);
    } catch (error) {
      throw storageFailed('Cannot read from disk', error);
    }
  }

  /** Looks further down a chain that is not in memory as a whole. */
  #readTail(look: (tails: Tails) => Version | undefined): Version | undefined {
    try {
      return look(this.#tails);
    } catch (error) {
      throw storageFailed('Cannot read from disk', error);
    }
  }

  #heldPage(partitionId: PartitionId, range: ListRange, snapshot: Timestamp | 'any'): HeldPage {
    const { lists } = this.#partitions.of(partitionId);
    const page = lists.get(HeldPage.nameOf(range, snapshot));
    invariant(page !== undefined, 'a listing must be prefetched before it is read');
    lists.dropUsedSoon();
    return page;
  }

  #readOutcome(name: string): OutcomeRecord | undefined {
    let bytes: Buffer | undefined;
    try {
      bytes = this.#disk.getSync(name);
    } catch (error) {
      throw storageFailed('Cannot read from disk', error);
    }
    if (bytes === undefined) return undefined;
    const record = openAs(OUTCOME, bytes, name);
    this.#recent.set(name, record);
    return record;
  }

  async #loadChains(partition: Partition, { kind, keys }: ChainNeeds): Promise<void> {
    const missing = keys.filter((key) => !holds(this.#cache.get(partition, key), kind));
    this.#cache.misses += missing.length;
    const chains = missing.map((key) => this.#loader.pinned(partition, key));
    try {
      await this.#loader.load(chains);
      if (kind === 'chains') await this.#loader.complete(chains);
    } finally {
      for (const chain of chains) this.#cache.unpin(chain);
    }
  }

  #loadList(partition: Partition, range: ListRange, snapshot: Timestamp | 'any'): Promise<void> {
    const page = new HeldPage(range, snapshot);
    return partition.lists.load(HeldPage.nameOf(range, snapshot), page, async () => {
      await this.#pipeline.settled();
      // LevelDB has these as they were: they are looked up again when the page is used.
      for (const { key } of this.#changes.chainsOf(partition)) page.touch(key, 0);
      page.fill(
        snapshot === 'any'
          ? await scanChains(this.#tails, partition, range)
          : await scanList(this.#tails, partition, range, snapshot),
      );
    });
  }

  #loadLog(partition: Partition, after: Timestamp, upTo: Timestamp): Promise<void> {
    return partition.logs.load(HeldLog.nameOf(after, upTo), new HeldLog(after, upTo), async (page) => {
      await this.#pipeline.settled();
      for (const entry of this.#changes.entriesOf(partition))
        if (entry.ct > after && entry.ct <= upTo) page.fill(entry);
      await scanLog(this.#disk, partition, page);
    });
  }

  /** Reads a page anew for each who asks: it must hold what is durable at the time of the question. */
  async #loadCopy(partition: Partition, start: QualifiedKey): Promise<void> {
    await this.#pipeline.settled();
    await this.#checkpoints.run();
    partition.copies.put(start, await scanChains(this.#tails, partition, { start, end: null, limit: COPY_CHAINS }));
  }

  #raised(partition: Partition, horizon: Horizon): void {
    if (horizon === 'logTruncatedUpTo') {
      partition.log.truncate(partition.horizons.logTruncatedUpTo);
      this.#checkpoints.truncated(partition);
      return;
    }
    if (horizon === 'gcFloor') partition.walkDue = true;
    else partition.forgetting = '';
    this.#collector.wake(partition);
  }
}

import {
  type Belongs,
  type CopyPage,
  type DurableRecord,
  IsochronError,
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
import { type Chain, freshestIn, Removal, visibleIn } from './chain.js';
import { ChainCache } from './chain-cache.js';
import { ChainLoader } from './chain-loader.js';
import { ChainWriter } from './chain-writer.js';
import { Collector } from './collector.js';
import { BatchBuilder, type CommitJob, distinctChains, ownVersion } from './commit-job.js';
import { COPY_CHAINS } from './copy-page.js';
import { type Disk, openDisk, scan } from './disk.js';
import { allOf, metaKey, partitionIn, restOf } from './disk-keys.js';
import { storageFailed } from './failure.js';
import type { Horizon } from './horizons.js';
import { HeldPage } from './list-page.js';
import { logEntry } from './log-entries.js';
import { HeldLog } from './log-page.js';
import { scanChains, scanList, scanLog } from './page-scans.js';
import type { Partition } from './partition.js';
import { logEnds, Partitions, readMeta } from './partitions.js';
import { OUTCOME, openAs, PREPARED } from './records.js';
import type { VersionStore, VersionStoreStats } from './store.js';
import { Tails, tailOf } from './tails.js';

/** Recent outcomes in memory: what retries and resolvers ask for. */
const RECENT_OUTCOMES = 8192;

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
  /** LevelDB's memtable; two may be in memory. 4 MiB unless given. */
  readonly writeBufferBytes?: number | undefined;
  /** Per partition, newest log entries in memory. 1 MiB unless given. */
  readonly logTailBytes?: number | undefined;
}

/**
 * Opens the store in a folder, or creates it.
 * @throws IsochronError `STORAGE_FAILED`, with advice, when the folder cannot be used; of class `CorruptRecord` when a horizon, the counters
 * or the end of a log are damaged, or LevelDB finds its own files so
 */
export async function openLevelStore(options: LevelStoreOptions): Promise<VersionStore> {
  const { location, blockCacheBytes = 8 * 1024 * 1024, writeBufferBytes = 4 * 1024 * 1024 } = options;
  const disk = await openDisk(location, blockCacheBytes, writeBufferBytes);
  const partitions = new Partitions(options.logTailBytes ?? 1024 * 1024);
  try {
    await partitions.load(disk);
  } catch (error) {
    await disk.close();
    throw storageFailed(`Cannot read the data folder ${location}`, error);
  }
  return new LevelStore(disk, partitions, options);
}

type ChainNeeds = Extract<ReadNeeds, { kind: 'keys' | 'chains' }>;

/** Whether a chain is in memory: its head, or all of it. */
const holds = (chain: Chain | undefined, kind: ChainNeeds['kind']): boolean =>
  chain?.loaded === true && (kind === 'keys' || chain.whole);

class LevelStore implements VersionStore {
  readonly #disk: Disk;
  readonly #partitions: Partitions;
  readonly #sync: boolean;
  readonly #cache: ChainCache;
  readonly #loader: ChainLoader;
  readonly #tails: Tails;
  readonly #builder: BatchBuilder;
  readonly #collector: Collector;
  readonly #recent = new LRUCache<string, OutcomeRecord>({ max: RECENT_OUTCOMES });
  #queue: CommitJob[] = [];
  #jobs = 0;
  /** Settles with the latest commit. */
  #lastCommit: Promise<void> = Promise.resolve();
  /** Settles when the pipeline is empty. */
  #pipeline: Promise<void> | undefined;
  /** Removal of log entries, running beside the pipeline. */
  #clearing: Promise<void> | undefined;
  readonly #toClear = new Map<Partition, { after: Timestamp; upTo: Timestamp }>();
  #failure: IsochronError | undefined;
  #closed: Promise<void> | undefined;
  #batches = 0;
  #records = 0;
  #lastSyncMs = 0;
  #slowestSyncMs = 0;

  constructor(disk: Disk, partitions: Partitions, { durability, cacheBytes }: LevelStoreOptions) {
    this.#disk = disk;
    this.#partitions = partitions;
    this.#sync = durability === 'synced';
    this.#cache = new ChainCache(cacheBytes);
    this.#tails = new Tails(disk);
    this.#loader = new ChainLoader(disk, this.#cache, this.#tails);
    const writer = new ChainWriter(this.#tails, this.#cache);
    this.#builder = new BatchBuilder(partitions, writer, (partition, horizon) => this.#raised(partition, horizon));
    this.#collector = new Collector(disk, this.#loader, writer);
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
    const known = partition.outcomes.get(txId) ?? this.#recent.get(name) ?? this.#readOutcome(name);
    return known === undefined || known.ts < partition.horizons.forgottenUpTo ? undefined : known;
  }

  commit(records: readonly DurableRecord[]): Promise<void> {
    const refusal = this.#failure ?? (this.#closed && closedError());
    if (refusal !== undefined) return Promise.reject(refusal);
    const chains = this.#stage(records);
    this.#lastCommit = new Promise((resolve, reject) => {
      this.#queue.push({ number: ++this.#jobs, records, chains, resolve, reject });
    });
    this.#start();
    return this.#lastCommit;
  }

  resident(needs: ReadNeeds): boolean {
    const partition = this.#partitions.of(needs.partition);
    switch (needs.kind) {
      case 'keys':
      case 'chains':
        return needs.keys.every((key) => holds(partition.chains.get(key), needs.kind));
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
    await this.#lastCommit;
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
      commits: {
        batches: this.#batches,
        records: this.#records,
        waiting: this.#jobs - this.#batches,
        lastSyncMs: this.#lastSyncMs,
        slowestSyncMs: this.#slowestSyncMs,
      },
    };
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    // The pipeline and the clearing report their failures to the commits.
    await this.#pipeline;
    await this.#clearing;
    // One synced write takes all before it to disk, whatever they were handed to.
    if (!this.#sync && this.#failure === undefined) await this.#disk.del(metaKey('closed'), { sync: true });
    await this.#disk.close();
  }

  // Reading.

  /** The chain of a key, loaded at once when it must be. */
  #chain(partitionId: PartitionId, key: QualifiedKey): Chain {
    const partition = this.#partitions.of(partitionId);
    let chain = partition.chains.get(key);
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
    const missing = keys.filter((key) => !holds(partition.chains.get(key), kind));
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
      await this.#settled();
      page.fill(
        snapshot === 'any'
          ? await scanChains(this.#tails, partition, range)
          : await scanList(this.#tails, partition, range, snapshot),
      );
    });
  }

  #loadLog(partition: Partition, after: Timestamp, upTo: Timestamp): Promise<void> {
    return partition.logs.load(HeldLog.nameOf(after, upTo), new HeldLog(after, upTo), async (page) => {
      await this.#settled();
      await scanLog(this.#disk, partition, page);
    });
  }

  /** Reads a page anew for each who asks: it must hold what is durable at the time of the question. */
  async #loadCopy(partition: Partition, start: QualifiedKey): Promise<void> {
    await this.#settled();
    partition.copies.put(start, await scanChains(this.#tails, partition, { start, end: null, limit: COPY_CHAINS }));
  }

  /** What was committed so far is on disk, or will never be: a store that cannot write any more is still read. */
  async #settled(): Promise<void> {
    await this.#lastCommit.catch(() => undefined);
  }

  // Writing.

  /** Makes the records visible. */
  #stage(records: readonly DurableRecord[]): Chain[] {
    const chains: Chain[] = [];
    for (const record of records) {
      if (record.kind === 'version') chains.push(this.#stageChange(record, ownVersion(record.version)));
      else if (record.kind === 'remove') chains.push(this.#stageChange(record, new Removal(record.ts, record.txId)));
      else if (record.kind === 'outcome')
        this.#partitions.of(record.partition).outcomes.set(record.txId, record.record);
      else if (record.kind === 'log') {
        const partition = this.#partitions.of(record.partition);
        const entry = logEntry(record.ct, record.tx);
        partition.log.add(entry);
        partition.logs.tell((page) => page.add(entry));
      }
    }
    return chains;
  }

  #stageChange(to: { partition: PartitionId; key: QualifiedKey }, change: Version | Removal): Chain {
    const partition = this.#partitions.of(to.partition);
    const chain = this.#loader.pinned(partition, to.key);
    chain.stage(change);
    partition.lists.tell((page) => page.touch(to.key, change.ts));
    return chain;
  }

  #start(): void {
    this.#pipeline ??= this.#run().finally(() => {
      this.#pipeline = undefined;
      // A commit may have come between the loop's end and this callback.
      if (this.#queue.length > 0) this.#start();
    });
  }

  /** One batch after the other; between two of them, one slice of collection. */
  async #run(): Promise<void> {
    while (this.#queue.length > 0 || (!this.#collector.idle && this.#failure === undefined)) {
      const job = this.#queue.shift();
      if (job !== undefined) await this.#write(job);
      if (!this.#collector.idle && this.#failure === undefined) await this.#slice();
      if (this.#closed !== undefined && this.#queue.length === 0) return;
    }
  }

  async #slice(): Promise<void> {
    try {
      await this.#collector.slice();
    } catch (error) {
      this.#fail('Cannot collect garbage', error);
    }
  }

  async #write(job: CommitJob): Promise<void> {
    try {
      if (this.#failure !== undefined) throw this.#failure;
      const chains = distinctChains(job);
      await this.#loader.loadForCommit(chains);
      const batch = this.#disk.batch();
      this.#builder.build(job, chains, batch);
      const start = performance.now();
      await batch.write({ sync: this.#sync });
      this.#tails.flushed();
      this.#lastSyncMs = performance.now() - start;
      this.#slowestSyncMs = Math.max(this.#slowestSyncMs, this.#lastSyncMs);
    } catch (error) {
      job.reject(this.#fail('Cannot write to disk', error));
      return;
    } finally {
      this.#batches++;
    }
    this.#records += job.records.length;
    this.#unstage(job);
    this.#clearLog();
    job.resolve();
  }

  /** After the first failure memory and disk may differ: nothing is written any more. */
  #fail(what: string, error: unknown): IsochronError {
    this.#failure ??= storageFailed(what, error);
    return this.#failure;
  }

  #unstage(job: CommitJob): void {
    for (const chain of job.chains) {
      chain.unstage();
      this.#cache.unpin(chain);
    }
    for (const record of job.records) {
      if (record.kind !== 'outcome') continue;
      const partition = this.#partitions.of(record.partition);
      this.#recent.set(partition.keys.outcome(record.txId), record.record);
      if (partition.outcomes.get(record.txId) === record.record) partition.outcomes.delete(record.txId);
    }
  }

  #raised(partition: Partition, horizon: Horizon): void {
    if (horizon === 'logTruncatedUpTo') {
      const upTo = partition.horizons.logTruncatedUpTo;
      const pending = this.#toClear.get(partition);
      this.#toClear.set(partition, { after: pending?.after ?? partition.clearedUpTo, upTo });
      partition.clearedUpTo = upTo;
      partition.log.truncate(upTo);
      return;
    }
    if (horizon === 'gcFloor') partition.walkDue = true;
    else partition.forgetting = true;
    this.#collector.wake(partition);
  }

  /** Removes truncated log entries in the background: nobody reads them any more. */
  #clearLog(): void {
    if (this.#clearing !== undefined || this.#toClear.size === 0) return;
    this.#clearing = this.#clearAll()
      .catch((error) => {
        this.#fail('Cannot truncate the log', error);
      })
      .finally(() => {
        this.#clearing = undefined;
      });
  }

  async #clearAll(): Promise<void> {
    for (const [partition, { after, upTo }] of this.#toClear) {
      this.#toClear.delete(partition);
      await this.#disk.clear(partition.keys.logBetween(after, upTo));
    }
  }
}

const closedError = (): IsochronError =>
  new IsochronError('STORAGE_FAILED', 'The store is closed', { retryable: false });

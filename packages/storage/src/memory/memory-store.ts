import {
  type Belongs,
  type ChangesPage,
  type CopyPage,
  compareKeys,
  type DurableFact,
  type DurableRecord,
  factsOf,
  type Horizon,
  IsochronError,
  isPlain,
  type ListPage,
  type ListRange,
  type LogPage,
  type MetaValue,
  type OutcomeRecord,
  type PartitionId,
  type PreparedRecord,
  type QualifiedKey,
  type RecoveredState,
  type StoredVersion,
  type Timestamp,
  type TxId,
  type Version,
} from '@isochron/core';
import { changesPage, firstAbove, insertEntry, type LogEntry, logEntry, logPage } from '../changelog/log-entries.js';
import { ownVersion } from '../commit-job.js';
import { horizonName, logStartOf, newHorizons } from '../horizons.js';
import { CopyBuilder } from '../pages/copy-page.js';
import { PageBuilder } from '../pages/list-page.js';
import type { VersionStore, VersionStoreStats } from '../store.js';
import { collectable, freshestIn, indexAtOrBelow, insertSorted, isFold, visibleIn } from '../versions.js';
import { Removal } from './chain.js';
import { Folder, KeptFolds } from './folds.js';

/** One partition of a {@link MemoryState}. */
class MemoryPartition {
  readonly chains = new Map<QualifiedKey, StoredVersion[]>();
  /** Results of chains with updates. */
  readonly folds = new Map<QualifiedKey, KeptFolds>();
  /** The keys of `chains` in order. */
  readonly order: QualifiedKey[] = [];
  readonly untidy = new Set<QualifiedKey>();
  readonly outcomes = new Map<TxId, OutcomeRecord>();
  readonly prepared = new Map<TxId, PreparedRecord>();
  readonly log: LogEntry[] = [];
  readonly horizons = newHorizons();
  versions = 0;

  constructor(
    readonly id: PartitionId,
    readonly folder: Folder,
  ) {}

  /** The fold of a chain up to a snapshot, whose newest version is an update. */
  fold(key: QualifiedKey, chain: readonly StoredVersion[], snapshot: Timestamp): Version {
    let kept = this.folds.get(key);
    if (kept === undefined) {
      kept = new KeptFolds();
      this.folds.set(key, kept);
    }
    const newest = indexAtOrBelow(chain, snapshot);
    return this.folder.upTo(chain[newest]!, newestFirst(chain, newest - 1), kept);
  }

  add(key: QualifiedKey, version: StoredVersion): void {
    let chain = this.chains.get(key);
    if (chain === undefined) {
      chain = [];
      this.chains.set(key, chain);
      this.order.splice(this.indexOf(key), 0, key);
    }
    if (insertSorted(chain, ownVersion(version)) === 'inserted') this.versions++;
    this.folds.get(key)?.dropFrom(version);
    this.#prune(key, chain);
  }

  remove(key: QualifiedKey, removal: Removal): void {
    const chain = this.chains.get(key);
    if (chain === undefined) return;
    for (let i = chain.length - 1; i >= 0; i--) {
      if (!removal.matches(chain[i]!)) continue;
      this.folds.get(key)?.dropFrom(chain[i]!);
      chain.splice(i, 1);
      this.versions--;
    }
    this.#prune(key, chain);
  }

  /** Index in `order` of the first key that is not below `key`. */
  indexOf(key: QualifiedKey): number {
    let low = 0;
    let high = this.order.length;
    // Loads come in order.
    if (high > 0 && compareKeys(this.order[high - 1]!, key) < 0) return high;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareKeys(this.order[middle]!, key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  collect(): void {
    for (const key of this.untidy) this.#prune(key, this.chains.get(key)!);
  }

  #prune(key: QualifiedKey, chain: StoredVersion[]): void {
    const { gcFloor } = this.horizons;
    const newest = indexAtOrBelow(chain, gcFloor);
    const keep = newest < 0 ? -1 : indexAtOrBelow(chain, collectable(chain[newest]!, gcFloor));
    if (keep >= 0) {
      if (!isFold(chain, keep)) chain[keep] = this.folder.over(undefined, chain.slice(0, keep + 1))!;
      this.folds.get(key)?.dropUpTo(chain[keep]!);
      // A tombstone goes with the last version that it hides.
      const gone = chain[keep]!.value === null ? keep + 1 : keep;
      chain.splice(0, gone);
      this.versions -= gone;
    }
    const isTidy = chain.length === 1 && isFold(chain, 0) && chain[0]!.value !== null;
    if (!isTidy) this.untidy.add(key);
    else this.untidy.delete(key);
    if (chain.length === 0) {
      this.chains.delete(key);
      this.folds.delete(key);
      this.untidy.delete(key);
      this.order.splice(this.indexOf(key), 1);
    }
  }

  dropOutcomes(): void {
    for (const [txId, { ts }] of this.outcomes) if (ts < this.horizons.forgottenUpTo) this.outcomes.delete(txId);
  }

  truncateLog(): void {
    this.log.splice(0, firstAbove(this.log, this.horizons.logTruncatedUpTo));
  }
}

function* newestFirst(chain: readonly StoredVersion[], from: number): Generator<StoredVersion> {
  for (let i = from; i >= 0; i--) yield chain[i]!;
}

/** The content of a memory store. It outlives the store that was opened on it, as a disk outlives a process. */
export class MemoryState {
  readonly partitions = new Map<PartitionId, MemoryPartition>();
  readonly meta = new Map<string, MetaValue>();
  readonly folder = new Folder();

  partition(id: PartitionId): MemoryPartition {
    let partition = this.partitions.get(id);
    if (partition === undefined) {
      partition = new MemoryPartition(id, this.folder);
      this.partitions.set(id, partition);
    }
    return partition;
  }

  /** Takes in a fact of a record. */
  apply(record: DurableFact): void {
    if (record.kind === 'meta') {
      this.meta.set(record.name, record.value);
      return;
    }
    const partition = this.partition(record.partition);
    switch (record.kind) {
      case 'version':
        partition.add(record.key, record.version);
        return;
      case 'remove':
        partition.remove(record.key, new Removal(record.ts, record.txId));
        return;
      case 'prepared':
        if (record.record === null) partition.prepared.delete(record.txId);
        else partition.prepared.set(record.txId, record.record);
        return;
      case 'outcome':
        partition.outcomes.set(record.txId, record.record);
        return;
      case 'log':
        if (record.ct > partition.horizons.logTruncatedUpTo) insertEntry(partition.log, logEntry(record));
        return;
      case 'horizon': {
        const { horizon, upTo, bytes } = record;
        const least = bytes === undefined ? 0 : this.#truncationFor(partition, bytes);
        this.#raise(partition, horizon, Math.max(upTo, least));
        return;
      }
    }
  }

  /** Where the log must be truncated for its settled entries to take no more than some bytes. */
  #truncationFor({ log }: MemoryPartition, limit: number): Timestamp {
    const ust = this.meta.get('ust');
    const settled = log.slice(0, firstAbove(log, typeof ust === 'number' ? ust : 0));
    let bytes = settled.reduce((sum, entry) => sum + entry.bytes, 0);
    let upTo = 0;
    for (const entry of settled) {
      if (bytes <= limit) break;
      bytes -= entry.bytes;
      upTo = entry.ct;
    }
    return upTo;
  }

  #raise(partition: MemoryPartition, horizon: Horizon, to: Timestamp): void {
    if (to <= partition.horizons[horizon]) return;
    partition.horizons[horizon] = to;
    this.meta.set(horizonName(horizon, partition.id), to);
    if (horizon === 'gcFloor') partition.collect();
    else if (horizon === 'forgottenUpTo') partition.dropOutcomes();
    else if (horizon === 'logTruncatedUpTo') partition.truncateLog();
  }
}

/** The highest own commit timestamp in each partition's log. */
export function ownLogEnds({ partitions }: MemoryState): Map<PartitionId, Timestamp> {
  const ends = new Map<PartitionId, Timestamp>();
  for (const { id, log } of partitions.values()) {
    const last = log.findLast(({ source }) => source === undefined);
    if (last !== undefined) ends.set(id, last.ct);
  }
  return ends;
}

/**
 * Opens a store in memory, empty or on the state of an earlier one. A commit resolves in the same turn of the event
 * loop.
 */
export function openMemoryStore(state = new MemoryState()): VersionStore {
  return new MemoryStore(state);
}

class MemoryStore implements VersionStore {
  readonly #state: MemoryState;
  #closed = false;
  #batches = 0;
  #records = 0;
  #reads = 0;

  constructor(state: MemoryState) {
    this.#state = state;
  }

  read(partition: PartitionId, key: QualifiedKey, snapshot: Timestamp): Version | undefined {
    this.#reads++;
    const chain = this.#state.partition(partition).chains.get(key);
    if (chain === undefined) return undefined;
    const found = visibleIn(chain, snapshot);
    if (found === undefined || isPlain(found)) return found;
    return this.#state.partition(partition).fold(key, chain, snapshot);
  }

  find(partition: PartitionId, key: QualifiedKey, belongs: Belongs): Version | undefined {
    this.#reads++;
    const chain = this.#state.partition(partition).chains.get(key);
    if (chain === undefined) return undefined;
    const found = freshestIn(chain, belongs);
    if (found === undefined || isPlain(found)) return found;
    return this.#state.folder.over(undefined, chain.filter(belongs));
  }

  list(partitionId: PartitionId, { start, end, limit }: ListRange, snapshot: Timestamp | Belongs): ListPage {
    const shown = (key: QualifiedKey) =>
      typeof snapshot === 'number' ? this.read(partitionId, key, snapshot) : this.find(partitionId, key, snapshot);
    const partition = this.#state.partition(partitionId);
    const page = new PageBuilder(limit);
    for (let i = partition.indexOf(start); i < partition.order.length; i++) {
      const key = partition.order[i]!;
      if (end !== null && compareKeys(key, end) >= 0) break;
      if (!page.add(key, () => shown(key))) break;
    }
    return { entries: page.entries, next: page.next };
  }

  log(partitionId: PartitionId, after: Timestamp, upTo: Timestamp): LogPage {
    const { log, horizons } = this.#state.partition(partitionId);
    return logPage(log, { after: Math.max(after, logStartOf(horizons)), upTo });
  }

  changes(partitionId: PartitionId, after: Timestamp, upTo: Timestamp): ChangesPage {
    const { log, horizons } = this.#state.partition(partitionId);
    return changesPage(log, { after, upTo }, horizons.logTruncatedUpTo);
  }

  copy(partitionId: PartitionId, start: QualifiedKey): CopyPage {
    const partition = this.#state.partition(partitionId);
    const page = new CopyBuilder();
    for (let i = partition.indexOf(start); i < partition.order.length; i++) {
      const key = partition.order[i]!;
      if (!page.add(key, () => [...partition.chains.get(key)!])) break;
    }
    return { chains: page.chains, next: page.next };
  }

  outcome(partition: PartitionId, txId: TxId): OutcomeRecord | undefined {
    const { outcomes, horizons } = this.#state.partition(partition);
    const known = outcomes.get(txId);
    return known === undefined || known.ts < horizons.forgottenUpTo ? undefined : known;
  }

  async commit(records: readonly DurableRecord[]): Promise<void> {
    if (this.#closed) throw new IsochronError('STORAGE_FAILED', 'The store is closed', { retryable: false });
    for (const fact of factsOf(records)) this.#state.apply(fact);
    this.#batches++;
    this.#records += records.length;
  }

  resident(): boolean {
    return true;
  }

  async prefetch(): Promise<void> {}

  async recover(): Promise<RecoveredState> {
    const partitions = [...this.#state.partitions.values()].sort((a, b) => a.id - b.id);
    return {
      meta: new Map(this.#state.meta),
      prepared: partitions.flatMap((partition) =>
        [...partition.prepared]
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([txId, record]) => ({ partition: partition.id, txId, record })),
      ),
      logEnds: ownLogEnds(this.#state),
    };
  }

  stats(): VersionStoreStats {
    const partitions = new Map<PartitionId, { keys: number; versions: number }>();
    let keys = 0;
    for (const [id, { order, versions }] of this.#state.partitions) {
      partitions.set(id, { keys: order.length, versions });
      keys += order.length;
    }
    return {
      partitions,
      folded: this.#state.folder.folded,
      cache: { bytes: 0, limitBytes: Number.POSITIVE_INFINITY, keys, hits: this.#reads, misses: 0 },
      commits: { batches: this.#batches, records: this.#records, waiting: 0, lastSyncMs: 0, slowestSyncMs: 0 },
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
  }
}

import type { MetaValue, PartitionId, Timestamp } from '@isochron/core';
import { compareBlocks } from '../changelog/log-blocks.js';
import { LogTail } from '../changelog/log-entries.js';
import { CorruptRecord } from '../failure.js';
import { horizonOf } from '../horizons.js';
import { Partition } from '../memory/partition.js';
import { type Batch, type Disk, scan } from './disk.js';
import {
  allOf,
  type BlockPlace,
  batchOf,
  blockIn,
  CHECKPOINT,
  MARKS,
  META,
  markKey,
  metaName,
  partitionIn,
} from './disk-keys.js';
import { COUNTERS, META_VALUE, openAs, seal, unseal } from './records.js';

/** The partitions of a store, made at first use. */
export class Partitions {
  readonly #all: Partition[] = [];
  /** UST in the latest batch: entries above are never dropped for the sake of room. */
  settled: Timestamp = 0;
  /** Number of the latest batch. */
  #batch = 0;

  constructor(readonly logTailBytes: number) {}

  of(id: PartitionId): Partition {
    return this.#all[id] ?? this.#add(id, 0);
  }

  forEach(each: (partition: Partition) => void): void {
    this.#all.forEach(each);
  }

  #add(id: PartitionId, logFrom: Timestamp): Partition {
    const partition = new Partition(id, new LogTail(logFrom, this.logTailBytes));
    this.#all[id] = partition;
    return partition;
  }

  /**
   * Replaces the mark of the batch before by that of the next one. After a crash LevelDB skips unreadable parts of its
   * log file: if a part in the middle is lost, the older mark is still there.
   */
  mark(batch: Batch): void {
    if (this.#batch > 0) batch.del(markKey(this.#batch));
    const key = markKey(++this.#batch);
    batch.put(key, seal(null, key));
  }

  /**
   * Loads the state that a store needs before its first read: horizons, counters, and the end of each log.
   * @throws CorruptRecord
   */
  async load(disk: Disk): Promise<void> {
    this.#batch = await latestBatch(disk);
    await this.#loadLogs(disk);
    await scan(disk, allOf('c'), (key, bytes) => {
      this.of(partitionIn(key)).counters = { ...openAs(COUNTERS, bytes, key) };
      return true;
    });
    for (const [name, value] of await readMeta(disk)) {
      const found = horizonOf(name);
      if (found !== undefined && typeof value === 'number') this.of(found.partition).horizons[found.horizon] = value;
      if (name === 'ust' && typeof value === 'number') this.settled = value;
    }
    // Names whose removal a crash has undone.
    this.forEach(({ blocks, horizons }) => {
      blocks.truncate(horizons.logTruncatedUpTo);
    });
  }

  /** The places of all blocks in the files of blocks. */
  get blockPlaces(): BlockPlace[] {
    return this.#all.flatMap(({ blocks }) => blocks.above(-1).map(({ place }) => place));
  }

  /** The end of each log, and the names of its blocks. */
  async #loadLogs(disk: Disk): Promise<void> {
    const named = (await blockNames(disk)).map((key) => [partitionIn(key), blockIn(key)] as const);
    const ends = new Map<PartitionId, Timestamp>();
    for (const [id, { end }] of named) ends.set(id, Math.max(end, ends.get(id) ?? 0));
    for (const [id, end] of ends) this.#add(id, end);
    for (const [id, block] of named.sort(([, a], [, b]) => compareBlocks(a, b))) this.of(id).blocks.add(block);
  }
}

/**
 * The disk keys of all blocks. The empty value checks the name.
 * @throws CorruptRecord
 */
async function blockNames(disk: Disk): Promise<string[]> {
  const names: string[] = [];
  await scan(disk, allOf('h'), (key, bytes) => {
    unseal(bytes, key);
    names.push(key);
    return true;
  });
  return names;
}

/** @throws CorruptRecord when there are marks of several batches */
async function latestBatch(disk: Disk): Promise<number> {
  const marks = await disk.iterator(MARKS).all();
  for (const [key, bytes] of marks) unseal(bytes, key);
  const [first, second] = marks.map(([key]) => batchOf(key));
  if (second === undefined) return first ?? 0;
  throw new CorruptRecord(null, 'database', `LevelDB has lost a batch after number ${first}: its files are damaged`);
}

/** All meta values. */
export async function readMeta(disk: Disk): Promise<Map<string, MetaValue>> {
  const meta = new Map<string, MetaValue>();
  await scan(disk, META, (key, bytes) => {
    if (key !== CHECKPOINT) meta.set(metaName(key), openAs(META_VALUE, bytes, key));
    return true;
  });
  return meta;
}

/** The highest own commit timestamp in each partition's log. */
export function logEnds(partitions: Partitions): Map<PartitionId, Timestamp> {
  const ends = new Map<PartitionId, Timestamp>();
  partitions.forEach(({ id, blocks: { own } }) => {
    if (own > 0) ends.set(id, own);
  });
  return ends;
}

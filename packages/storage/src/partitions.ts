import type { Kind, MetaValue, PartitionId, Timestamp } from '@isochron/core';
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
  restOf,
  timeAndTx,
} from './disk-keys.js';
import { CorruptRecord } from './failure.js';
import { horizonOf } from './horizons.js';
import { compareBlocks } from './log-blocks.js';
import { LogTail } from './log-entries.js';
import { Partition } from './partition.js';
import { COUNTERS, LOGGED, META_VALUE, openAs, RECEIVED, seal, unseal } from './records.js';

/** The partitions of a store, made at first use. */
export class Partitions {
  readonly #all: Partition[] = [];
  /** UST in the latest batch: entries above are never dropped for the sake of room. */
  settled: Timestamp = 0;
  /** Number of the latest batch. */
  #batch = 0;

  constructor(readonly logTailBytes: number) {}

  of(id: PartitionId): Partition {
    return this.#all[id] ?? this.#add(id, -1, -1);
  }

  forEach(each: (partition: Partition) => void): void {
    this.#all.forEach(each);
  }

  #add(id: PartitionId, logFrom: Timestamp, entriesUpTo: Timestamp): Partition {
    const partition = new Partition(id, new LogTail(Math.max(0, logFrom), this.logTailBytes), entriesUpTo);
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
    return this.#all.flatMap(({ blocks }) => blocks.above(-1).flatMap(({ place }) => place ?? []));
  }

  /** The end of each log, and the names of its blocks. */
  async #loadLogs(disk: Disk): Promise<void> {
    const blocks = await blockNames(disk);
    const ends = new Map<PartitionId, Timestamp>();
    const raise = (id: PartitionId, end: Timestamp) => ends.set(id, Math.max(end, ends.get(id) ?? -1));
    for (const part of [await lastEntries(disk, 'l', LOGGED), await lastEntries(disk, 'r', RECEIVED)])
      for (const [id, end] of part) raise(id, end);
    const onDisk = new Map(ends);
    for (const key of blocks) raise(partitionIn(key), blockIn(key).end);
    for (const [id, end] of ends) this.#add(id, end, onDisk.get(id) ?? -1);
    const named = blocks.map((key) => [partitionIn(key), blockIn(key)] as const);
    for (const [id, block] of named.sort(([, a], [, b]) => compareBlocks(a, b))) this.of(id).blocks.add(block);
  }
}

/**
 * The disk keys of all blocks. A name is checked by its empty value; a block that LevelDB holds is read when it is
 * needed.
 * @throws CorruptRecord
 */
async function blockNames(disk: Disk): Promise<string[]> {
  const all = await disk.keys(allOf('h')).all();
  const placed = all.filter((key) => blockIn(key).place !== undefined);
  for (const [i, bytes] of (await disk.getMany(placed)).entries()) unseal(bytes!, placed[i]!);
  return all;
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
export async function logEnds(disk: Disk, partitions: Partitions): Promise<Map<PartitionId, Timestamp>> {
  const ends = await lastEntries(disk, 'l', LOGGED);
  partitions.forEach(({ id, blocks: { own } }) => {
    if (own > 0) ends.set(id, Math.max(own, ends.get(id) ?? 0));
  });
  return ends;
}

/**
 * The highest commit timestamp of each partition's log entries outside of blocks: two seeks a partition. Its record is
 * opened, as its key may be damaged.
 */
async function lastEntries<T>(disk: Disk, of: 'l' | 'r', kind: Kind<T>): Promise<Map<PartitionId, Timestamp>> {
  const ends = new Map<PartitionId, Timestamp>();
  const range = allOf(of);
  for (let gte = range.gte; ; ) {
    const [first] = await disk.keys({ gte, lt: range.lt, limit: 1 }).all();
    if (first === undefined) return ends;
    const lt = `${first.slice(0, 5)}0`;
    const [last] = await disk.iterator({ gte: first, lt, limit: 1, reverse: true }).all();
    const [key, bytes] = last!;
    openAs(kind, bytes, key);
    ends.set(partitionIn(first), timeAndTx(restOf(key)).ts);
    gte = lt;
  }
}

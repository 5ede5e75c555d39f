import type { MetaValue, PartitionId } from '@isochron/core';
import { type Batch, type Disk, scan } from './disk.js';
import {
  allOf,
  batchOf,
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
import { LogTail } from './log-entries.js';
import { Partition } from './partition.js';
import { COUNTERS, LOGGED, META_VALUE, openAs, seal, unseal } from './records.js';

/** The partitions of a store, made at first use. */
export class Partitions {
  readonly #all: Partition[] = [];
  /** Number of the latest batch. */
  #batch = 0;

  constructor(readonly logTailBytes: number) {}

  of(id: PartitionId): Partition {
    return this.#all[id] ?? this.#add(id, -1);
  }

  forEach(each: (partition: Partition) => void): void {
    this.#all.forEach(each);
  }

  #add(id: PartitionId, logFrom: number): Partition {
    const partition = new Partition(id, new LogTail(Math.max(0, logFrom), this.logTailBytes));
    partition.loggedOnDisk = logFrom;
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
    for (const [id, end] of await logEnds(disk)) this.#add(id, end);
    await scan(disk, allOf('c'), (key, bytes) => {
      this.of(partitionIn(key)).counters = { ...openAs(COUNTERS, bytes, key) };
      return true;
    });
    for (const [name, value] of await readMeta(disk)) {
      const found = horizonOf(name);
      if (found !== undefined && typeof value === 'number') this.of(found.partition).horizons[found.horizon] = value;
    }
  }
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

/**
 * The highest commit timestamp in each partition's log: two seeks a partition. Its record is opened, as its key may be
 * damaged.
 */
export async function logEnds(disk: Disk): Promise<Map<PartitionId, number>> {
  const ends = new Map<PartitionId, number>();
  const range = allOf('l');
  for (let gte = range.gte; ; ) {
    const [first] = await disk.keys({ gte, lt: range.lt, limit: 1 }).all();
    if (first === undefined) return ends;
    const lt = `${first.slice(0, 5)}0`;
    const [last] = await disk.iterator({ gte: first, lt, limit: 1, reverse: true }).all();
    const [key, bytes] = last!;
    openAs(LOGGED, bytes, key);
    ends.set(partitionIn(first), timeAndTx(restOf(key)).ts);
    gte = lt;
  }
}

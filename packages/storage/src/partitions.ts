import type { MetaValue, PartitionId } from '@isochron/core';
import { type Disk, scan } from './disk.js';
import { allOf, META, metaName, partitionIn, restOf, timeAndTx } from './disk-keys.js';
import { horizonOf } from './horizons.js';
import { LogTail } from './log-entries.js';
import { Partition } from './partition.js';
import { COUNTERS, META_VALUE, openAs } from './records.js';

/** The partitions of a store, made when they are first named. */
export class Partitions {
  readonly #all: Partition[] = [];

  constructor(readonly logTailBytes: number) {}

  of(id: PartitionId): Partition {
    return this.#all[id] ?? this.#add(id, 0);
  }

  forEach(each: (partition: Partition) => void): void {
    this.#all.forEach(each);
  }

  #add(id: PartitionId, logFrom: number): Partition {
    const partition = new Partition(id, new LogTail(logFrom, this.logTailBytes));
    this.#all[id] = partition;
    return partition;
  }

  /** What a store has to know before its first read: horizons, counters, and where each log ends. */
  async load(disk: Disk): Promise<void> {
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

/** All meta values. */
export async function readMeta(disk: Disk): Promise<Map<string, MetaValue>> {
  const meta = new Map<string, MetaValue>();
  await scan(disk, META, (key, bytes) => {
    meta.set(metaName(key), openAs(META_VALUE, bytes, key));
    return true;
  });
  return meta;
}

/** The highest commit timestamp in each partition's log: two seeks a partition. */
async function logEnds(disk: Disk): Promise<Map<PartitionId, number>> {
  const ends = new Map<PartitionId, number>();
  const range = allOf('l');
  for (let gte = range.gte; ; ) {
    const [first] = await disk.keys({ gte, lt: range.lt, limit: 1 }).all();
    if (first === undefined) return ends;
    const lt = `${first.slice(0, 5)}0`;
    const [last] = await disk.keys({ gte: first, lt, limit: 1, reverse: true }).all();
    ends.set(partitionIn(first), timeAndTx(restOf(last!)).ts);
    gte = lt;
  }
}

/**
 * The ends of the logs, as far as this node has them: of each partition that some reader follows, the timestamp up to
 * which the index was asked about every change.
 */
import { invariant, type PartitionId, type Timestamp } from '@isochron/core';

interface Tail {
  end: Timestamp;
  /** Readers of the partition. */
  readers: number;
}

export class Tails {
  readonly #tails = new Map<PartitionId, Tail>();

  /** Partitions that are followed. */
  get size(): number {
    return this.#tails.size;
  }

  /** Undefined for a partition that no reader follows. */
  end(partition: PartitionId): Timestamp | undefined {
    return this.#tails.get(partition)?.end;
  }

  /** A reader more. @returns whether it is the first one: the tail then begins at `at` */
  enter(partition: PartitionId, at: Timestamp): boolean {
    const tail = this.#tails.get(partition);
    if (tail === undefined) this.#tails.set(partition, { end: at, readers: 1 });
    else tail.readers++;
    return tail === undefined;
  }

  /** A reader less. */
  leave(partition: PartitionId): void {
    const tail = this.#tails.get(partition);
    invariant(tail !== undefined, 'a reader leaves a partition that it follows');
    tail.readers--;
    if (tail.readers === 0) this.#tails.delete(partition);
  }

  raise(partition: PartitionId, end: Timestamp): void {
    const tail = this.#tails.get(partition);
    if (tail !== undefined && end > tail.end) tail.end = end;
  }

  /** Up to where all of these partitions are followed; undefined without any. */
  lowest(partitions: Iterable<PartitionId>): Timestamp | undefined {
    let lowest: Timestamp | undefined;
    for (const partition of partitions) {
      const end = this.#tails.get(partition)!.end;
      if (lowest === undefined || end < lowest) lowest = end;
    }
    return lowest;
  }
}

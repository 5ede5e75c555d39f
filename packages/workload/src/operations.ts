import { invariant, type Partition, type QualifiedKey, Random, type RegionId } from '@isochron/core';
import { chooseDistinct } from './choose.js';
import { type KeyTable, uniqueText } from './mix.js';
import { type Distribution, YCSB_THETA, Zipf } from './zipfian.js';

/**
 * The shape of single operations: reads of one key or of several at once (a read-only transaction), and writes of one
 * key. The workloads of Okapi, Contrarian and Orbe.
 */
export interface OperationMix {
  /** Keys of a read, each of another partition; fewer when there are fewer partitions. */
  readonly keysPerRead: number;
  /** Share of the operations, 0 to 1, that are writes. */
  readonly writes: number;
  /** Whether reads and writes come evenly in turn (a read, a write, a read, …) instead of at random. */
  readonly inTurn: boolean;
}

/**
 * The share of operations that are writes, where `ratio` is that of writes among all keys read and written (Contrarian,
 * Table 1: `#PUT / (#PUT + #READ)`, a read of k keys counted k times).
 */
export const shareOfWrites = (ratio: number, keysPerRead: number): number =>
  (ratio * keysPerRead) / (1 - ratio + ratio * keysPerRead);

/** One operation. A write has one key. */
export interface PlannedOperation {
  readonly kind: 'read' | 'write';
  readonly keys: readonly QualifiedKey[];
}

/** The options of one client's generator. */
export interface OperationOptions {
  readonly table: KeyTable;
  readonly mix: OperationMix;
  /** The client's region: keys are those of the partitions that it hosts. */
  readonly region: RegionId;
  /** The same seed gives the same operations. Give every client its own. */
  readonly seed: number;
  /** The choice of a key in a partition: over `table.keysPerPartition` items, zipf 0.99 by default. */
  readonly distribution?: Distribution;
}

/** An endless, seeded sequence of operations of one client. */
export class OperationGenerator {
  readonly #options: OperationOptions;
  readonly #random: Random;
  readonly #distribution: Distribution;
  readonly #hosted: readonly Partition[];
  #values = 0;
  /** Of operations in turn: the accumulated part of the next write. */
  #due = 0;

  constructor(options: OperationOptions) {
    const { table, mix, region, seed } = options;
    this.#options = options;
    this.#random = new Random(seed);
    this.#distribution = options.distribution ?? new Zipf(table.keysPerPartition, YCSB_THETA);
    this.#hosted = table.partitions.filter((partition) => partition.regions.includes(region));
    invariant(
      this.#distribution.size === table.keysPerPartition,
      'the distribution must cover a partition of the table',
    );
    invariant(this.#hosted.length > 0, () => `the region ${region} hosts no partition`);
    invariant(mix.keysPerRead >= 1 && mix.writes >= 0 && mix.writes <= 1, 'a read has a key, and a share is 0 to 1');
  }

  nextOperation(): PlannedOperation {
    const write = this.#isWrite();
    const count = write ? 1 : this.#options.mix.keysPerRead;
    const partitions = chooseDistinct(this.#hosted, count, this.#random);
    const keys = partitions.map(({ id }) => this.#options.table.keysOf(id)[this.#distribution.next(this.#random)]!);
    return { kind: write ? 'write' : 'read', keys };
  }

  /** A value that this generator has not given before. */
  nextValue(): string {
    return uniqueText(this.#values++);
  }

  #isWrite(): boolean {
    const { writes, inTurn } = this.#options.mix;
    if (!inTurn) return this.#random.chance(writes);
    this.#due += writes;
    if (this.#due < 1 - ROUNDING) return false;
    this.#due -= 1;
    return true;
  }
}

/** Shares such as 1/33 do not add up to 1 exactly. */
const ROUNDING = 1e-9;

import {
  invariant,
  type Partition,
  type PartitionId,
  type QualifiedKey,
  qualify,
  Random,
  type RegionId,
  type Topology,
} from '@isochron/core';
import { chooseDistinct } from './choose.js';
import { type Distribution, YCSB_THETA, Zipf } from './zipfian.js';

/** The shape of a workload's transactions (PaRiS, section V). */
export interface TransactionMix {
  /** Keys read by a transaction. */
  readonly reads: number;
  /** Keys written by a transaction. */
  readonly writes: number;
  /** Partitions that a transaction touches; fewer when fewer can be chosen from. */
  readonly partitionsPerTx: number;
  /**
   * Share of transactions, 0 to 1, that stay on partitions hosted in the client's region; the others choose among all.
   */
  readonly localRatio: number;
}

/** The paper's default, 95:5 reads to writes (YCSB B). */
export const READ_HEAVY: TransactionMix = { reads: 19, writes: 1, partitionsPerTx: 4, localRatio: 0.95 };
/** The paper's 50:50 reads to writes (YCSB A). */
export const WRITE_HEAVY: TransactionMix = { reads: 10, writes: 10, partitionsPerTx: 4, localRatio: 0.95 };

/** Bytes of the paper's items. */
export const VALUE_BYTES = 8;

/** The value of this number: {@link VALUE_BYTES} ASCII characters, each text once among 36^8 numbers. */
export const uniqueText = (n: number): string => n.toString(36).padStart(VALUE_BYTES, '0');

/** The keys of one transaction: first all reads, then all writes. No key occurs twice among the reads or the writes. */
export interface PlannedTransaction {
  readonly reads: readonly QualifiedKey[];
  readonly writes: readonly QualifiedKey[];
  /** Whether the client's region hosts every partition that may be touched. */
  readonly local: boolean;
}

/** Most candidate keys tried per key wanted, before a placement counts as unable to fill its partitions. */
const MAX_CANDIDATES_PER_KEY = 1000;

/**
 * The same number of keys in every partition of a keyspace, found by hashing `key-0`, `key-1`, … until each is full.
 * Position in the table is rank: the first key of a partition is its most popular one.
 */
export class KeyTable {
  readonly partitions: readonly Partition[];
  readonly #keys = new Map<PartitionId, QualifiedKey[]>();

  /** @throws IsochronError `KEYSPACE_UNKNOWN` */
  constructor(
    topology: Topology,
    readonly keysPerPartition: number,
    keyspace = 'default',
  ) {
    invariant(Number.isSafeInteger(keysPerPartition) && keysPerPartition > 0, 'a partition needs at least one key');
    this.partitions = topology.partitionsOf(keyspace);
    for (const partition of this.partitions) this.#keys.set(partition.id, []);
    this.#fill(topology, keyspace);
  }

  #fill(topology: Topology, keyspace: string): void {
    let missing = this.partitions.length * this.keysPerPartition;
    const limit = missing * MAX_CANDIDATES_PER_KEY;
    for (let n = 0; missing > 0; n++) {
      invariant(n < limit, () => `keyspace ${keyspace} leaves partitions without keys`);
      const key = qualify(keyspace, `key-${n}`);
      const keys = this.#keys.get(topology.partitionOf(key))!;
      if (keys.length === this.keysPerPartition) continue;
      keys.push(key);
      missing--;
    }
  }

  /** The keys of a partition, most popular first. */
  keysOf(partition: PartitionId): readonly QualifiedKey[] {
    const keys = this.#keys.get(partition);
    invariant(keys !== undefined, () => `partition ${partition} is not in the key table`);
    return keys;
  }

  /** Every key, partition by partition: the writes of a load phase. */
  allKeys(): QualifiedKey[] {
    return this.partitions.flatMap((partition) => [...this.keysOf(partition.id)]);
  }
}

/** The options of one client's generator. */
export interface GeneratorOptions {
  readonly table: KeyTable;
  readonly mix: TransactionMix;
  /** The client's region. */
  readonly region: RegionId;
  /** The same seed gives the same transactions. Give every client its own. */
  readonly seed: number;
  /** The choice of a key in a partition: over `table.keysPerPartition` items, zipf 0.99 by default. */
  readonly distribution?: Distribution;
}

/** An endless, seeded sequence of transactions of one client. */
export class TransactionGenerator {
  readonly #options: GeneratorOptions;
  readonly #random: Random;
  readonly #distribution: Distribution;
  readonly #hosted: readonly Partition[];
  #values = 0;

  constructor(options: GeneratorOptions) {
    const { table, mix, region } = options;
    this.#options = options;
    this.#random = new Random(options.seed);
    this.#distribution = options.distribution ?? new Zipf(table.keysPerPartition, YCSB_THETA);
    this.#hosted = table.partitions.filter((partition) => partition.regions.includes(region));
    invariant(
      this.#distribution.size === table.keysPerPartition,
      'the distribution must cover a partition of the table',
    );
    invariant(mix.partitionsPerTx >= 1 && mix.reads >= 0 && mix.writes >= 0, 'a mix has no negative parts');
    const touched = Math.min(mix.partitionsPerTx, this.#hosted.length || table.partitions.length);
    const most = Math.ceil(Math.max(mix.reads, mix.writes) / touched);
    invariant(most <= table.keysPerPartition, () => `a transaction needs ${most} keys of one partition`);
  }

  /** The keys of the next transaction. */
  nextTransaction(): PlannedTransaction {
    const { mix, table } = this.#options;
    const local = this.#hosted.length > 0 && this.#random.chance(mix.localRatio);
    const pool = (local ? this.#hosted : table.partitions).map(({ id }) => id);
    const partitions = chooseDistinct(pool, mix.partitionsPerTx, this.#random);
    return {
      reads: this.#chooseKeys(partitions, 0, mix.reads),
      // Goes on after the partitions of the reads, so that a transaction with few writes still touches all of them.
      writes: this.#chooseKeys(partitions, mix.reads, mix.writes),
      local,
    };
  }

  /** A value that this generator has not given before. */
  nextValue(): string {
    return uniqueText(this.#values++);
  }

  #chooseKeys(partitions: readonly PartitionId[], offset: number, count: number): QualifiedKey[] {
    const chosen = new Set<QualifiedKey>();
    for (let i = 0; i < count; i++) {
      chosen.add(this.#freshKey(partitions[(offset + i) % partitions.length]!, chosen));
    }
    return [...chosen];
  }

  #freshKey(partition: PartitionId, taken: ReadonlySet<QualifiedKey>): QualifiedKey {
    const keys = this.#options.table.keysOf(partition);
    let rank = this.#distribution.next(this.#random);
    for (let tries = 0; taken.has(keys[rank]!); tries++) {
      // A redraw keeps the distribution's shape; a small hot table may need the plain search to end at all.
      rank = tries < 16 ? this.#distribution.next(this.#random) : (rank + 1) % keys.length;
    }
    return keys[rank]!;
  }
}

import type { OutcomeRecord, PartitionId, TxId } from '@isochron/core';
import { LRUCache } from 'lru-cache';
import type { Changes } from '../checkpoint/changes.js';
import { storageFailed } from '../failure.js';
import { type Disk, readNow } from '../level/disk.js';
import type { Partitions } from '../level/partitions.js';
import { OUTCOME, openAs } from '../level/records.js';

/** Number of recent outcomes in memory, for retries and resolvers. */
const RECENT_OUTCOMES = 8192;

/** Reads the outcomes of transactions: from memory, or from LevelDB synchronously. */
export class Outcomes {
  /** The latest ones by their disk keys. */
  readonly recent = new LRUCache<string, OutcomeRecord>({ max: RECENT_OUTCOMES });

  constructor(
    readonly disk: Disk,
    readonly partitions: Partitions,
    readonly changes: Changes,
  ) {}

  /** The outcome of a transaction, unless the horizon has passed it. */
  of(partitionId: PartitionId, txId: TxId): OutcomeRecord | undefined {
    const partition = this.partitions.of(partitionId);
    const name = partition.keys.outcome(txId);
    const known =
      partition.outcomes.get(txId) ??
      this.recent.get(name) ??
      this.changes.outcomeOf(partition, txId) ??
      this.#onDisk(name);
    return known === undefined || known.ts < partition.horizons.forgottenUpTo ? undefined : known;
  }

  #onDisk(name: string): OutcomeRecord | undefined {
    let bytes: Buffer | undefined;
    try {
      bytes = readNow(this.disk, name);
    } catch (error) {
      throw storageFailed('Cannot read from disk', error);
    }
    if (bytes === undefined) return undefined;
    const record = openAs(OUTCOME, bytes, name);
    this.recent.set(name, record);
    return record;
  }
}

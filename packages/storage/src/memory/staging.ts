import type { DurableFact, OutcomeRecord, PartitionId, QualifiedKey, StoredVersion } from '@isochron/core';
import type { LRUCache } from 'lru-cache';
import { logEntry } from '../changelog/log-entries.js';
import { ownVersion } from '../commit-job.js';
import type { Partitions } from '../level/partitions.js';
import { type Chain, Removal } from './chain.js';
import type { ChainCache } from './chain-cache.js';
import type { ChainLoader } from './chain-loader.js';

/** Shows the facts of batches that are not durable yet. */
export class Staging {
  constructor(
    readonly partitions: Partitions,
    readonly loader: ChainLoader,
    readonly cache: ChainCache,
    /** The latest outcomes by their disk keys. */
    readonly recent: LRUCache<string, OutcomeRecord>,
  ) {}

  /**
   * Makes the facts of a batch visible. Returns the chain of every version and removal, in order, pinned once each.
   */
  stage(facts: readonly DurableFact[]): Chain[] {
    const chains: Chain[] = [];
    for (const record of facts) {
      if (record.kind === 'version') chains.push(this.#stageChange(record, ownVersion(record.version)));
      else if (record.kind === 'remove') chains.push(this.#stageChange(record, new Removal(record.ts, record.txId)));
      else if (record.kind === 'outcome') this.partitions.of(record.partition).outcomes.set(record.txId, record.record);
      else if (record.kind === 'log') {
        const partition = this.partitions.of(record.partition);
        const entry = logEntry(record);
        partition.log.add(entry);
        partition.logs.forEachPage((page) => page.add(entry));
      }
    }
    return chains;
  }

  /** The batch is durable, and reads find its facts in their places. */
  unstage(facts: readonly DurableFact[], chains: readonly Chain[]): void {
    for (const chain of chains) {
      chain.unstage();
      this.cache.unpin(chain);
    }
    for (const record of facts) {
      if (record.kind !== 'outcome') continue;
      const { outcomes, keys } = this.partitions.of(record.partition);
      this.recent.set(keys.outcome(record.txId), record.record);
      if (outcomes.get(record.txId) === record.record) outcomes.delete(record.txId);
    }
  }

  #stageChange(to: { partition: PartitionId; key: QualifiedKey }, change: StoredVersion | Removal): Chain {
    const partition = this.partitions.of(to.partition);
    const chain = this.loader.pinned(partition, to.key);
    chain.stage(change);
    partition.lists.forEachPage((page) => page.touch(to.key, change.ts));
    return chain;
  }
}

import type { Belongs, PartitionId, QualifiedKey, ReadNeeds, StoredVersion, Timestamp, Version } from '@isochron/core';
import type { Chain } from './chain.js';
import type { ChainCache } from './chain-cache.js';
import type { ChainLoader } from './chain-loader.js';
import { storageFailed } from './failure.js';
import type { Partition } from './partition.js';
import type { Partitions } from './partitions.js';
import { type Tails, tailOf } from './tails.js';
import { asRead, freshestIn, visibleIn } from './versions.js';

/** The needs that chains in memory meet. */
export type ChainNeeds = Extract<ReadNeeds, { kind: 'keys' | 'chains' }>;

/** Whether a chain is in memory: its head, or all of it. */
const holds = (chain: Chain | undefined, kind: ChainNeeds['kind']): boolean =>
  chain?.loaded === true && (kind === 'keys' || chain.whole);

/** Reads versions: from memory, or from LevelDB synchronously. */
export class ChainReads {
  constructor(
    readonly partitions: Partitions,
    readonly cache: ChainCache,
    readonly loader: ChainLoader,
    readonly tails: Tails,
  ) {}

  /** The freshest version at or below a snapshot. */
  read(partitionId: PartitionId, key: QualifiedKey, snapshot: Timestamp): Version | undefined {
    const chain = this.#chain(partitionId, key);
    if (chain.removals > 0) return this.find(partitionId, key, ({ ts }) => ts <= snapshot);
    let version = visibleIn(chain.versions, snapshot);
    if (version === undefined && !chain.whole)
      version = this.#readTail((tails) => tails.visible(tailOf(chain), snapshot));
    const shown = chain.staged === null ? version : chain.withStaged(version, ({ ts }) => ts <= snapshot);
    return shown && asRead(shown);
  }

  /** The freshest version that belongs to a snapshot. */
  find(partitionId: PartitionId, key: QualifiedKey, belongs: Belongs): Version | undefined {
    const chain = this.#chain(partitionId, key);
    const stored = chain.belonging(belongs);
    let version = freshestIn(chain.versions, stored);
    if (version === undefined && !chain.whole) version = this.#readTail((tails) => tails.find(tailOf(chain), stored));
    const shown = chain.staged === null ? version : chain.withStaged(version, belongs);
    return shown && asRead(shown);
  }

  /** Whether memory has the needed chains. */
  resident(partition: Partition, { kind, keys }: ChainNeeds): boolean {
    return keys.every((key) => holds(this.cache.get(partition, key), kind));
  }

  /** Brings the needed chains to memory. */
  async load(partition: Partition, { kind, keys }: ChainNeeds): Promise<void> {
    const missing = keys.filter((key) => !holds(this.cache.get(partition, key), kind));
    this.cache.misses += missing.length;
    const chains = missing.map((key) => this.loader.pinned(partition, key));
    try {
      await this.loader.load(chains);
      if (kind === 'chains') await this.loader.complete(chains);
    } finally {
      for (const chain of chains) this.cache.unpin(chain);
    }
  }

  /** The chain of a key, loaded synchronously when it must be. */
  #chain(partitionId: PartitionId, key: QualifiedKey): Chain {
    const partition = this.partitions.of(partitionId);
    let chain = this.cache.get(partition, key);
    if (chain?.loaded) this.cache.hits++;
    else {
      this.cache.misses++;
      chain = this.#loadSync(partition, key);
    }
    chain.hot = true;
    return chain;
  }

  #loadSync(partition: Partition, key: QualifiedKey): Chain {
    try {
      return this.loader.loadSync(partition, key);
    } catch (error) {
      throw storageFailed('Cannot read from disk', error);
    }
  }

  /** Looks further down a chain that is not in memory as a whole. */
  #readTail(look: (tails: Tails) => StoredVersion | undefined): StoredVersion | undefined {
    try {
      return look(this.tails);
    } catch (error) {
      throw storageFailed('Cannot read from disk', error);
    }
  }
}

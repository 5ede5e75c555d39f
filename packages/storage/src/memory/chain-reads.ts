import {
  type Belongs,
  compareVersions,
  isPlain,
  type PartitionId,
  type QualifiedKey,
  type ReadNeeds,
  type StoredVersion,
  type Timestamp,
  type Version,
} from '@isochron/core';
import { storageFailed } from '../failure.js';
import type { Partitions } from '../level/partitions.js';
import { type Tails, tailOf } from '../level/tails.js';
import { freshestIn, indexAtOrBelow, insertSorted, visibleIn } from '../versions.js';
import { Chain } from './chain.js';
import type { ChainCache } from './chain-cache.js';
import type { ChainLoader } from './chain-loader.js';
import { type Folder, KeptFolds } from './folds.js';
import type { Partition } from './partition.js';
import type { RowVersion } from './rows.js';

/** The needs that chains in memory meet. */
export type ChainNeeds = Extract<ReadNeeds, { kind: 'keys' | 'chains' }>;

/** Reads versions: from memory, or from LevelDB synchronously. */
export class ChainReads {
  constructor(
    readonly partitions: Partitions,
    readonly cache: ChainCache,
    readonly loader: ChainLoader,
    readonly tails: Tails,
    readonly folder: Folder,
  ) {}

  /** The fold of the versions at or below a snapshot. */
  read(partitionId: PartitionId, key: QualifiedKey, snapshot: Timestamp): Version | undefined {
    const chain = this.#held(partitionId, key);
    if (!(chain instanceof Chain)) return chain.ts <= snapshot ? chain : undefined;
    if (chain.removals > 0) return this.find(partitionId, key, ({ ts }) => ts <= snapshot);
    let version = visibleIn(chain.versions, snapshot);
    if (version === undefined && !chain.whole)
      version = this.#readTail((tails) => tails.visible(tailOf(chain), snapshot));
    if (chain.staged !== null) version = chain.withStaged(version, ({ ts }) => ts <= snapshot);
    return version === undefined || isPlain(version)
      ? version
      : this.#fold(chain, ({ ts }) => ts <= snapshot, snapshot);
  }

  /** The fold of the versions that belong to a snapshot. */
  find(partitionId: PartitionId, key: QualifiedKey, belongs: Belongs): Version | undefined {
    const chain = this.#held(partitionId, key);
    if (!(chain instanceof Chain)) return belongs(chain) ? chain : undefined;
    const stored = chain.belonging(belongs);
    let version = freshestIn(chain.versions, stored);
    if (version === undefined && !chain.whole) version = this.#readTail((tails) => tails.find(tailOf(chain), stored));
    if (chain.staged !== null) version = chain.withStaged(version, belongs);
    return version === undefined || isPlain(version) ? version : this.#fold(chain, belongs);
  }

  /**
   * The fold of the versions that belong to a snapshot, the newest of which is an update.
   * @param upTo the timestamp of the snapshot, if one timestamp describes it: then results are kept
   */
  #fold(chain: Chain, belongs: Belongs, upTo?: Timestamp): Version | undefined {
    try {
      const staged = chain.stagedIn(belongs);
      const stored = this.#newestFirst(chain, chain.belonging(belongs), upTo);
      const { value: newest } = stored.next();
      if (newest === undefined) return this.folder.over(undefined, staged);
      if (staged.length > 0 && compareVersions(staged[0]!, newest) <= 0) {
        const all = [newest, ...stored].reverse();
        for (const version of staged) insertSorted(all, version);
        return this.folder.over(undefined, all);
      }
      const below = isPlain(newest) ? newest : this.#keptFold(chain, newest, stored, upTo);
      return this.folder.over(below, staged);
    } catch (error) {
      throw storageFailed('Cannot read from disk', error);
    }
  }

  #keptFold(chain: Chain, newest: StoredVersion, older: Iterable<StoredVersion>, upTo?: Timestamp): Version {
    if (upTo === undefined || chain.removals > 0) return this.folder.upTo(newest, older);
    chain.folds ??= new KeptFolds();
    const { bytes } = chain.folds;
    const result = this.folder.upTo(newest, older, chain.folds);
    this.cache.grow(chain, chain.folds.bytes - bytes);
    return result;
  }

  /** Stored versions that belong to a snapshot, from memory and then from disk. */
  *#newestFirst(chain: Chain, belongs: Belongs, upTo?: Timestamp): Generator<StoredVersion, undefined> {
    const { versions } = chain;
    const newest = upTo === undefined ? versions.length - 1 : indexAtOrBelow(versions, upTo);
    for (let i = newest; i >= 0; i--) if (belongs(versions[i]!)) yield versions[i]!;
    const oldest = versions[0];
    if (chain.whole || oldest === undefined) return;
    const isBelow = (version: StoredVersion) =>
      compareVersions(version, oldest) < 0 && (upTo === undefined || version.ts <= upTo);
    for (const version of this.tails.newestFirst(tailOf(chain), isBelow)) if (belongs(version)) yield version;
  }

  /** Whether memory has the needed chains. */
  resident(partition: Partition, { kind, keys }: ChainNeeds): boolean {
    return keys.every((key) => this.#holds(partition, key, kind));
  }

  /** Brings the needed chains to memory. */
  async load(partition: Partition, { kind, keys }: ChainNeeds): Promise<void> {
    const missing = keys.filter((key) => !this.#holds(partition, key, kind));
    this.cache.misses += missing.length;
    const chains = missing.map((key) => this.loader.pinned(partition, key));
    try {
      await this.loader.load(chains);
      if (kind === 'chains') await this.loader.complete(chains);
    } finally {
      for (const chain of chains) this.cache.unpin(chain);
    }
  }

  /** Whether a key is in memory: its head, or all of it. */
  #holds(partition: Partition, key: QualifiedKey, kind: ChainNeeds['kind']): boolean {
    const chain = this.cache.get(partition, key);
    if (chain === undefined) return this.cache.rows.has(partition.id, key);
    return chain.loaded && (kind === 'keys' || chain.whole);
  }

  /** The only version of a settled key that is a row, or the key's chain, loaded synchronously when it must be. */
  #held(partitionId: PartitionId, key: QualifiedKey): RowVersion | Chain {
    const partition = this.partitions.of(partitionId);
    let chain = this.cache.get(partition, key);
    const row = chain === undefined ? this.cache.rows.read(partitionId, key) : undefined;
    if (chain?.loaded || row !== undefined) this.cache.hits++;
    if (row !== undefined) return row;
    if (!chain?.loaded) {
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

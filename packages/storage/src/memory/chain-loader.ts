import type { QualifiedKey } from '@isochron/core';
import { type Disk, readNow } from '../level/disk.js';
import { openHead } from '../level/records.js';
import type { Tails } from '../level/tails.js';
import type { Chain } from './chain.js';
import type { ChainCache } from './chain-cache.js';
import type { Partition } from './partition.js';

/** How many chains a commit reads without leaving the thread. */
const READ_AT_ONCE = 32;
/** How many chains one disk operation reads, where several can run. */
const READ_TOGETHER = 1000;

/** Brings chains from disk into the cache. */
export class ChainLoader {
  constructor(
    readonly disk: Disk,
    readonly cache: ChainCache,
    readonly tails: Tails,
  ) {}

  /** The chain of a key, pinned, whether it is loaded or not. */
  pinned(partition: Partition, key: QualifiedKey): Chain {
    const chain = this.cache.get(partition, key);
    if (chain === undefined) return this.cache.create(partition, key);
    this.cache.pin(chain);
    return chain;
  }

  /**
   * Loads the chains that are not loaded, with one disk operation for all of them. The chains must be pinned: if one
   * were evicted and written meanwhile, the result would be outdated.
   */
  async load(chains: readonly Chain[]): Promise<void> {
    const missing = chains.filter((chain) => !chain.loaded);
    if (missing.length === 0) return;
    const heads = await this.disk.getMany(missing.map((chain) => chain.partition.keys.head(chain.key)));
    missing.forEach((chain, i) => {
      this.#fill(chain, heads[i]);
    });
  }

  /** As `load`, for many chains: in several disk operations at a time. A chain may be named twice. */
  async loadMany(chains: readonly Chain[]): Promise<void> {
    const missing = [...new Set(chains.filter((chain) => !chain.loaded))];
    const parts: Promise<void>[] = [];
    for (let at = 0; at < missing.length; at += READ_TOGETHER)
      parts.push(this.load(missing.slice(at, at + READ_TOGETHER)));
    await Promise.all(parts);
  }

  /**
   * Brings in the older versions of loaded chains. A chain that changes meanwhile is left as it is: its readers go to
   * disk.
   */
  async complete(chains: readonly Chain[]): Promise<void> {
    const partial = chains.filter((chain) => !chain.whole);
    const tails = await Promise.all(partial.map((chain) => this.tails.readAll(chain)));
    partial.forEach((chain, i) => {
      const older = tails[i];
      if (older === undefined) return;
      chain.complete(older);
      this.cache.resize(chain);
    });
  }

  /**
   * As `load`, for the chains that a commit is about to rewrite. A few are read at once: most of them are new keys,
   * which the bloom filters answer in 2 µs, while a request to another thread costs the commit some 100 µs.
   */
  async loadForCommit(chains: readonly Chain[]): Promise<void> {
    const missing = chains.filter((chain) => !chain.loaded);
    if (missing.length > READ_AT_ONCE) return this.load(missing);
    for (const chain of missing) this.#fill(chain, readNow(this.disk, chain.partition.keys.head(chain.key)));
  }

  /** Loads one chain synchronously. */
  loadSync(partition: Partition, key: QualifiedKey): Chain {
    const chain = this.pinned(partition, key);
    try {
      if (!chain.loaded) this.#fill(chain, readNow(this.disk, partition.keys.head(key)));
    } finally {
      this.cache.unpin(chain);
    }
    return chain;
  }

  #fill(chain: Chain, bytes: Buffer | undefined): void {
    if (chain.loaded) return;
    chain.fill(bytes === undefined ? undefined : openHead(bytes, chain.partition.keys.head(chain.key)));
    this.cache.resize(chain);
  }
}

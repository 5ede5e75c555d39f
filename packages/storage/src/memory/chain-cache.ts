import { getHeapStatistics } from 'node:v8';
import type { QualifiedKey } from '@isochron/core';
import { Chain } from './chain.js';
import type { Partition } from './partition.js';
import { Rows, type RowVersion } from './rows.js';

/** Chains that are not pinned take at most this part of the rows' memory, once both together reach the limit. */
const CHAINS_TO_ROWS = 1 / 3;
/** Chains take at most this part of the JavaScript heap, which holds what a node does beside them, and garbage. */
const HEAP_TO_CHAINS = 1 / 3;
/** Pages of rows are at most this part of the limit. */
const PAGES = 16;

/**
 * Keys in memory under a byte limit: a settled key is a row, any other key a chain, no key is both. A chain is made
 * from the row when something may change the key, and becomes a row when the key has settled. Chains are evicted by
 * second chance, so that a read costs one map lookup and one flag. Pinned chains (with versions on their way to disk,
 * or being loaded) count but stay.
 */
export class ChainCache {
  /** By partition and key. */
  readonly #chains: Map<QualifiedKey, Chain>[] = [];
  /** Ends of the list of chains that may be evicted. */
  #newest: Chain | null = null;
  #oldest: Chain | null = null;
  /** Settled keys. */
  readonly rows: Rows;
  /** Of the limit, what the JavaScript heap has room for. */
  readonly chainLimitBytes: number;
  chains = 0;
  hits = 0;
  misses = 0;
  #chainBytes = 0;
  /** Of the chains that are not pinned. */
  #idleBytes = 0;

  constructor(readonly limitBytes: number) {
    this.rows = new Rows(limitBytes / PAGES);
    this.chainLimitBytes = Math.min(limitBytes, getHeapStatistics().heap_size_limit * HEAP_TO_CHAINS);
  }

  /** Of chains that must stay: with changes, or waiting for a commit or for the disk. */
  get pinnedBytes(): number {
    return this.#chainBytes - this.#idleBytes;
  }

  /** Estimate of the memory that chains take, and the memory of the rows. */
  get bytes(): number {
    return this.#chainBytes + this.rows.bytes;
  }

  /** Keys in memory. */
  get keys(): number {
    return this.chains + this.rows.count;
  }

  /** The chain of a key, if it is in memory. */
  get({ id }: Partition, key: QualifiedKey): Chain | undefined {
    return this.#chains[id]?.get(key);
  }

  /** Adds a chain, pinned once: the key's row becomes a chain; a key without a row has no content yet. */
  create(partition: Partition, key: QualifiedKey): Chain {
    const chain = new Chain(partition, key);
    chain.pins = 1;
    const row = this.rows.take(partition.id, key);
    if (row !== undefined) {
      chain.fill({ first: row.first, last: row.first - 1, tailCount: 0, versions: [row.version] });
      chain.bytes = chain.measure();
    }
    let chains = this.#chains[partition.id];
    if (chains === undefined) {
      chains = new Map();
      this.#chains[partition.id] = chains;
    }
    chains.set(key, chain);
    chain.isCached = true;
    this.#chainBytes += chain.bytes;
    this.chains++;
    return chain;
  }

  pin(chain: Chain): void {
    if (chain.pins++ === 0) this.#unlink(chain);
  }

  unpin(chain: Chain): void {
    if (--chain.pins > 0) return;
    const { only } = chain;
    if (only !== undefined && this.rows.holds(only)) this.#settle(chain, only);
    else this.#link(chain);
    this.#evict();
  }

  /** Takes note of a chain's present size. Evicts at the next `unpin`. */
  resize(chain: Chain): void {
    const bytes = chain.measure();
    this.grow(chain, bytes - chain.bytes);
  }

  /** A read has kept folds of a chain: `bytes` more than before. Evicts at the next `unpin`. */
  grow(chain: Chain, bytes: number): void {
    // A chain that was evicted while it was read counts no more.
    if (!chain.isCached) return;
    this.#chainBytes += bytes;
    if (chain.pins === 0) this.#idleBytes += bytes;
    chain.bytes += bytes;
  }

  #evict(): void {
    while (this.#chainBytes > this.chainLimitBytes && this.#oldest !== null) this.#evictChain(this.#oldest);
    while (this.bytes > this.limitBytes) {
      const isOfChains = this.#idleBytes > this.rows.bytes * CHAINS_TO_ROWS || this.rows.count === 0;
      if (!isOfChains) this.rows.evict();
      else if (this.#oldest !== null) this.#evictChain(this.#oldest);
      else return;
    }
  }

  #evictChain(chain: Chain): void {
    this.#unlink(chain);
    if (chain.hot) {
      chain.hot = false;
      this.#link(chain);
    } else this.#drop(chain);
  }

  #settle(chain: Chain, version: RowVersion): void {
    this.#drop(chain);
    this.rows.put(chain.partition.id, chain.key, { version, first: chain.first });
  }

  #drop(chain: Chain): void {
    this.#chains[chain.partition.id]!.delete(chain.key);
    chain.isCached = false;
    this.#chainBytes -= chain.bytes;
    this.chains--;
  }

  #link(chain: Chain): void {
    this.#idleBytes += chain.bytes;
    chain.older = this.#newest;
    if (this.#newest === null) this.#oldest = chain;
    else this.#newest.newer = chain;
    this.#newest = chain;
  }

  #unlink(chain: Chain): void {
    this.#idleBytes -= chain.bytes;
    if (chain.newer === null) this.#newest = chain.older;
    else chain.newer.older = chain.older;
    if (chain.older === null) this.#oldest = chain.newer;
    else chain.older.newer = chain.newer;
    chain.newer = null;
    chain.older = null;
  }
}

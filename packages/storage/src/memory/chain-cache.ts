import type { QualifiedKey } from '@isochron/core';
import { Chain } from './chain.js';
import type { Partition } from './partition.js';

/**
 * Chains in memory under a byte limit: second chance, so that a read costs one map lookup and one flag. Pinned chains
 * (with versions on their way to disk, or being loaded) count but stay.
 */
export class ChainCache {
  /** By partition and key. */
  readonly #chains: Map<QualifiedKey, Chain>[] = [];
  /** Ends of the list of chains that may be evicted. */
  #newest: Chain | null = null;
  #oldest: Chain | null = null;
  bytes = 0;
  chains = 0;
  hits = 0;
  misses = 0;

  constructor(readonly limitBytes: number) {}

  /** The chain of a key, if it is in memory. */
  get({ id }: Partition, key: QualifiedKey): Chain | undefined {
    return this.#chains[id]?.get(key);
  }

  /** Adds a chain without content, pinned once. */
  create(partition: Partition, key: QualifiedKey): Chain {
    const chain = new Chain(partition, key);
    chain.pins = 1;
    let chains = this.#chains[partition.id];
    if (chains === undefined) {
      chains = new Map();
      this.#chains[partition.id] = chains;
    }
    chains.set(key, chain);
    this.bytes += chain.bytes;
    this.chains++;
    return chain;
  }

  pin(chain: Chain): void {
    if (chain.pins++ === 0) this.#unlink(chain);
  }

  unpin(chain: Chain): void {
    if (--chain.pins > 0) return;
    this.#link(chain);
    this.#evict();
  }

  /** Takes note of a chain's present size. Evicts at the next `unpin`. */
  resize(chain: Chain): void {
    const bytes = chain.measure();
    this.bytes += bytes - chain.bytes;
    chain.bytes = bytes;
  }

  /** A read has kept folds of a chain: `bytes` more than before. Evicts at the next `unpin`. */
  grow(chain: Chain, bytes: number): void {
    this.bytes += bytes;
    chain.bytes += bytes;
  }

  /** Whether the pinned chains alone exceed the limit: only a checkpoint can change that. */
  get isOverfull(): boolean {
    this.#evict();
    return this.bytes > this.limitBytes;
  }

  #evict(): void {
    while (this.bytes > this.limitBytes && this.#oldest !== null) {
      const chain = this.#oldest;
      this.#unlink(chain);
      if (chain.hot) {
        chain.hot = false;
        this.#link(chain);
      } else {
        this.#chains[chain.partition.id]!.delete(chain.key);
        this.bytes -= chain.bytes;
        this.chains--;
      }
    }
  }

  #link(chain: Chain): void {
    chain.older = this.#newest;
    if (this.#newest === null) this.#oldest = chain;
    else this.#newest.newer = chain;
    this.#newest = chain;
  }

  #unlink(chain: Chain): void {
    if (chain.newer === null) this.#newest = chain.older;
    else chain.newer.older = chain.older;
    if (chain.older === null) this.#oldest = chain.newer;
    else chain.older.newer = chain.newer;
    chain.newer = null;
    chain.older = null;
  }
}

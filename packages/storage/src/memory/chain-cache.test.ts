import { getHeapStatistics } from 'node:v8';
import type { StoredVersion } from '@isochron/core';
import type { Chain } from './chain.js';
import { ChainCache } from './chain-cache.js';
import { Partition } from './partition.js';

const partition = new Partition(0, {} as never);
const version = (ts: number, value = 'v'.repeat(50)): StoredVersion => ({ ts, txId: `tx.${ts}`, region: 'p', value });

/** A key as it comes from disk, pinned. */
function loaded(cache: ChainCache, key: string, ...versions: readonly StoredVersion[]): Chain {
  const chain = cache.create(partition, key);
  if (!chain.loaded) chain.fill({ first: 0, last: -1, tailCount: 0, versions: [...versions] });
  cache.resize(chain);
  return chain;
}

describe('keys in memory', () => {
  it('a settled key becomes a row when its last pin goes, and a chain again when something may change it', () => {
    const cache = new ChainCache(2 ** 20);
    const chain = loaded(cache, 'a', version(1));
    cache.pin(chain);
    cache.unpin(chain);
    expect([cache.chains, cache.rows.count]).toEqual([1, 0]);
    cache.unpin(chain);
    expect([cache.chains, cache.rows.count, cache.keys, cache.get(partition, 'a')]).toEqual([0, 1, 1, undefined]);
    expect(cache.bytes).toBe(cache.rows.bytes);
    const again = cache.create(partition, 'a');
    expect([again.loaded, again.onDisk, again.versions]).toEqual([true, true, [version(1)]]);
    expect([cache.chains, cache.rows.count]).toEqual([1, 0]);
    expect([cache.bytes, again.bytes]).toEqual([chain.bytes, chain.bytes]);
  });

  it.each<[string, readonly StoredVersion[]]>([
    ['with two versions', [version(1), version(2)]],
    ['that is deleted', [{ ...version(1), value: null }]],
    ['that is absent', []],
  ])('a key %s stays a chain', (_what, versions) => {
    const cache = new ChainCache(2 ** 20);
    const chain = cache.create(partition, 'a');
    chain.fill(versions.length === 0 ? undefined : { first: 0, last: -1, tailCount: 0, versions: [...versions] });
    cache.unpin(chain);
    expect([cache.chains, cache.rows.count]).toEqual([1, 0]);
  });

  it('a chain that was evicted while it was read changes the count of bytes no more', () => {
    const cache = new ChainCache(0);
    const chain = loaded(cache, 'a', version(1), version(2));
    cache.unpin(chain);
    expect([cache.get(partition, 'a'), cache.bytes]).toEqual([undefined, 0]);
    cache.grow(chain, 1_000);
    expect(cache.bytes).toBe(0);
  });

  it('keys of all sizes stay below the limit, and other keys than settled ones leave the rows three quarters', () => {
    const limit = 2 ** 20;
    const cache = new ChainCache(limit);
    for (let i = 0; i < 20_000; i++) {
      const value = 'v'.repeat((i * 7919) % 900);
      const versions = i % 2 === 0 ? [version(i, value)] : [version(i, value), version(i + 1, value)];
      cache.unpin(loaded(cache, `k${(i * 31) % 6_000}`, ...versions));
      expect(cache.bytes).toBeLessThanOrEqual(limit);
    }
    expect(cache.rows.bytes).toBeGreaterThan(limit * 0.6);
    expect(cache.chains).toBeGreaterThan(100);
  });

  it('pinned chains are never evicted, and rows make room for them', () => {
    const cache = new ChainCache(20_000);
    for (let i = 0; i < 50; i++) cache.unpin(loaded(cache, `row ${i}`, version(i)));
    expect(cache.rows.count).toBe(50);
    const pinned = Array.from({ length: 60 }, (_, i) => loaded(cache, `pinned ${i}`, version(i)));
    expect(cache.pinnedBytes).toBeGreaterThan(20_000);
    cache.unpin(loaded(cache, 'other', version(1)));
    expect([cache.rows.count, cache.chains]).toEqual([0, 60]);
    for (const chain of pinned) cache.unpin(chain);
    expect([cache.pinnedBytes, cache.chains]).toEqual([0, 0]);
    expect(cache.rows.count).toBeGreaterThan(0);
  });

  it('chains take no more of the JavaScript heap than a third, whatever the limit', () => {
    const heap = getHeapStatistics().heap_size_limit;
    expect(new ChainCache(2 ** 20).chainLimitBytes).toBe(2 ** 20);
    const cache = new ChainCache(2 ** 40);
    expect(cache.chainLimitBytes).toBe(heap / 3);
    const [first, second] = ['a', 'b'].map((key) => loaded(cache, key, version(1), version(2)));
    for (const chain of [first!, second!]) cache.unpin(chain);
    // A chain that is counted as most of the heap.
    cache.grow(second!, heap / 3);
    cache.unpin(loaded(cache, 'c', version(1)));
    expect([cache.chains, cache.rows.count, cache.get(partition, 'a')]).toEqual([0, 1, undefined]);
  });
});

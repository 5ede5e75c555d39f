import { rm } from 'node:fs/promises';
import { Update } from '@isochron/core';
import { testFolder } from '@isochron/testing/storage/folder';
import { collect, FOREVER, P, put, v } from '@isochron/testing/storage/suite-fixtures';
import { openLevelStore } from '../level-store.js';
import type { VersionStore } from '../store.js';
import { openMemoryStore } from './memory-store.js';

const COUNT = 100_000;
const PART = 1_000;
const INCREMENT = new Update('[{"op":"increment","path":"/n","by":1}]');
const counted = (n: number): string => `{"n":${n}}`;

/** Writes the updates with a read after each part, as on a key that is read and written all the time. */
async function fill(store: VersionStore): Promise<void> {
  for (let from = 0; from < COUNT; from += PART) {
    await store.commit(Array.from({ length: PART }, (_, i) => put('a', v(from + i + 1, INCREMENT))));
    expect(store.read(P, 'a', FOREVER)?.value).toBe(counted(from + PART));
  }
}

describe.each(['memory', 'LevelDB'])('a hot key with 100,000 updates (F3), in %s', (kind) => {
  let store: VersionStore;
  let location: string;

  beforeEach(async () => {
    location = await testFolder('storage');
    store = kind === 'memory' ? openMemoryStore() : await openLevel();
  });
  afterEach(async () => {
    await store.close();
    await rm(location, { recursive: true, force: true });
  });
  const openLevel = () => openLevelStore({ location, durability: 'memory', cacheBytes: 2 ** 24 });

  it('a read folds only the updates that no read before it has folded', async () => {
    await fill(store);
    const before = store.stats().folded;
    expect(before).toBe(COUNT);
    for (let i = 0; i < 100; i++) expect(store.read(P, 'a', FOREVER)?.value).toBe(counted(COUNT));
    expect(store.stats().folded).toBe(before);
    await store.commit([put('a', v(COUNT + 1, INCREMENT))]);
    for (let i = 0; i < 100; i++)
      for (const at of [COUNT, COUNT + 1]) expect(store.read(P, 'a', at)?.value).toBe(counted(at));
    expect(store.stats().folded - before).toBeLessThanOrEqual(PART);
  });

  it('a read of an older snapshot folds no more updates than lie between it and the newest', async () => {
    await fill(store);
    for (const age of [1, 100, 1_500, 20_000]) {
      const { folded } = store.stats();
      expect(store.read(P, 'a', COUNT - age)?.value).toBe(counted(COUNT - age));
      expect(store.stats().folded - folded).toBeLessThanOrEqual(2 * age + PART);
    }
  });

  it('collection folds each update once, and leaves a chain that reads begin from', async () => {
    await fill(store);
    if (kind === 'LevelDB') {
      await store.close();
      store = await openLevel();
    }
    const { folded } = store.stats();
    for (let i = 0; i < 400; i++) {
      await store.commit([collect(COUNT - 500 + i)]);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(store.stats().folded - folded).toBeLessThanOrEqual(COUNT);
    expect(store.read(P, 'a', COUNT)?.value).toBe(counted(COUNT));
    expect(store.stats().partitions.get(P)?.versions).toBeLessThan(700);
  });
});

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LevelStoreOptions, openLevelStore } from './level-store.js';
import { ReopenableStore } from './reopenable-store.js';
import { runVersionStoreSuite, type StoreFactory } from './suite.js';

const factory =
  (options: Partial<LevelStoreOptions>): StoreFactory =>
  async () => {
    const location = await mkdtemp(join(tmpdir(), 'isochron-storage-'));
    const open = () => openLevelStore({ location, durability: 'memory', cacheBytes: 2 ** 24, ...options });
    let store = await open();
    return {
      store,
      reopen: async () => {
        await store.close();
        store = await open();
        return store;
      },
      destroy: async () => {
        await store.close();
        await rm(location, { recursive: true, force: true });
      },
    };
  };

runVersionStoreSuite('LevelDB', factory({}));
runVersionStoreSuite('LevelDB, synced', factory({ durability: 'synced' }));
runVersionStoreSuite('LevelDB that caches next to nothing', factory({ cacheBytes: 2000, logTailBytes: 0 }));

runVersionStoreSuite('LevelDB, opened anew in place', async () => {
  const location = await mkdtemp(join(tmpdir(), 'isochron-storage-'));
  const store = await ReopenableStore.open({ location, durability: 'memory', cacheBytes: 2 ** 24 });
  return {
    store,
    reopen: async () => {
      await store.reopen();
      return store;
    },
    destroy: async () => {
      await store.close();
      await rm(location, { recursive: true, force: true });
    },
  };
});

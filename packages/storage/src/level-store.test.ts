import { cp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { testFolder } from '@isochron/testing/storage/folder';
import { runVersionStoreSuite, type StoreFactory } from '@isochron/testing/storage/suite';
import { type LevelStoreOptions, openLevelStore } from './level-store.js';
import { ReopenableStore } from './reopenable-store.js';

const factory =
  (options: Partial<LevelStoreOptions>): StoreFactory =>
  async () => {
    const location = await testFolder('storage');
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

runVersionStoreSuite('LevelDB, with a checkpoint every few batches', factory({ checkpoint: { bytes: 2000, ms: 1 } }));

/** Every other time the files that a kill would leave are opened, with a part of the batches in the log alone. */
runVersionStoreSuite('LevelDB, killed instead of closed', async () => {
  const folder = await testFolder('storage');
  const checkpoint = { bytes: 2 ** 40, ms: 2 ** 30 };
  let location = join(folder, 'store');
  const open = () => openLevelStore({ location, durability: 'memory', cacheBytes: 2 ** 24, checkpoint });
  let store = await open();
  let reopened = 0;
  return {
    store,
    reopen: async () => {
      // Every commit before this one is acknowledged with it.
      await store.commit([]);
      if (reopened++ % 3 === 2) await store.recover();
      const left = join(folder, `store-${reopened}`);
      // LevelDB merges files in the background: a copy during which a file disappeared is made again.
      const files = async () =>
        (await readdir(location))
          .filter((name) => name !== 'log')
          .sort()
          .join();
      for (let before = ''; before !== (await files()); ) {
        await rm(left, { recursive: true, force: true });
        before = await files();
        await cp(location, left, { recursive: true }).catch(() => {
          before = '';
        });
      }
      await store.close();
      location = left;
      store = await open();
      // The collector repeats the work that the kill undid.
      await store.commit([]);
      return store;
    },
    destroy: async () => {
      await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
});

describe('a store that is opened anew in place', () => {
  it('a store that is opened anew in place lets go of the disk when it is closed meanwhile', async () => {
    const location = await testFolder('storage');
    const options = { location, durability: 'memory', cacheBytes: 2 ** 20 } as const;
    const store = await ReopenableStore.open(options);
    const reopening = store.reopen();
    await Promise.all([store.close(), reopening]);
    await expect(store.commit([])).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
    await (await openLevelStore(options)).close();
    await rm(location, { recursive: true });
  });
});

runVersionStoreSuite('LevelDB, opened anew in place', async () => {
  const location = await testFolder('storage');
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

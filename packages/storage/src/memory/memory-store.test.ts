import { runVersionStoreSuite } from '@isochron/testing/storage/suite';
import { MemoryState, openMemoryStore } from './memory-store.js';

runVersionStoreSuite('memory', async () => {
  const state = new MemoryState();
  let store = openMemoryStore(state);
  return {
    store,
    reopen: async () => {
      await store.close();
      store = openMemoryStore(state);
      return store;
    },
    destroy: () => store.close(),
  };
});

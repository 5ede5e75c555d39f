/** The time to open a store with many keys that was killed under load. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openLevelStore } from '@isochron/storage';
import type { Benchmark } from '../context.js';
import { atMost, lineOf } from '../figures.js';

const KEYS = 1_000_000;
const QUICK_KEYS = 2_000;
/** Number of keys before each further kill. */
const MORE_KEYS = 20_000;
const FILL = fileURLToPath(new URL('../limits/fill-store.js', import.meta.url));

export const startAfterKill: Benchmark = {
  name: 'start-after-kill',
  about: 'store with 1,000,000 keys that was killed under load: until it has recovered and read a key',
  run: async (context) => {
    const location = join(context.folder, 'killed');
    const samples: number[] = [];
    const first = context.settings.quick ? QUICK_KEYS : KEYS;
    let keys = 0;
    for (let round = 0; round < context.settings.rounds; round++) {
      const count = round === 0 ? first : Math.min(first, MORE_KEYS);
      context.progress.step(`keys ${keys} to ${keys + count}`);
      await fill(location, keys, count);
      keys += count;
      samples.push((await start(location, keys)) / 1000);
    }
    return [lineOf(`start of a store after kill -9, ${first.toLocaleString('en-US')} keys`, 's', samples, atMost(3))];
  },
};

async function fill(location: string, from: number, count: number): Promise<void> {
  const child = spawn(process.execPath, [FILL, location, String(from), String(count)], { stdio: 'inherit' });
  const [, signal] = await once(child, 'exit');
  if (signal !== 'SIGKILL') throw new Error('the process that fills the store failed');
}

/** Milliseconds until the store has recovered and read a key. */
async function start(location: string, keys: number): Promise<number> {
  const began = performance.now();
  const store = await openLevelStore({ location, durability: 'synced', cacheBytes: 40 * 2 ** 20 });
  await store.recover();
  const last = store.read(0, `default/key${keys - 1}`, Number.MAX_SAFE_INTEGER);
  const took = performance.now() - began;
  const stored = store.stats().partitions.get(0)?.keys;
  await store.close();
  if (last === undefined || stored !== keys) throw new Error(`the store has ${stored} of ${keys} keys`);
  return took;
}

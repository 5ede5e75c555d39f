/** The time to open a store with many keys that was killed with a full log. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openLevelStore } from '@isochron/storage';
import type { Benchmark } from '../context.js';
import { atMost, lineOf } from '../figures.js';

const KEYS = 1_000_000;
const QUICK_KEYS = 2_000;
/** Writes of the log that a start replays: 16 MiB, which is twice the part between two checkpoints. */
const REPLAYED = 115_000;
const FILL = fileURLToPath(new URL('../limits/fill-store.js', import.meta.url));
/** Of a node with 3 GiB of memory. */
const CACHE_BYTES = 768 * 2 ** 20;

export const startAfterKill: Benchmark = {
  name: 'start-after-kill',
  about: 'store with 1,000,000 keys that was killed with a full log: until it has recovered and read a key',
  run: async (context) => {
    const { quick, rounds } = context.settings;
    const killed = join(context.folder, 'killed');
    const keys = quick ? QUICK_KEYS : KEYS;
    const replayed = Math.min(keys, REPLAYED);
    context.progress.step(`${keys} keys`);
    await fill(killed, keys, replayed);
    const log = `${((await sizeOf(join(killed, 'log'))) / 2 ** 20).toFixed(0)} MiB of log`;
    const samples: number[] = [];
    for (let round = 0; round < rounds; round++) {
      context.progress.step(`start ${round + 1}`);
      const location = join(context.folder, 'started');
      await cp(killed, location, { recursive: true });
      samples.push((await start(location, keys)) / 1000);
      await rm(location, { recursive: true });
    }
    return [
      lineOf(`start of a store after kill -9, ${keys.toLocaleString('en-US')} keys, ${log}`, 's', samples, atMost(3)),
    ];
  },
};

async function fill(location: string, keys: number, replayed: number): Promise<void> {
  const args = [FILL, location, ...[CACHE_BYTES, keys, replayed].map(String)];
  const child = spawn(process.execPath, args, { stdio: 'inherit' });
  const [, signal] = await once(child, 'exit');
  if (signal !== 'SIGKILL') throw new Error('the process that fills the store failed');
}

async function sizeOf(folder: string): Promise<number> {
  const sizes = await Promise.all((await readdir(folder)).map(async (name) => (await stat(join(folder, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Milliseconds until the store has recovered and read a key. */
async function start(location: string, keys: number): Promise<number> {
  const began = performance.now();
  const store = await openLevelStore({ location, durability: 'synced', cacheBytes: CACHE_BYTES });
  await store.recover();
  const last = store.read(0, `default/key${keys - 1}`, Number.MAX_SAFE_INTEGER);
  const took = performance.now() - began;
  const stored = store.stats().partitions.get(0)?.keys;
  await store.close();
  if (last === undefined || stored !== keys) throw new Error(`the store has ${stored} of ${keys} keys`);
  return took;
}

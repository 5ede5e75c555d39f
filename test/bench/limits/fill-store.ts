/**
 * A process that puts keys into a store, in random order, then writes some of them again, and kills itself when the
 * last write is durable. The log holds all that was written again.
 */
import { randomBytes, randomInt } from 'node:crypto';
import type { DurableRecord } from '@isochron/core';
import { type LevelStoreOptions, openLevelStore } from '@isochron/storage';

const [location, cacheBytes, keys, again] = process.argv.slice(2);
/** About the size of a loaded node's apply round. */
const BATCH = 100;
const NO_CHECKPOINT = { bytes: 2 ** 40, ms: 2 ** 30, chainBytes: 2 ** 40 };

const open = (options: Partial<LevelStoreOptions> = {}) =>
  openLevelStore({ location: location!, durability: 'synced', cacheBytes: Number(cacheBytes), ...options });

function put(key: number, ts: number): DurableRecord {
  const version = { ts, txId: `t${ts}.${key}`, region: 'one', value: randomBytes(75).toString('base64') };
  return { kind: 'version', partition: 0, key: `default/key${key}`, version };
}

/** Numbers from 0 to below a bound, each once, in random order. */
function shuffled(count: number): number[] {
  const order = Array.from({ length: count }, (_, i) => i);
  for (let i = 0; i < count; i++) {
    const other = randomInt(i, count);
    [order[i], order[other]] = [order[other]!, order[i]!];
  }
  return order;
}

async function fill(count: number, rewrites: number): Promise<void> {
  let ts = 0;
  const write = async (written: readonly number[], options?: Partial<LevelStoreOptions>) => {
    const store = await open(options);
    for (let at = 0; at < written.length; at += BATCH) {
      ts++;
      await store.commit(written.slice(at, at + BATCH).map((key) => put(key, ts)));
    }
    return store;
  };
  const filled = await write(shuffled(count));
  await filled.close();
  await write(shuffled(count).slice(0, rewrites), { checkpoint: NO_CHECKPOINT });
  process.kill(process.pid, 'SIGKILL');
}

void fill(Number(keys), Number(again));

/** A process that puts keys into a store, in random order, and kills itself when the last of them is durable. */
import { randomBytes, randomInt } from 'node:crypto';
import type { DurableRecord } from '@isochron/core';
import { openLevelStore } from '@isochron/storage';

const [location, from, count] = process.argv.slice(2);
/** About the size of a loaded node's apply round. */
const BATCH = 100;

async function fill(first: number, end: number): Promise<void> {
  const store = await openLevelStore({ location: location!, durability: 'synced', cacheBytes: 40 * 2 ** 20 });
  const order = Array.from({ length: end - first }, (_, i) => first + i);
  for (let at = 0; at < order.length; at += BATCH) {
    const batch: DurableRecord[] = [];
    for (let i = at; i < Math.min(at + BATCH, order.length); i++) {
      const other = randomInt(i, order.length);
      [order[i], order[other]] = [order[other]!, order[i]!];
      const version = {
        ts: first + at,
        txId: `t${order[i]}`,
        region: 'one',
        value: randomBytes(75).toString('base64'),
      };
      batch.push({ kind: 'version', partition: 0, key: `default/key${order[i]}`, version });
    }
    await store.commit(batch);
  }
  process.kill(process.pid, 'SIGKILL');
}

void fill(Number(from), Number(from) + Number(count));

/** A process that commits numbered batches until it is killed, and prints the number of each that is durable. */
import type { DurableRecord } from '@isochron/core';
import { openLevelStore } from './level-store.js';

const [location, first] = process.argv.slice(2);

function batch(n: number): DurableRecord[] {
  const version = { ts: n + 1, txId: `t${n}`, region: 'virginia', value: `"${n}"` };
  const versions = Array.from({ length: 10 }, (_, i) => ({
    kind: 'version' as const,
    partition: 1,
    key: `k${i}`,
    version,
  }));
  return [
    { kind: 'log', partition: 1, ct: n + 1, tx: { txId: `t${n}`, writes: [] } },
    ...versions,
    { kind: 'version', partition: 1, key: 'latest', version },
    { kind: 'remove', partition: 1, key: 'latest', ts: n, txId: `t${n - 1}` },
    {
      kind: 'outcome',
      partition: 1,
      txId: `t${n}`,
      record: { status: 'committed', ts: n + 1, attempt: 0, digest: null },
    },
    { kind: 'meta', name: 'batch', value: n },
  ];
}

async function run(): Promise<void> {
  const store = await openLevelStore({ location: location!, durability: 'synced', cacheBytes: 2 ** 20 });
  // Two in flight, so that a kill meets one batch on its way and one waiting.
  let previous = Promise.resolve();
  for (let n = Number(first); ; n++) {
    const done = store.commit(batch(n)).then(() => {
      process.stdout.write(`${n}\n`);
    });
    await previous;
    previous = done;
  }
}

void run();

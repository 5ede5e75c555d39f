/** Memory of nodes that hold a million keys each. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Cluster, REGIONS } from './cluster.js';
import type { Benchmark } from './context.js';
import { atMost, figureOf } from './figures.js';

const KEYS = 1_000_000;
const VALUE_BYTES = 100;
const SAMPLE_INTERVAL_MS = 250;

export const memory: Benchmark = {
  name: 'memory',
  about: 'memory of nodes with 1,000,000 keys of 100 bytes',
  run: async (context) => {
    const count = context.settings.quick ? KEYS / 50 : KEYS;
    // Replicated everywhere, so that each node holds all of the keys.
    const cluster = await context.cluster('memory', { replication: REGIONS.length });
    const { peak, result } = await watchPeak(cluster, context.fill(cluster, { numbered: count }, VALUE_BYTES));
    const after = await rss(cluster);
    const keys = (await cluster.nodes[0]!.status()).partitions.reduce((sum, partition) => sum + partition.keys, 0);
    await context.stopCluster('memory');
    if (keys !== count) throw new Error(`the node holds ${keys} keys instead of ${count}`);
    const keysText = count.toLocaleString('en-US');
    const rate = (result.operations * 1000) / result.elapsedMs;
    return [
      {
        benchmark: 'memory',
        what: `memory of a node with ${keysText} keys of ${VALUE_BYTES} bytes (RSS; the largest of 3)`,
        unit: 'MB',
        measured: figureOf([after / 1e6]),
        target: atMost(450),
      },
      {
        benchmark: 'memory',
        what: 'the same, highest while they were written',
        unit: 'MB',
        measured: figureOf([peak / 1e6]),
      },
      {
        benchmark: 'memory',
        what: 'keys written meanwhile: SDK, 1000 in a commit, 6 sessions, 3 replicas',
        unit: '/s',
        measured: figureOf([rate]),
      },
    ];
  },
};

async function rss(cluster: Cluster): Promise<number> {
  const statuses = await Promise.all(cluster.nodes.map((node) => node.status()));
  return Math.max(...statuses.map(({ rssBytes }) => rssBytes));
}

/** The largest RSS of any node while the work goes on, bytes. */
async function watchPeak<R>(cluster: Cluster, work: Promise<R>): Promise<{ peak: number; result: R }> {
  let peak = 0;
  let working = true;
  const watch = async (): Promise<void> => {
    while (working) {
      const [now] = await Promise.all([rss(cluster), delay(SAMPLE_INTERVAL_MS)]);
      peak = Math.max(peak, now);
    }
  };
  const watching = watch();
  try {
    await Promise.race([work, watching]);
  } finally {
    working = false;
  }
  await watching;
  return { peak, result: await work };
}

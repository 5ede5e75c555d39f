/** Nodes that hold a million keys each, or ten: memory, and reads that no cache holds. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Cluster, REGIONS } from '../cluster.js';
import type { Benchmark, Context } from '../context.js';
import { atMost, type Line, lineOf, type Target } from '../figures.js';
import type { ColdReadsJob } from '../load/cold-reads.js';
import { mappedBytes } from '../proc.js';
import { type Load, rowParts, sampleOf, takeTurns } from '../rounds.js';

const VALUE_BYTES = 100;
const SAMPLE_INTERVAL_MS = 250;
const QUICK_KEYS = 4000;
/** Concurrent cold reads. */
const IN_FLIGHT = 4;

interface Size {
  readonly name: string;
  readonly keys: number;
  readonly targets: { readonly memory: Target; readonly coldReads?: Target };
  readonly large: boolean;
}

const SIZES: readonly Size[] = [
  { name: 'memory', keys: 1_000_000, targets: { memory: atMost(250) }, large: false },
  { name: 'memory-large', keys: 10_000_000, targets: { memory: atMost(1000), coldReads: atMost(2) }, large: true },
];

export const memoryBenchmarks: readonly Benchmark[] = SIZES.map((size) => ({
  name: size.name,
  about: `memory of nodes with ${size.keys.toLocaleString('en-US')} keys of ${VALUE_BYTES} bytes, and cold reads`,
  large: size.large,
  run: (context) => run(context, size),
}));

async function run(context: Context, { name, keys, targets }: Size): Promise<Line[]> {
  const count = context.settings.quick ? QUICK_KEYS : keys;
  const values = context.valuesOf(VALUE_BYTES);
  // Replicated everywhere, so that each node holds all of the keys.
  const cluster = await context.cluster(name, { replication: REGIONS.length });
  const fill = () => context.fill(cluster, { numbered: count }, { values });
  const { peak, result } = await watchPeak(cluster, sampleOf(fill, cluster.pids));
  const after = await rss(cluster);
  const mapped = cluster.pids.flatMap((pid) => mappedBytes(pid) ?? []);
  const held = (await cluster.nodes[0]!.status()).partitions.reduce((sum, partition) => sum + partition.keys, 0);
  if (held !== count) throw new Error(`the node holds ${held} keys instead of ${count}`);
  const cold = await coldReads(context, cluster, count);
  await context.stopCluster(name);
  const keysText = `${count.toLocaleString('en-US')} keys of ${VALUE_BYTES} bytes`;
  return [
    lineOf(`memory of a node after loading ${keysText} (RSS; the largest of 3)`, 'MB', [after / 1e6], targets.memory),
    lineOf(`the same with ${keysText}, highest while they were written`, 'MB', [peak / 1e6]),
    ...(mapped.length === 0
      ? []
      : [lineOf(`mapped files in the memory after loading ${keysText}`, 'MB', [Math.max(...mapped) / 1e6])]),
    {
      what: `keys written: SDK, 1000 in a commit, 6 sessions, 3 replicas, up to ${keysText}`,
      ...rowParts([result]),
    },
    { ...cold.rate, what: `cold reads of 1 of ${keysText}: SDK, ${IN_FLIGHT} in flight${cold.share}` },
    lineOf(`the same with ${keysText}, p99`, 'ms', [cold.rate.latency?.p99Ms ?? Number.NaN], targets.coldReads),
  ];
}

/** After a restart: no key is in a cache of the node. */
async function coldReads(context: Context, cluster: Cluster, keys: number) {
  context.progress.step('starting the nodes anew');
  await cluster.restart();
  const [node] = cluster.nodes as [Cluster['nodes'][number]];
  const helper = context.helper<ColdReadsJob, Load>('./load/cold-reads.js');
  const job = { configFile: cluster.configFile, region: node.region, keys, inFlight: IN_FLIGHT };
  const values = context.valuesOf(VALUE_BYTES);
  let operations = 0;
  const { cold } = await takeTurns(
    {
      cold: {
        pids: [node.process.pid],
        run: async (durationMs) => {
          const load = await helper.run({ ...job, values, durationMs, first: operations });
          operations += load.operations + IN_FLIGHT;
          return load;
        },
      },
    },
    context.roundOptions,
  );
  const { cacheMisses = 0 } = (await node.status()).counters;
  const share = `, ${Math.round(Math.min(1, cacheMisses / operations) * 100)} % of them not cached`;
  return { rate: rowParts(cold), share };
}

async function rss(cluster: Cluster): Promise<number> {
  const statuses = await Promise.all(cluster.nodes.map((node) => node.status()));
  return Math.max(...statuses.map(({ rssBytes }) => rssBytes));
}

/** The greatest RSS of any node until the work ends, bytes. */
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

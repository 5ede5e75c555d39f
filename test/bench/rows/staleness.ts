/** Staleness: the age of the stable snapshot, idle and under load, without and with the distances of AWS. */
import { setTimeout as delay } from 'node:timers/promises';
import { DEFAULT_SETTINGS } from '@isochron/protocols';
import { READ_HEAVY } from '@isochron/workload';
import { type Cluster, type ClusterNode, SLOWEST_AWS_ONE_WAY_MS } from '../cluster.js';
import type { Benchmark, Context } from '../context.js';
import { atMost, type Line, lineOf, quantile, type Target } from '../figures.js';
import { transactions } from './loads.js';

const SAMPLE_INTERVAL_MS = 20;
const IDLE_MS = 10_000;
const WARM_UP_MS = 2000;
/** Interval of the nodes' rounds after some seconds without writes, when no message waits for a round. */
const IDLE_ROUND_MS = DEFAULT_SETTINGS.applyIntervalMs * DEFAULT_SETTINGS.idleBackoff;
/** The protocol's allowance beside the slowest one-way delay, ms. */
const AWS_ALLOWANCE_MS = 60;

export const staleness: Benchmark = {
  name: 'staleness',
  about: 'age of the stable snapshot, idle and loaded',
  run: async (context) => {
    const cluster = await context.filledCluster();
    const { idle, loaded } = await measure(context, cluster);
    return [
      line('staleness of UST, --wan none, idle, p99', idle, 0.99, atMost(2 * IDLE_ROUND_MS + 40)),
      line('staleness of UST, --wan none, loaded (19+1, 32 sessions), p99', loaded, 0.99, atMost(120)),
    ];
  },
};

export const stalenessWan: Benchmark = {
  name: 'staleness-wan',
  about: 'age of the stable snapshot with the delays of AWS',
  run: async (context) => {
    const cluster = await context.cluster('wan', { wan: 'aws' });
    await context.fill(cluster, { table: context.keysPerPartition });
    const { idle, loaded } = await measure(context, cluster);
    await context.stopCluster('wan');
    const target = atMost(SLOWEST_AWS_ONE_WAY_MS + AWS_ALLOWANCE_MS);
    const whenIdle = atMost(SLOWEST_AWS_ONE_WAY_MS + 2 * IDLE_ROUND_MS);
    return [
      line('staleness of UST, --wan aws, idle, p50', idle, 0.5, whenIdle),
      line('staleness of UST, --wan aws, loaded (19+1, 32 sessions), p50', loaded, 0.5, target),
    ];
  },
};

/** Staleness in ms, by region. */
type Samples = ReadonlyMap<string, number[]>;

/** Staleness of every node, first without and then with the paper's transactions. */
async function measure(context: Context, cluster: Cluster): Promise<{ idle: Samples; loaded: Samples }> {
  const { quick, durationMs, rounds } = context.settings;
  context.progress.step('watching the idle cluster');
  const idle = await sampleAll(cluster, delay(quick ? IDLE_MS / 5 : IDLE_MS));
  context.progress.step('watching the loaded cluster');
  const load = transactions(context, cluster, READ_HEAVY);
  await load.run(Math.min(WARM_UP_MS, durationMs), 0);
  const loaded = await sampleAll(cluster, load.run(durationMs * rounds, 1));
  return { idle, loaded };
}

/** Reads the staleness of every node repeatedly until the work has ended. */
async function sampleAll(cluster: Cluster, work: Promise<unknown>): Promise<Samples> {
  let working = true;
  const samples = new Map<string, number[]>(cluster.nodes.map(({ region }) => [region, []]));
  const watch = async (node: ClusterNode): Promise<void> => {
    while (working) {
      const clock = node.get<{ stalenessMs: number }>('/v1/clock');
      const [{ stalenessMs }] = await Promise.all([clock, delay(SAMPLE_INTERVAL_MS)]);
      samples.get(node.region)?.push(stalenessMs);
    }
  };
  const watching = Promise.all(cluster.nodes.map(watch));
  try {
    // A stopped node fails the samples or the work: the first failure ends both.
    await Promise.race([work, watching]);
  } finally {
    working = false;
  }
  await watching;
  return samples;
}

function line(what: string, samples: Samples, share: number, target: Target): Line {
  const all = [...samples.values()].flat();
  const byRegion = [...samples].map(([region, own]) => `${region} ${quantile(own, share).toFixed(0)}`);
  return {
    ...lineOf(`${what} (${byRegion.join(', ')})`, 'ms', [quantile(all, share)], target),
    latency: { p50Ms: quantile(all, 0.5), p99Ms: quantile(all, 0.99) },
    details: { samples: all.length, max: Math.max(...all), byRegion },
  };
}

/** Live queries: many sockets with a few watches each on one node. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Cluster, type ClusterNode, REGIONS } from '../cluster.js';
import type { Benchmark, Context } from '../context.js';
import { atMost, figureOf, type Row } from '../figures.js';
import { AUDIENCES, type ChangeJob, type WatchersJob, type WatchersLoad } from '../load/watchers.js';
import { cpuMs } from '../proc.js';

const SOCKETS = 10_000;
const QUICK_SOCKETS = 100;
const CHANGES_PER_SECOND = 1000;
const QUICK_CHANGES_PER_SECOND = 50;
const VALUE_CHARACTERS = 100;
const SETTLE_MS = 5000;
const QUICK_FACTOR = 40;
const STALLED_MS = 20_000;
const LONG_ROUNDS = 120;
/** More connections than a node takes from one address by default. */
const NODE_ARGS = ['--limit', 'connections=20000,connectionsPerAddress=20000'];

/** A cluster with watching sockets at its first node, and the process that holds them. */
interface Watched {
  readonly cluster: Cluster;
  readonly node: ClusterNode;
  readonly sockets: number;
  /** Resident bytes that a watch adds to the node, its socket not counted. */
  readonly bytesPerWatch: number;
  run(job: WatchersJob): Promise<WatchersLoad>;
  change(audience: number, durationMs: number): Promise<Changed>;
  stop(): Promise<void>;
}

interface Changed extends WatchersLoad {
  /** CPU of the node, percent of a core. */
  readonly cpu: number | undefined;
}

export const watches: Benchmark = {
  name: 'watches',
  about: 'live queries: 10,000 sockets with 5 watches each on one node, 1,000 changes a second',
  run: async (context) => {
    const watched = await startWatchers(context, 'watches');
    const rows: Row[] = [memoryRow(watched)];
    for (const audience of new Set(AUDIENCES)) {
      const loads: Changed[] = [];
      await watched.change(audience, context.settings.durationMs);
      for (let round = 1; round <= context.settings.rounds; round++) {
        context.progress.step(`changes for ${audience} watchers, round ${round}`);
        loads.push(await watched.change(audience, context.settings.durationMs));
      }
      rows.push(...changeRows(audience, loads, watched.sockets));
    }
    rows.push(await stalledRow(context, watched));
    await watched.stop();
    return rows;
  },
};

export const watchesLong: Benchmark = {
  name: 'watches-long',
  about: 'memory of a node with 10,000 watching sockets over 10 minutes of changes (--large)',
  large: true,
  run: async (context) => {
    const watched = await startWatchers(context, 'watches-long');
    const sizes: number[] = [];
    const rounds = context.settings.quick ? 6 : LONG_ROUNDS;
    for (let round = 0; round < rounds; round++) {
      context.progress.step(`round ${round + 1} of ${rounds}`);
      await watched.change(10, context.settings.durationMs);
      sizes.push(await resident(watched.node));
    }
    await watched.stop();
    const [second, last] = [sizes.slice(sizes.length / 6, sizes.length / 3), sizes.slice((-sizes.length * 1) / 6)];
    return [
      {
        benchmark: 'watches-long',
        what: 'growth of a node with watching sockets, from the second to the last sixth of the time (RSS)',
        unit: 'MB',
        measured: figureOf([(medianOf(last) - medianOf(second)) / 1e6]),
        details: { sizes },
      },
    ];
  },
};

const medianOf = (values: readonly number[]): number => figureOf(values).median;

const resident = async (node: ClusterNode): Promise<number> => (await node.status()).rssBytes;

async function startWatchers(context: Context, name: string): Promise<Watched> {
  const { quick } = context.settings;
  const sockets = quick ? QUICK_SOCKETS : SOCKETS;
  const cluster = await context.cluster(name, { nodeArgs: NODE_ARGS });
  const node = cluster.nodes[0]!;
  const { configFile } = cluster;
  const helper = context.helper<WatchersJob, WatchersLoad>('./load/watchers.js');
  const settle = () => delay(SETTLE_MS / (quick ? QUICK_FACTOR : 1));
  context.progress.step(`opening ${sockets} sockets`);
  await helper.run({ kind: 'open', configFile, region: node.region, sockets });
  await settle();
  const open = await resident(node);
  await helper.run({ kind: 'watch' });
  await settle();
  const bytesPerWatch = ((await resident(node)) - open) / (sockets * AUDIENCES.length);
  const change = async (audience: number, durationMs: number): Promise<Changed> => {
    const pid = node.process.pid;
    const [cpu, began] = [cpuMs(pid), performance.now()];
    const job: ChangeJob = {
      kind: 'change',
      configFile,
      region: node.region,
      audience,
      changesPerSecond: quick ? QUICK_CHANGES_PER_SECOND : CHANGES_PER_SECOND,
      durationMs,
      values: context.valuesOf(VALUE_CHARACTERS),
    };
    const load = await helper.run(job);
    const after = cpuMs(pid);
    const share =
      cpu === undefined || after === undefined ? undefined : ((after - cpu) * 100) / (performance.now() - began);
    return { ...load, cpu: share };
  };
  const stop = async (): Promise<void> => {
    await helper.stop();
    await context.stopCluster(name);
  };
  return { cluster, node, sockets, bytesPerWatch, run: (job) => helper.run(job), change, stop };
}

const memoryRow = ({ bytesPerWatch, sockets }: Watched): Row => ({
  benchmark: 'watches',
  what: `memory of a watch beside its socket: ${sockets.toLocaleString('en-US')} sockets with ${AUDIENCES.length} each`,
  unit: 'KB',
  measured: figureOf([bytesPerWatch / 1000]),
  target: atMost(2),
});

function changeRows(audience: number, loads: readonly Changed[], sockets: number): Row[] {
  const about = `${sockets.toLocaleString('en-US')} sockets, changes that concern ${audience.toLocaleString('en-US')}`;
  const shares = loads.flatMap(({ cpu }) => (cpu === undefined ? [] : [cpu]));
  const perSecond = (count: (load: Changed) => number) =>
    figureOf(loads.map((load) => (count(load) * 1000) / load.elapsedMs));
  const details = {
    p50Ms: loads.map(({ latency }) => latency?.p50Ms),
    changes: perSecond(({ operations }) => operations),
    messages: perSecond(({ messages }) => messages),
    bytes: perSecond(({ bytes }) => bytes),
  };
  const delays: Row = {
    benchmark: 'watches',
    what: `delay behind stable time, p99: ${about}`,
    unit: 'ms',
    measured: figureOf(loads.map(({ latency }) => latency?.p99Ms ?? 0)),
    latency: {
      p50Ms: medianOf(loads.map(({ latency }) => latency?.p50Ms ?? 0)),
      p99Ms: medianOf(loads.map(({ latency }) => latency?.p99Ms ?? 0)),
    },
    target: atMost(50),
    details,
  };
  const delivered: Row = {
    benchmark: 'watches',
    what: `documents that arrive: ${about}`,
    unit: '/s',
    measured: perSecond((load) => load.delivered),
  };
  if (shares.length === 0) return [delays, delivered];
  const cpu: Row = {
    benchmark: 'watches',
    what: `CPU of the node: ${about}`,
    unit: '% of a core',
    measured: figureOf(shares),
    target: atMost(50),
  };
  return [delays, delivered, cpu];
}

/** Memory that readers cost which take no more answers while everything that they watch changes. */
async function stalledRow(context: Context, watched: Watched): Promise<Row> {
  context.progress.step('stalled readers');
  const durationMs = context.settings.quick ? STALLED_MS / QUICK_FACTOR : STALLED_MS;
  const before = await resident(watched.node);
  await watched.run({ kind: 'stall', isStalled: true });
  const { sdk, cluster, sockets } = { sdk: context.sdk(), cluster: watched.cluster, sockets: watched.sockets };
  await sdk.run({
    kind: 'commit',
    configFile: cluster.configFile,
    regions: REGIONS,
    sessions: 8,
    keysPerPartition: context.keysPerPartition,
    durationMs,
    seed: context.settings.seed,
    values: context.valuesOf(VALUE_CHARACTERS),
  });
  const after = await resident(watched.node);
  await watched.run({ kind: 'stall', isStalled: false });
  return {
    benchmark: 'watches',
    what: `memory that a stalled reader costs: ${sockets.toLocaleString('en-US')} sockets that read no more`,
    unit: 'KB',
    measured: figureOf([Math.max(0, after - before) / 1000 / sockets]),
    target: atMost(64),
  };
}

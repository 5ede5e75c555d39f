/** Live queries: many sockets with a few watches each on one node. */
import { REGIONS } from '../cluster.js';
import type { Benchmark, Context } from '../context.js';
import { atMost, figureOf, type Row } from '../figures.js';
import type { PushesJob, PushesLoad } from '../limits/pushes.js';
import type { PushedJob } from '../load/pushed.js';
import { AUDIENCES, type Audience } from '../load/watcher.js';
import { type Changed, cpuShare, resident, startWatchers, type Watched } from './watched.js';

const VALUE_CHARACTERS = 100;
const STALLED_MS = 20_000;
const QUICK_FACTOR = 40;
const LONG_ROUNDS = 120;

export const watches: Benchmark = {
  name: 'watches',
  about: 'live queries: 10,000 sockets with 5 watches each on one node, 1,000 changes a second',
  run: async (context) => {
    const watched = await startWatchers(context, 'watches');
    const unwatched = await roundsOf(context, watched, 0);
    const rounds = new Map<Audience, Changed[]>();
    for (const audience of new Set(AUDIENCES)) rounds.set(audience, await roundsOf(context, watched, audience));
    await watched.run({ kind: 'settle' });
    const stalled = await stalledRow(context, watched);
    await watched.run({ kind: 'settle' });
    await watched.stop();
    const rows = [memoryRow(watched), ...unwatchedRow(unwatched, watched.sockets)];
    for (const [audience, loads] of rounds) {
      const bare = await bareShare(context, watched.sockets, loads);
      rows.push(...changeRows(audience, loads, watched.sockets, bare));
    }
    return [...rows, stalled];
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
    const sixth = sizes.length / 6;
    const growth = medianOf(sizes.slice(-sixth)) - medianOf(sizes.slice(sixth, 2 * sixth));
    return [
      {
        benchmark: 'watches-long',
        what: 'growth of a node with watching sockets, from the second to the last sixth of the time (RSS)',
        unit: 'MB',
        measured: figureOf([growth / 1e6]),
        details: { sizes },
      },
    ];
  },
};

const medianOf = (values: readonly number[]): number => figureOf(values).median;

async function roundsOf(context: Context, watched: Watched, audience: Audience | 0): Promise<Changed[]> {
  const { rounds, durationMs } = context.settings;
  const loads: Changed[] = [];
  for (let round = 0; round <= rounds; round++) {
    context.progress.step(`changes for ${audience} watchers, ${round === 0 ? 'warm-up' : `round ${round}`}`);
    loads.push(await watched.change(audience, durationMs));
  }
  return loads.slice(1);
}

/** CPU of a bare server that sends as many messages of the same size to as many sockets, percent of a core. */
async function bareShare(context: Context, sockets: number, loads: readonly Changed[]): Promise<number | undefined> {
  context.progress.step('the bare server');
  const server = context.helper<PushesJob, PushesLoad>('./limits/pushes.js');
  const clients = context.helper<PushedJob, number>('./load/pushed.js');
  const { port } = await server.run({ kind: 'listen' });
  await clients.run({ url: `ws://127.0.0.1:${port}`, sockets });
  const messages = loads.reduce((sum, load) => sum + load.messages, 0);
  const bytes = Math.round(loads.reduce((sum, load) => sum + load.bytes, 0) / Math.max(1, messages));
  const messagesPerSecond = (messages * 1000) / loads.reduce((sum, { elapsedMs }) => sum + elapsedMs, 0);
  const { durationMs } = context.settings;
  const job = { kind: 'push', bytes, messagesPerSecond, durationMs } as const;
  const [, share] = await cpuShare(server.pid, () => server.run(job));
  await clients.stop();
  await server.stop();
  return share;
}

const memoryRow = ({ bytesPerWatch, sockets }: Watched): Row => ({
  benchmark: 'watches',
  what: `memory of a watch beside its socket: ${sockets.toLocaleString('en-US')} sockets with ${AUDIENCES.length} each`,
  unit: 'KB',
  measured: figureOf([bytesPerWatch / 1000]),
  target: atMost(2),
});

/** What the changes cost without their watchers. */
function unwatchedRow(loads: readonly Changed[], sockets: number): Row[] {
  const shares = sharesOf(loads);
  const what = `CPU of the node: ${sockets.toLocaleString('en-US')} sockets, changes that concern none`;
  return shares.length === 0 ? [] : [{ benchmark: 'watches', what, unit: '% of a core', measured: figureOf(shares) }];
}

const sharesOf = (loads: readonly Changed[]): number[] => loads.flatMap(({ cpu }) => (cpu === undefined ? [] : [cpu]));

function changeRows(audience: number, loads: readonly Changed[], sockets: number, bare: number | undefined): Row[] {
  const about = `${sockets.toLocaleString('en-US')} sockets, changes that concern ${audience.toLocaleString('en-US')}`;
  const shares = sharesOf(loads);
  const perSecond = (count: (load: Changed) => number) =>
    figureOf(loads.map((load) => (count(load) * 1000) / load.elapsedMs));
  const [p50Ms, p99Ms] = [loads.map(({ latency }) => latency!.p50Ms), loads.map(({ latency }) => latency!.p99Ms)];
  const details = {
    p50Ms,
    changes: perSecond(({ operations }) => operations),
    messages: perSecond(({ messages }) => messages),
    bytes: perSecond(({ bytes }) => bytes),
    failed: loads.map(({ failed }) => failed),
    missing: loads.map(({ missing }) => missing),
  };
  const delays: Row = {
    benchmark: 'watches',
    what: `delay behind stable time, p99: ${about}`,
    unit: 'ms',
    measured: figureOf(p99Ms),
    latency: { p50Ms: medianOf(p50Ms), p99Ms: medianOf(p99Ms) },
    target: atMost(50),
    details,
  };
  const delivered: Row = {
    benchmark: 'watches',
    what: `documents that arrive: ${about}`,
    unit: '/s',
    measured: perSecond((load) => load.delivered),
  };
  const cpu: Row[] = shares.length === 0 ? [] : [cpuRow(about, shares, bare)];
  return [delays, delivered, ...cpu, ...missingRow(about, loads)];
}

const cpuRow = (about: string, shares: readonly number[], bare: number | undefined): Row => ({
  benchmark: 'watches',
  what: `CPU of the node: ${about}`,
  unit: '% of a core',
  measured: figureOf(shares),
  limit: bare === undefined ? undefined : { what: 'ws: as many messages of that size', figure: figureOf([bare]) },
  target: atMost(50),
});

/** A line only where something was missing. */
function missingRow(about: string, loads: readonly Changed[]): Row[] {
  const missing = loads.map((load) => load.missing + load.failed);
  if (Math.max(...missing) === 0) return [];
  const what = `commits without an answer, and documents that are not there 2 s after a round: ${about}`;
  return [{ benchmark: 'watches', what, unit: '', measured: figureOf(missing), target: atMost(0) }];
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

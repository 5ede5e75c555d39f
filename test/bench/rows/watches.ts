/** Live queries: many sockets with a few watches each on one node. */
import type { Benchmark, Context } from '../context.js';
import { atMost, figureOf, type Line, lineOf, type Target } from '../figures.js';
import type { PushesJob, PushesLoad } from '../limits/pushes.js';
import type { PushedJob } from '../load/pushed.js';
import { AUDIENCES, type Audience } from '../load/watcher.js';
import { cpuShares } from '../proc.js';
import { sdkLoad } from './loads.js';
import { type Changed, resident, startWatchers, type Watched } from './watched.js';

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
    const stalled = await stalledLine(context, watched);
    await watched.run({ kind: 'settle' });
    await watched.stop();
    const cost = cpuLine(`${socketsText(watched.sockets)}, changes that concern none`, unwatched);
    const lines = [memoryLine(watched), ...cost];
    for (const [audience, loads] of rounds) {
      const bare = await bareShare(context, watched.sockets, loads);
      lines.push(...changeLines(audience, loads, watched.sockets, bare));
    }
    return [...lines, stalled];
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
    const what = 'growth of a node with watching sockets, from the second to the last sixth of the time (RSS)';
    return [{ ...lineOf(what, 'MB', [growth / 1e6]), details: { sizes } }];
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
  const { shares } = await cpuShares([server.pid], () => server.run(job));
  await clients.stop();
  await server.stop();
  return shares?.[0];
}

const socketsText = (sockets: number): string => `${sockets.toLocaleString('en-US')} sockets`;

const memoryLine = ({ bytesPerWatch, sockets }: Watched): Line =>
  lineOf(
    `memory of a watch beside its socket: ${socketsText(sockets)} with ${AUDIENCES.length} each`,
    'KB',
    [bytesPerWatch / 1000],
    atMost(2),
  );

/** CPU of the node; no line if the system does not report it. */
function cpuLine(about: string, loads: readonly Changed[], target?: Target): Line[] {
  const shares = loads.flatMap(({ cpu }) => cpu ?? []);
  return shares.length === 0 ? [] : [lineOf(`CPU of the node: ${about}`, '% of a core', shares, target)];
}

function changeLines(audience: number, loads: readonly Changed[], sockets: number, bare: number | undefined): Line[] {
  const about = `${socketsText(sockets)}, changes that concern ${audience.toLocaleString('en-US')}`;
  const perSecond = (count: (load: Changed) => number) => loads.map((load) => (count(load) * 1000) / load.elapsedMs);
  const [p50Ms, p99Ms] = [loads.map(({ latency }) => latency!.p50Ms), loads.map(({ latency }) => latency!.p99Ms)];
  const details = {
    p50Ms,
    changes: figureOf(perSecond(({ operations }) => operations)),
    messages: figureOf(perSecond(({ messages }) => messages)),
    bytes: figureOf(perSecond(({ bytes }) => bytes)),
    failed: loads.map(({ failed }) => failed),
    missing: loads.map(({ missing }) => missing),
  };
  const latency = { p50Ms: medianOf(p50Ms), p99Ms: medianOf(p99Ms) };
  const limit =
    bare === undefined ? undefined : { what: 'ws: as many messages of that size', figure: figureOf([bare]) };
  return [
    { ...lineOf(`delay behind stable time, p99: ${about}`, 'ms', p99Ms, atMost(50)), latency, details },
    lineOf(
      `documents that arrive: ${about}`,
      '/s',
      perSecond((load) => load.delivered),
    ),
    ...cpuLine(about, loads, atMost(50)).map((line) => ({ ...line, limit })),
    ...missingLine(about, loads),
  ];
}

/** A line only where something was missing. */
function missingLine(about: string, loads: readonly Changed[]): Line[] {
  const missing = loads.map((load) => load.missing + load.failed);
  if (Math.max(...missing) === 0) return [];
  const what = `commits without an answer, and documents that are not there 2 s after a round: ${about}`;
  return [lineOf(what, '', missing, atMost(0))];
}

/** Memory that readers cost which take no more answers while everything that they watch changes. */
async function stalledLine(context: Context, { node, cluster, sockets, run }: Watched): Promise<Line> {
  context.progress.step('stalled readers');
  const durationMs = context.settings.quick ? STALLED_MS / QUICK_FACTOR : STALLED_MS;
  const before = await resident(node);
  await run({ kind: 'stall', isStalled: true });
  const values = context.valuesOf(VALUE_CHARACTERS);
  await sdkLoad(context, cluster, { kind: 'commit', sessions: 8, values })(durationMs, 0);
  const after = await resident(node);
  await run({ kind: 'stall', isStalled: false });
  return lineOf(
    `memory that a stalled reader costs: ${socketsText(sockets)} that read no more`,
    'KB',
    [Math.max(0, after - before) / 1000 / sockets],
    atMost(64),
  );
}

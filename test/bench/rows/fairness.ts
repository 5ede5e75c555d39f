/** A quiet client beside a greedy one that is at its limit, and alone. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Benchmark, Context } from '../context.js';
import { figureOf, type Row } from '../figures.js';
import type { GreedyJob, GreedyLoad } from '../load/greedy.js';
import { QUIET_KINDS, type QuietJob, type QuietLoad } from '../load/quiet.js';
import { cpuMs } from '../proc.js';

/**
 * Requests that a client may send in a second, with the rest of the limits as they are: at them, HTTP requests for the
 * most part keep a node on two cores, which its clients share, busy for 60 and 80 % of the time.
 */
const LIMITS_PER_SECOND = [1000, 2000];
const GREEDY = { localAddress: '127.0.0.2', sessions: 8, connections: 32 };
const LEAD_MS = 1000;
/** Its operations are few: a round takes longer than the others. */
const ROUND_FACTOR = 2;

interface Beside {
  readonly quiet: QuietLoad;
  readonly greedy: GreedyLoad;
  /** CPU of the node, percent of a core. */
  readonly cpu: number | undefined;
}

export const fairness: Benchmark = {
  name: 'fairness',
  about: 'latency of a quiet client beside one at its limit ÷ alone',
  run: async (context) => {
    const rows: Row[] = [];
    const limits = context.settings.quick ? LIMITS_PER_SECOND.slice(0, 1) : LIMITS_PER_SECOND;
    for (const perSecond of limits) rows.push(...(await withLimit(context, perSecond)));
    return rows;
  },
};

async function withLimit(context: Context, perSecond: number): Promise<Row[]> {
  const name = `fairness-${perSecond}`;
  const nodeArgs = ['--limit', `requestsPerSecondPerClient=${perSecond}`];
  const { nodes, configFile } = await context.cluster(name, { nodeArgs });
  const [{ region, url, process }] = nodes as [(typeof nodes)[number]];
  const durationMs = context.settings.durationMs * ROUND_FACTOR;
  const quiet = (forMs: number): Promise<QuietLoad> =>
    context
      .helper<QuietJob, QuietLoad>('./load/quiet.js')
      .run({ configFile, region, url, values: context.valuesOf(), durationMs: forMs });
  const beside = (forMs: number): Promise<Beside> => withGreedy(context, url, process.pid, forMs, quiet);
  await quiet(durationMs);
  await beside(durationMs);
  const [alone, both]: [QuietLoad[], Beside[]] = [[], []];
  for (let round = 1; round <= context.settings.rounds; round++) {
    context.progress.step(`${perSecond}/s, round ${round} of ${context.settings.rounds}`);
    alone.push(await quiet(durationMs));
    both.push(await beside(durationMs));
  }
  await context.stopCluster(name);
  const limit = `its limit of ${perSecond.toLocaleString('en-US')} requests/s`;
  return [...quietRows(limit, alone, both), ...greedyRows(limit, both, durationMs)];
}

async function withGreedy(
  context: Context,
  url: string,
  pid: number,
  durationMs: number,
  quiet: (durationMs: number) => Promise<QuietLoad>,
): Promise<Beside> {
  const job: GreedyJob = { url, ...GREEDY, durationMs: durationMs + 2 * LEAD_MS };
  const flood = context.helper<GreedyJob, GreedyLoad>('./load/greedy.js').run(job);
  await delay(LEAD_MS);
  const [before, began] = [cpuMs(pid), performance.now()];
  const load = await quiet(durationMs);
  const [after, elapsedMs] = [cpuMs(pid), performance.now() - began];
  const cpu = before === undefined || after === undefined ? undefined : ((after - before) * 100) / elapsedMs;
  return { quiet: load, greedy: await flood, cpu };
}

const quietRows = (limit: string, alone: readonly QuietLoad[], both: readonly Beside[]): Row[] =>
  QUIET_KINDS.map((kind) => ({
    benchmark: 'fairness',
    what: `p99 of a quiet client beside one at ${limit}: ${kind}`,
    unit: 'ms',
    measured: figureOf(both.map(({ quiet }) => quiet.p99Ms[kind])),
    limit: { what: 'alone', figure: figureOf(alone.map(({ p99Ms }) => p99Ms[kind])) },
    target: { of: 'ratio', is: 'at most', bound: 1.5 },
    note: 'The greedy client sends as fast as it can on 8 sessions and 32 HTTP connections, and heeds no refusal.',
  }));

function greedyRows(limit: string, both: readonly Beside[], durationMs: number): Row[] {
  const perSecond = (count: (load: GreedyLoad) => number) =>
    figureOf(both.map(({ greedy }) => (count(greedy) * 1000) / (durationMs + 2 * LEAD_MS)));
  const shares = both.flatMap(({ cpu }) => (cpu === undefined ? [] : [cpu]));
  const row = (what: string, measured: Row['measured'], unit: Row['unit']): Row => ({
    benchmark: 'fairness',
    what,
    unit,
    measured,
  });
  return [
    row(
      `requests of the greedy client at ${limit} that are served`,
      perSecond(({ served }) => served),
      '/s',
    ),
    row(
      `requests of the greedy client at ${limit} that are refused`,
      perSecond(({ refused }) => refused),
      '/s',
    ),
    ...(shares.length === 0
      ? []
      : [row(`CPU of the node with the quiet client and the greedy one at ${limit}`, figureOf(shares), '% of a core')]),
  ];
}

/** A quiet client beside a greedy one that is at its limit, and alone. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Benchmark, Context } from '../context.js';
import { figureOf, type Line, lineOf } from '../figures.js';
import type { GreedyJob, GreedyLoad } from '../load/greedy.js';
import { QUIET_KINDS, type QuietJob, type QuietLoad } from '../load/quiet.js';
import { cpuShares } from '../proc.js';

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
    const lines: Line[] = [];
    const limits = context.settings.quick ? LIMITS_PER_SECOND.slice(0, 1) : LIMITS_PER_SECOND;
    for (const perSecond of limits) lines.push(...(await withLimit(context, perSecond)));
    return lines;
  },
};

async function withLimit(context: Context, perSecond: number): Promise<Line[]> {
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
  return [...quietLines(limit, alone, both), ...greedyLines(limit, both, durationMs)];
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
  const { result, shares } = await cpuShares([pid], () => quiet(durationMs));
  return { quiet: result, greedy: await flood, cpu: shares?.[0] };
}

const quietLines = (limit: string, alone: readonly QuietLoad[], both: readonly Beside[]): Line[] =>
  QUIET_KINDS.map((kind) => ({
    ...lineOf(
      `p99 of a quiet client beside one at ${limit}: ${kind}`,
      'ms',
      both.map(({ quiet }) => quiet.p99Ms[kind]),
      { of: 'ratio', is: 'at most', bound: 1.5 },
    ),
    limit: { what: 'alone', figure: figureOf(alone.map(({ p99Ms }) => p99Ms[kind])) },
    note: 'The greedy client sends as fast as it can on 8 sessions and 32 HTTP connections, and heeds no refusal.',
  }));

function greedyLines(limit: string, both: readonly Beside[], durationMs: number): Line[] {
  const requests = (ended: 'served' | 'refused'): Line =>
    lineOf(
      `requests of the greedy client at ${limit} that are ${ended}`,
      '/s',
      both.map(({ greedy }) => (greedy[ended] * 1000) / (durationMs + 2 * LEAD_MS)),
    );
  const shares = both.flatMap(({ cpu }) => cpu ?? []);
  const cpu = `CPU of the node with the quiet client and the greedy one at ${limit}`;
  return [
    requests('served'),
    requests('refused'),
    ...(shares.length === 0 ? [] : [lineOf(cpu, '% of a core', shares)]),
  ];
}

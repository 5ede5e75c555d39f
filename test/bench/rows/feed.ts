/** The change feed beside the commits that it follows. */
import { type Cluster, REGIONS } from '../cluster.js';
import type { Benchmark, Context } from '../context.js';
import { atLeast, figureOf, type Row } from '../figures.js';
import type { FeedJob, FeedLoad } from '../load/feed.js';
import { type Load, ratesOf, rowParts, type Sample, sampleOf, takeTurns } from '../rounds.js';

const SESSIONS = 64;
const VALUE_CHARACTERS = 100;

/** Commits, with what a reader of the feed got meanwhile; undefined without one. */
interface Followed extends Load {
  readonly feed?: FeedLoad;
}

export const feed: Benchmark = {
  name: 'feed',
  about: 'change feed: commits with a reader ÷ without one, its rate beside theirs, and a backlog',
  run: async (context) => {
    const cluster = await context.cluster('feed');
    const { region } = cluster.nodes[0]!;
    const reader = context.helper<FeedJob, FeedLoad>('./load/feed.js');
    const follow = (durationMs: number, from?: number): Promise<FeedLoad> =>
      reader.run({ configFile: cluster.configFile, region, durationMs, ...(from === undefined ? {} : { from }) });
    const start = await follow(0);
    const commits = (durationMs: number, round: number) => commitLoad(context, cluster, durationMs, round);
    const { alone, followed } = await takeTurns<'alone' | 'followed', Followed>(
      {
        alone: { pids: cluster.pids, workload: 'commits', run: commits },
        followed: {
          pids: cluster.pids,
          workload: 'commits',
          run: async (durationMs, round) => {
            const [load, feed] = await Promise.all([commits(durationMs, round), follow(durationMs)]);
            return { ...load, feed };
          },
        },
      },
      context.roundOptions,
    );
    await cluster.stable();
    const backlog = await sampleOf(() => follow(0, start.to), cluster.pids);
    await reader.stop();
    await context.stopCluster('feed');
    const what = `durable one-key commits, ${SESSIONS} sessions over 3 regions`;
    return [
      {
        benchmark: 'feed',
        what: `${what}, with a reader of all changes`,
        ...rowParts(followed, { what: 'without a reader', samples: alone }),
      },
      rateRow(followed),
      {
        benchmark: 'feed',
        what: 'transactions of a backlog that one reader reads over HTTP',
        ...rowParts([backlog]),
        details: { messages: backlog.messages, bytes: backlog.bytes },
      },
    ];
  },
};

const commitLoad = (context: Context, { configFile }: Cluster, durationMs: number, round: number) =>
  context.sdk().run({
    kind: 'commit',
    configFile,
    regions: REGIONS,
    sessions: SESSIONS,
    keysPerPartition: context.keysPerPartition,
    durationMs,
    seed: context.settings.seed + round,
    values: context.valuesOf(VALUE_CHARACTERS),
  });

/** Transactions of the feed in the time that the reader needed for them. */
function rateRow(samples: readonly Sample<Followed>[]): Row {
  const ratios = samples.map(({ operations, elapsedMs, feed }) => {
    const commits = (operations * 1000) / elapsedMs;
    return (feed!.operations * 1000) / feed!.elapsedMs / commits;
  });
  return {
    benchmark: 'feed',
    what: 'transactions a second that the reader gets meanwhile, of the committed ones',
    unit: '×',
    measured: figureOf(ratios),
    target: atLeast(0.9),
    details: { commits: ratesOf(samples), bytes: samples.map(({ feed }) => feed!.bytes) },
  };
}

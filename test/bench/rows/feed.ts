/** The change feed beside the commits that it follows. */
import type { Benchmark } from '../context.js';
import { atLeast, type Line, lineOf } from '../figures.js';
import type { FeedJob, FeedLoad } from '../load/feed.js';
import { type Load, ratesOf, rowParts, type Sample, sampleOf, takeTurns } from '../rounds.js';
import { rateLine } from './compare.js';
import { sdkLoad } from './loads.js';

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
    const values = context.valuesOf(VALUE_CHARACTERS);
    const commits = sdkLoad(context, cluster, { kind: 'commit', sessions: SESSIONS, values });
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
      rateLine(
        { of: 'followed', what: `${what}, with a reader of all changes`, beside: ['alone', 'without a reader'] },
        { alone, followed },
      ),
      shareLine(followed),
      {
        what: 'transactions of a backlog that one reader reads over HTTP',
        ...rowParts([backlog]),
        details: { messages: backlog.messages, bytes: backlog.bytes },
      },
    ];
  },
};

/** Transactions of the feed in the time that the reader needed for them. */
function shareLine(samples: readonly Sample<Followed>[]): Line {
  const ratios = samples.map(({ operations, elapsedMs, feed }) => {
    const commits = (operations * 1000) / elapsedMs;
    return (feed!.operations * 1000) / feed!.elapsedMs / commits;
  });
  return {
    ...lineOf('transactions a second that the reader gets meanwhile, of the committed ones', '×', ratios, atLeast(0.9)),
    details: { commits: ratesOf(samples), bytes: samples.map(({ feed }) => feed!.bytes) },
  };
}

/**
 * Durable one-key commits of 64 sessions, spread over the regions; and all in one region, which shows the cost of
 * spreading.
 */
import { join } from 'node:path';
import { REGIONS } from '../cluster.js';
import type { Benchmark, Context } from '../context.js';
import { type Row, ratioAtLeast, type Target } from '../figures.js';
import type { LevelJob } from '../limits/leveldb.js';
import { type Contender, type Load, rowParts, takeTurns } from '../rounds.js';

const COMMITTERS = 64;

export const sdkCommits: Benchmark = {
  name: 'sdk-commits',
  about: 'durable one-key commits ÷ raw LevelDB synced group commit',
  run: async (context) => {
    const { configFile, pids } = await context.filledCluster();
    const { keysPerPartition, settings } = context;
    const values = context.valuesOf();
    const common = { kind: 'commit', configFile, keysPerPartition, sessions: COMMITTERS, values } as const;
    const commits = (regions: readonly string[]): Contender => ({
      pids,
      clientPids: [context.sdk().pid],
      run: (durationMs, round) => context.sdk().run({ ...common, regions, durationMs, seed: settings.seed + round }),
    });
    const contenders = { limit: levelContender(context), spread: commits(REGIONS), one: commits(REGIONS.slice(0, 1)) };
    const samples = await takeTurns(contenders, context.roundOptions);
    const row = (what: string, of: (typeof samples)['spread'], target?: Target): Row => ({
      benchmark: 'sdk-commits',
      what,
      ...rowParts(of, { what: 'raw LevelDB', samples: samples.limit }),
      target,
    });
    return [
      row(
        `durable one-key commits: SDK, ${COMMITTERS} sessions over ${REGIONS.length} regions`,
        samples.spread,
        ratioAtLeast(0.2),
      ),
      row(`durable one-key commits: SDK, ${COMMITTERS} sessions in one region`, samples.one),
    ];
  },
};

function levelContender(context: Context): Contender {
  const helper = context.helper<LevelJob, Load>('./limits/leveldb.js');
  const location = join(context.folder, 'raw-leveldb');
  const keys = 4 * context.keysPerPartition;
  const values = context.valuesOf();
  return {
    pids: [helper.pid],
    run: (durationMs) => helper.run({ location, committers: COMMITTERS, values, keys, durationMs }),
  };
}

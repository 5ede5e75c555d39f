/** A key with 100,000 versions beside one that has a single version. */
import { type Cluster, type ClusterNode, REGIONS } from '../cluster.js';
import type { Benchmark, Context } from '../context.js';
import type { Line } from '../figures.js';
import type { HotKeyJob } from '../load/hot-key.js';
import { type Contender, type Load, rowParts, sampleOf } from '../rounds.js';
import { compare } from './compare.js';

const VERSIONS = 100_000;
const QUICK_VERSIONS = 1000;
const VALUE_BYTES = 100;
const [HOT, COOL] = ['hot', 'cool'] as const;
/** Sessions that write. */
const SESSIONS = 64;
const IN_FLIGHT = 64;

export const hotKey: Benchmark = {
  name: 'hot-key',
  about: 'a key with 100,000 versions ÷ a key with one',
  run: async (context) => {
    const versions = context.settings.quick ? QUICK_VERSIONS : VERSIONS;
    const cluster = await context.cluster('hot-key', { replication: REGIONS.length });
    const [{ region }] = cluster.nodes as [ClusterNode];
    const helper = context.helper<HotKeyJob, Load>('./load/hot-key.js');
    const common = { configFile: cluster.configFile, region, values: context.valuesOf(VALUE_BYTES) };
    await helper.run({ ...common, kind: 'grow', key: COOL, versions: 1, sessions: 1 });
    await helper.run({ ...common, kind: 'hold', key: HOT });
    context.progress.step(`writing ${versions} versions`);
    const grow = { ...common, kind: 'grow', key: HOT, versions, sessions: SESSIONS } as const;
    const grown = await sampleOf(() => helper.run(grow), cluster.pids);
    await cluster.stable();
    const held = await versionsHeld(cluster);
    if (held < versions) throw new Error(`the node holds ${held} versions instead of ${versions}`);
    const lines = await readAndWrite(context, cluster, (job) => helper.run({ ...common, ...job }), versions);
    await helper.run({ ...common, kind: 'release', key: HOT });
    await helper.stop();
    await context.stopCluster('hot-key');
    const what = `versions written to one key, up to ${versions.toLocaleString('en-US')}: SDK, ${SESSIONS} sessions, chained`;
    return [...lines, { what, ...rowParts([grown]) }];
  },
};

type Share<T> = T extends unknown ? Omit<T, 'configFile' | 'region' | 'values'> : never;

async function readAndWrite(
  context: Context,
  cluster: Cluster,
  run: (job: Share<HotKeyJob>) => Promise<Load>,
  versions: number,
): Promise<Line[]> {
  const pids = cluster.pids.slice(0, 1);
  const reads = (kind: 'read' | 'old', key: string): Contender => ({
    pids,
    workload: kind,
    run: (durationMs) => run({ kind, key, inFlight: IN_FLIGHT, durationMs }),
  });
  const commits = (key: string): Contender => ({
    pids: cluster.pids,
    run: (durationMs, round) =>
      run({ kind: 'commit', key, sessions: SESSIONS, durationMs, seed: context.settings.seed + round }),
  });
  const [many, one] = [`a key with ${versions.toLocaleString('en-US')} versions`, 'a key with one version'];
  // Reads first: commits give the other key more versions.
  const read = await compare(
    context,
    {
      cool: reads('read', COOL),
      hot: reads('read', HOT),
      coolOld: reads('old', COOL),
      hotOld: reads('old', HOT),
    },
    [
      { of: 'hot', what: `reads of the newest version of ${many}: SDK, ${IN_FLIGHT} in flight`, beside: ['cool', one] },
      {
        of: 'hotOld',
        what: `reads of the oldest version of ${many}, each in a snapshot of its own: SDK, ${IN_FLIGHT} in flight`,
        beside: ['coolOld', one],
      },
    ],
  );
  const written = await compare(context, { cool: commits(COOL), hot: commits(HOT) }, [
    {
      of: 'hot',
      what: `durable commits on ${many}: SDK, ${SESSIONS} sessions`,
      beside: ['cool', 'a key that began with one version'],
    },
  ]);
  return [...read, ...written];
}

async function versionsHeld({ nodes }: Cluster): Promise<number> {
  const counts = (await nodes[0]!.status()).partitions.map(({ versions }) => versions);
  return Math.max(...counts);
}

/** Throughput and latency of the paper's transactions over the number of sessions, of partitions and of keys. */
import { REGIONS } from '../cluster.js';
import type { Benchmark, BenchSettings, Context } from '../context.js';
import { atLeast, type Line, type PlotName, type Target } from '../figures.js';
import type { Contender } from '../rounds.js';
import { compare } from './compare.js';
import { type ClusterKeys, MIXES, SESSIONS, startPaused, transactions, turnOf } from './loads.js';

type NamedMix = (typeof MIXES)[keyof typeof MIXES];

/** A number that varies, and the transactions at each of its values. */
interface Sweep {
  readonly over: PlotName;
  readonly mixes: readonly NamedMix[];
  values(settings: BenchSettings): readonly number[];
  /** The rest of a line's name. */
  at(value: number): string;
  contender(context: Context, value: number, mix: NamedMix): Promise<Contender>;
  /** Whether each value has a cluster of its own. */
  readonly ownClusters?: boolean;
  /** Of the highest rate of each mix, which is a line of its own then. */
  readonly best?: ReadonlyMap<NamedMix, Target>;
}

/** A transaction reads this many keys of one partition. */
const LEAST_KEYS_OF_A_PARTITION = 10;
/** The keys of the settings are for the fewest partitions. */
const FEWEST_PARTITIONS = 6;
/** Of the sweep over keys, with random values. */
const VALUE_BYTES = 100;
const QUICK_KEYS_DIVISOR = 100;

const SESSIONS_SWEEP: Sweep = {
  over: 'sessions',
  mixes: Object.values(MIXES),
  values: ({ quick }) => (quick ? [1, 8] : [1, 8, 32, 128, 512]),
  at: (sessions) => `${sessions} sessions over ${REGIONS.length} regions`,
  contender: async (context, sessions, { mix }) =>
    transactions(context, await context.filledCluster(), mix, { sessions }),
  best: new Map<NamedMix, Target>([
    [MIXES.readHeavy, atLeast(6700)],
    [MIXES.writeHeavy, atLeast(3500)],
  ]),
};

/** With the same number of keys. */
const PARTITIONS_SWEEP: Sweep = {
  over: 'partitions',
  mixes: [MIXES.readHeavy],
  values: ({ quick }) => (quick ? [FEWEST_PARTITIONS, 12] : [FEWEST_PARTITIONS, 60, 600]),
  at: (partitions) => `${SESSIONS} sessions, ${partitions} partitions`,
  ownClusters: true,
  contender: (context, partitions, mix) => {
    const share = Math.ceil((FEWEST_PARTITIONS * context.keysPerPartition) / partitions);
    const keysPerPartition = Math.max(LEAST_KEYS_OF_A_PARTITION, share);
    return onOwnCluster(context, nameOf('partitions', partitions), partitions, mix, { keysPerPartition });
  },
};

const KEYS_SWEEP: Sweep = {
  over: 'keys',
  mixes: [MIXES.readHeavy],
  values: ({ quick, large }) =>
    [10_000, 1_000_000, ...(large ? [10_000_000] : [])].map((keys) => (quick ? keys / QUICK_KEYS_DIVISOR : keys)),
  at: (keys) => `${SESSIONS} sessions, ${keys.toLocaleString('en-US')} keys`,
  ownClusters: true,
  contender: (context, keys, mix) => {
    const keysPerPartition = Math.ceil(keys / FEWEST_PARTITIONS);
    const values = context.valuesOf(VALUE_BYTES);
    return onOwnCluster(context, nameOf('keys', keys), FEWEST_PARTITIONS, mix, { keysPerPartition, values });
  },
};

const sweep = (of: Sweep): Benchmark => ({
  name: of.over,
  about: `the paper's transactions over the number of ${of.over}`,
  run: (context) => run(context, of),
});

export const sessions = sweep(SESSIONS_SWEEP);
export const partitions = sweep(PARTITIONS_SWEEP);
export const keys = sweep(KEYS_SWEEP);

async function run(
  context: Context,
  { over, mixes, values, at, contender, ownClusters, best }: Sweep,
): Promise<Line[]> {
  const points = mixes.flatMap((mix) => values(context.settings).map((x) => ({ mix, x })));
  const contenders: Contender[] = [];
  for (const { mix, x } of points) contenders.push(await contender(context, x, mix));
  const lines = await compare(
    context,
    Object.fromEntries(contenders.entries()),
    points.map(({ mix: { what }, x }, i) => ({
      of: String(i),
      what: `transactions of ${what}: SDK, ${at(x)}`,
      point: { over, series: what, x },
    })),
  );
  if (ownClusters) for (const { x } of points) await context.stopCluster(nameOf(over, x));
  return [...lines, ...[...(best ?? [])].map(([{ what }, target]) => bestOf(what, lines, target))];
}

/** The curve's highest rate, with its target. */
function bestOf(series: string, lines: readonly Line[], target: Target): Line {
  const curve = lines.filter(({ point }) => point?.series === series);
  const { point, ...best } = curve.reduce((a, b) => (b.measured.median > a.measured.median ? b : a));
  return { ...best, what: `transactions of ${series}: SDK, the best number of sessions: ${point!.x}`, target };
}

/** The name of the cluster of one value. */
const nameOf = (over: PlotName, value: number): string => `${over}-${value}`;

async function onOwnCluster(
  context: Context,
  name: string,
  partitions: number,
  { mix }: NamedMix,
  keys: ClusterKeys,
): Promise<Contender> {
  const cluster = await startPaused(context, name, { partitions }, keys);
  return { ...transactions(context, cluster, mix, keys), turn: turnOf(cluster) };
}

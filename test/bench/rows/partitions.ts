/** Throughput and latency over the number of partitions, with the same number of keys. */
import type { Benchmark, Context } from '../context.js';
import type { Row } from '../figures.js';
import { type Contender, rowParts, takeTurns } from '../rounds.js';
import { MIXES, SESSIONS, transactions } from './transactions.js';

const PARTITIONS = [6, 60, 600] as const;
const QUICK_PARTITIONS = [6, 12] as const;
/** The keys of the settings are for the fewest partitions. */
const [FEWEST] = PARTITIONS;
/** A transaction reads this many keys of one partition. */
const LEAST_KEYS = 10;

export const partitions: Benchmark = {
  name: 'partitions',
  about: "the paper's transactions over the number of partitions",
  run: async (context) => {
    const { mix, what } = MIXES.readHeavy;
    const contenders: Contender[] = [];
    const counts = context.settings.quick ? QUICK_PARTITIONS : PARTITIONS;
    for (const count of counts) contenders.push(await startPaused(context, count));
    const samples = await takeTurns(Object.fromEntries(contenders.entries()), context.roundOptions);
    for (const count of counts) await context.stopCluster(nameOf(count));
    return counts.map(
      (count, i): Row => ({
        benchmark: 'partitions',
        what: `transactions of ${what}: SDK, ${SESSIONS} sessions, ${count} partitions`,
        ...rowParts(samples[i]!),
        point: { over: 'partitions', series: `${mix.reads} reads + ${mix.writes} write`, x: count },
      }),
    );
  },
};

const nameOf = (count: number): string => `partitions-${count}`;

/** A cluster with its keys, stopped until its turn: idle nodes of many partitions use CPU. */
async function startPaused(context: Context, count: number): Promise<Contender> {
  const cluster = await context.cluster(nameOf(count), { partitions: count });
  const keysPerPartition = Math.max(LEAST_KEYS, Math.ceil((FEWEST * context.keysPerPartition) / count));
  await context.fill(cluster, { table: keysPerPartition });
  cluster.pause();
  return {
    ...transactions(context, cluster, MIXES.readHeavy.mix, { keysPerPartition }),
    turn: { begins: () => cluster.resume(), ends: () => cluster.pause() },
  };
}

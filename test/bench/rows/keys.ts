/** Throughput and latency over the number of keys, with random values of 100 bytes. */
import type { Benchmark, Context } from '../context.js';
import type { Row } from '../figures.js';
import { type Contender, rowParts, takeTurns } from '../rounds.js';
import { MIXES, SESSIONS, transactions } from './transactions.js';

const KEYS = [10_000, 1_000_000] as const;
const LARGE_KEYS = 10_000_000;
const QUICK_DIVISOR = 100;
const PARTITIONS = 6;
const VALUE_BYTES = 100;

export const keys: Benchmark = {
  name: 'keys',
  about: "the paper's transactions over the number of keys",
  run: async (context) => {
    const { mix, what } = MIXES.readHeavy;
    const { quick, large } = context.settings;
    const counts = [...KEYS, ...(large ? [LARGE_KEYS] : [])].map((count) => (quick ? count / QUICK_DIVISOR : count));
    const contenders: Contender[] = [];
    for (const count of counts) contenders.push(await startPaused(context, count));
    const samples = await takeTurns(Object.fromEntries(contenders.entries()), context.roundOptions);
    for (const count of counts) await context.stopCluster(nameOf(count));
    return counts.map(
      (count, i): Row => ({
        benchmark: 'keys',
        what: `transactions of ${what}: SDK, ${SESSIONS} sessions, ${count.toLocaleString('en-US')} keys`,
        ...rowParts(samples[i]!),
        point: { over: 'keys', series: `${mix.reads} reads + ${mix.writes} write`, x: count },
      }),
    );
  },
};

const nameOf = (count: number): string => `keys-${count}`;

async function startPaused(context: Context, count: number): Promise<Contender> {
  const cluster = await context.cluster(nameOf(count), { partitions: PARTITIONS });
  const keysPerPartition = Math.ceil(count / PARTITIONS);
  const values = context.valuesOf(VALUE_BYTES);
  await context.fill(cluster, { table: keysPerPartition }, { values });
  cluster.pause();
  return {
    ...transactions(context, cluster, MIXES.readHeavy.mix, { keysPerPartition, values }),
    turn: { begins: () => cluster.resume(), ends: () => cluster.pause() },
  };
}

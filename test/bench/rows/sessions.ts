/** Throughput and latency over the number of sessions. */
import { REGIONS } from '../cluster.js';
import type { Benchmark } from '../context.js';
import { rowParts, takeTurns } from '../rounds.js';
import { MIXES, transactions } from './transactions.js';

const SESSIONS = [1, 8, 32, 128, 512] as const;
const QUICK_SESSIONS = [1, 8] as const;

export const sessions: Benchmark = {
  name: 'sessions',
  about: "the paper's transactions over the number of sessions",
  run: async (context) => {
    const cluster = await context.filledCluster();
    const counts = context.settings.quick ? QUICK_SESSIONS : SESSIONS;
    const points = Object.values(MIXES).flatMap(({ what, mix }) => counts.map((count) => ({ what, mix, count })));
    const contenders = points.map(({ mix, count }) => transactions(context, cluster, mix, { sessions: count }));
    const samples = await takeTurns(Object.fromEntries(contenders.entries()), context.roundOptions);
    return points.map(({ what, count }, i) => ({
      benchmark: 'sessions',
      what: `transactions of ${what}: SDK, ${count} sessions over ${REGIONS.length} regions`,
      ...rowParts(samples[i]!),
      point: { over: 'sessions', series: what, x: count },
    }));
  },
};

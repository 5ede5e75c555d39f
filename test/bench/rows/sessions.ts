/** Throughput and latency over the number of sessions. */
import { REGIONS } from '../cluster.js';
import type { Benchmark } from '../context.js';
import { atLeast, type Row, type Target } from '../figures.js';
import { rowParts, takeTurns } from '../rounds.js';
import { MIXES, transactions } from './transactions.js';

const SESSIONS = [1, 8, 32, 128, 512] as const;
const QUICK_SESSIONS = [1, 8] as const;
/** Rates with the best number of sessions. */
const TARGETS: Readonly<Record<string, Target>> = {
  [MIXES.readHeavy.what]: atLeast(6700),
  [MIXES.writeHeavy.what]: atLeast(3500),
};

export const sessions: Benchmark = {
  name: 'sessions',
  about: "the paper's transactions over the number of sessions",
  run: async (context) => {
    const cluster = await context.filledCluster();
    const counts = context.settings.quick ? QUICK_SESSIONS : SESSIONS;
    const points = Object.values(MIXES).flatMap(({ what, mix }) => counts.map((count) => ({ what, mix, count })));
    const contenders = points.map(({ mix, count }) => transactions(context, cluster, mix, { sessions: count }));
    const samples = await takeTurns(Object.fromEntries(contenders.entries()), context.roundOptions);
    const rows = points.map(({ what, count }, i) => ({
      benchmark: 'sessions',
      what: `transactions of ${what}: SDK, ${count} sessions over ${REGIONS.length} regions`,
      ...rowParts(samples[i]!),
      point: { over: 'sessions' as const, series: what, x: count },
    }));
    return [...rows, ...Object.values(MIXES).map(({ what }) => bestOf(what, rows))];
  },
};

/** The curve's highest rate, with its target. */
function bestOf(series: string, rows: readonly Row[]): Row {
  const curve = rows.filter(({ point }) => point?.series === series);
  const { point, ...best } = curve.reduce((a, b) => (b.measured.median > a.measured.median ? b : a));
  return {
    ...best,
    what: `transactions of ${series}: SDK, the best number of sessions: ${point!.x}`,
    target: TARGETS[series],
  };
}

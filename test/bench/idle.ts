/** What a cluster costs that nobody uses. Has to come first: a cluster that has worked is never as small again. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Benchmark } from './context.js';
import { atMost, figureOf, type Row } from './figures.js';
import { cpuMs } from './proc.js';

const SETTLE_MS = 5000;
const OBSERVED_MS = 20_000;

export const idle: Benchmark = {
  name: 'idle',
  about: 'memory and CPU of nodes that do nothing',
  run: async (context) => {
    const { nodes } = await context.cluster('idle');
    context.progress.step('watching idle nodes');
    await delay(context.settings.quick ? SETTLE_MS / 5 : SETTLE_MS);
    const cpu = await cpuShares(
      nodes.map((node) => node.process.pid),
      context.settings.quick ? OBSERVED_MS / 10 : OBSERVED_MS,
    );
    const statuses = await Promise.all(nodes.map((node) => node.status()));
    await context.stopCluster('idle');
    return [...cpuRow(cpu), memoryRow(statuses.map(({ rssBytes }) => rssBytes))];
  },
};

const memoryRow = (rssBytes: readonly number[]): Row => ({
  benchmark: 'idle',
  what: 'memory of an idle node (RSS; the largest of 3)',
  unit: 'MB',
  measured: figureOf([Math.max(...rssBytes) / 1e6]),
  target: atMost(130),
  details: { rssBytes },
});

const cpuRow = (shares: readonly number[] | undefined): Row[] =>
  shares === undefined
    ? []
    : [
        {
          benchmark: 'idle',
          what: 'CPU of an idle 3-region cluster, a node (the busiest of 3)',
          unit: '% of a core',
          measured: figureOf([Math.max(...shares)]),
          target: atMost(6),
          details: { shares },
        },
      ];

/** Percent of one core for each process; undefined where the system does not say. */
async function cpuShares(pids: readonly number[], durationMs: number): Promise<number[] | undefined> {
  const before = pids.map(cpuMs);
  const start = performance.now();
  await delay(durationMs);
  const elapsedMs = performance.now() - start;
  const shares = pids.map((pid, i) => {
    const [from, to] = [before[i], cpuMs(pid)];
    return from === undefined || to === undefined ? undefined : ((to - from) * 100) / elapsedMs;
  });
  return shares.every((share) => share !== undefined) ? shares : undefined;
}

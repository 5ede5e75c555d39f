/** What a cluster costs that nobody uses. Has to come first: a cluster that has worked is never as small again. */
import { setTimeout as delay } from 'node:timers/promises';
import { REGIONS } from './cluster.js';
import type { Benchmark, Context } from './context.js';
import { atMost, figureOf, type Row } from './figures.js';
import type { IdleSessionsJob } from './load/idle-sessions.js';
import { cpuMs } from './proc.js';

const SETTLE_MS = 5000;
const OBSERVED_MS = 20_000;
const PARTITIONS = 600;
/** As many as one address may have. */
const SESSIONS = 4000;
const QUICK_SESSIONS = 100;

export const idle: Benchmark = {
  name: 'idle',
  about: 'memory and CPU of nodes that do nothing',
  run: async (context) => {
    const { nodes, pids } = await context.cluster('idle');
    const cpu = await watch(context, pids);
    const statuses = await Promise.all(nodes.map((node) => node.status()));
    await context.stopCluster('idle');
    const row = cpuRow('idle', 'CPU of an idle 3-region cluster, a node (the busiest of 3)', cpu, 2);
    return [...row, memoryRow(statuses.map(({ rssBytes }) => rssBytes))];
  },
};

export const idlePartitions: Benchmark = {
  name: 'idle-partitions',
  about: 'CPU of nodes with many partitions that do nothing',
  run: async (context) => {
    const { pids } = await context.cluster('idle-partitions', { partitions: PARTITIONS });
    const cpu = await watch(context, pids);
    await context.stopCluster('idle-partitions');
    const what = `CPU of an idle 3-region cluster of ${PARTITIONS} partitions, a node (the busiest of 3)`;
    return cpuRow('idle-partitions', what, cpu, 4);
  },
};

export const idleSessions: Benchmark = {
  name: 'idle-sessions',
  about: 'CPU that sessions cost which do nothing',
  run: async (context) => {
    const { configFile, pids } = await context.cluster('idle-sessions');
    const sessions = context.settings.quick ? QUICK_SESSIONS : SESSIONS;
    const before = await watch(context, pids);
    context.progress.step(`opening ${sessions} sessions`);
    const helper = context.helper<IdleSessionsJob, number>('./load/idle-sessions.js');
    await helper.run({ configFile, region: REGIONS[0], sessions });
    const after = await watch(context, pids);
    await helper.stop();
    await context.stopCluster('idle-sessions');
    if (before === undefined || after === undefined) return [];
    const added = [after[0]! - before[0]!];
    return cpuRow('idle-sessions', `CPU that ${sessions} idle sessions add to a node`, added, 0.8);
  },
};

/** Percent of one core for each process, once they have come to rest. */
async function watch({ settings, progress }: Context, pids: readonly number[]): Promise<number[] | undefined> {
  progress.step('watching idle nodes');
  await delay(settings.quick ? SETTLE_MS / 5 : SETTLE_MS);
  return cpuShares(pids, settings.quick ? OBSERVED_MS / 10 : OBSERVED_MS);
}

const memoryRow = (rssBytes: readonly number[]): Row => ({
  benchmark: 'idle',
  what: 'memory of an idle node (RSS; the largest of 3)',
  unit: 'MB',
  measured: figureOf([Math.max(...rssBytes) / 1e6]),
  target: atMost(120),
  details: { rssBytes },
});

const cpuRow = (benchmark: string, what: string, shares: readonly number[] | undefined, bound: number): Row[] =>
  shares === undefined
    ? []
    : [
        {
          benchmark,
          what,
          unit: '% of a core',
          measured: figureOf([Math.max(...shares)]),
          target: atMost(bound),
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

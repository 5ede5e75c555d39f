/** The costs of an idle cluster. Must be first: memory does not shrink to this size after work. */
import { setTimeout as delay } from 'node:timers/promises';
import { MANY_CONNECTIONS, REGIONS } from '../cluster.js';
import type { Benchmark, Context } from '../context.js';
import { atMost, type Line, lineOf, type Target } from '../figures.js';
import type { IdleSessionsJob } from '../load/idle-sessions.js';
import { cpuShares } from '../proc.js';

const SETTLE_MS = 5000;
const OBSERVED_MS = 20_000;
/** The factor by which both are shorter in a quick run. */
const QUICK_FACTOR = 40;
const PARTITIONS: readonly { readonly partitions: number; readonly target?: Target }[] = [
  { partitions: 60 },
  { partitions: 600, target: atMost(4) },
];
const SESSIONS: readonly { readonly sessions: number; readonly target?: Target }[] = [
  { sessions: 1 },
  { sessions: 1000 },
  { sessions: 10_000, target: atMost(2) },
];
const QUICK_DIVISOR = 100;
const QUICK_PARTITIONS_DIVISOR = 20;

export const idle: Benchmark = {
  name: 'idle',
  about: 'memory and CPU of nodes that do nothing',
  run: async (context) => {
    const { nodes, pids } = await context.cluster('idle');
    const cpu = await watch(context, pids);
    const rssBytes = (await Promise.all(nodes.map((node) => node.status()))).map((status) => status.rssBytes);
    await context.stopCluster('idle');
    const memory = [Math.max(...rssBytes) / 1e6];
    return [
      ...cpuLine('CPU of an idle node, 3 regions of 6 partitions (the busiest of 3)', cpu, atMost(2)),
      { ...lineOf('memory of an idle node (RSS; the largest of 3)', 'MB', memory, atMost(120)), details: { rssBytes } },
    ];
  },
};

export const idlePartitions: Benchmark = {
  name: 'idle-partitions',
  about: 'CPU of nodes with many partitions that do nothing',
  run: async (context) => {
    const lines: Line[] = [];
    for (const { partitions: full, target } of PARTITIONS) {
      const partitions = context.settings.quick ? Math.ceil(full / QUICK_PARTITIONS_DIVISOR) : full;
      const { pids } = await context.cluster('idle-partitions', { partitions });
      const cpu = await watch(context, pids);
      await context.stopCluster('idle-partitions');
      const what = `CPU of an idle node, 3 regions of ${partitions} partitions (the busiest of 3)`;
      lines.push(...cpuLine(what, cpu, target));
    }
    return lines;
  },
};

export const idleSessions: Benchmark = {
  name: 'idle-sessions',
  about: 'CPU that idle sessions cost',
  run: async (context) => {
    const { configFile, pids } = await context.cluster('idle-sessions', { nodeArgs: MANY_CONNECTIONS });
    const none = await watch(context, pids);
    const helper = context.helper<IdleSessionsJob, number>('./load/idle-sessions.js');
    const lines: Line[] = [];
    let open = 0;
    for (const { sessions, target } of SESSIONS) {
      const wanted = context.settings.quick ? Math.ceil(sessions / QUICK_DIVISOR) : sessions;
      context.progress.step(`opening ${wanted} sessions`);
      await helper.run({ configFile, region: REGIONS[0], sessions: wanted - open });
      open = wanted;
      const some = await watch(context, pids);
      if (none === undefined || some === undefined) continue;
      const what = `CPU that idle sessions add to a node: ${wanted.toLocaleString('en-US')}`;
      lines.push(...cpuLine(what, [some[0]! - none[0]!], target));
    }
    await helper.stop();
    await context.stopCluster('idle-sessions');
    return lines;
  },
};

/** Percent of one core for each process, after a pause to settle. */
async function watch({ settings, progress }: Context, pids: readonly number[]): Promise<readonly number[] | undefined> {
  progress.step('watching idle nodes');
  const factor = settings.quick ? QUICK_FACTOR : 1;
  await delay(SETTLE_MS / factor);
  return (await cpuShares(pids, () => delay(OBSERVED_MS / factor))).shares;
}

/** The greatest of the shares; no line if the system does not report them. */
const cpuLine = (what: string, shares: readonly number[] | undefined, target?: Target): Line[] =>
  shares === undefined ? [] : [{ ...lineOf(what, '% of a core', [Math.max(...shares)], target), details: { shares } }];

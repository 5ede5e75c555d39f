/** A node whose data many sockets watch, for the benchmarks of live queries. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Cluster, type ClusterNode, MANY_CONNECTIONS } from '../cluster.js';
import type { Context } from '../context.js';
import { AUDIENCES, type Audience } from '../load/watcher.js';
import type { WatchersJob, WatchersLoad } from '../load/watchers.js';
import { cpuShares } from '../proc.js';

const SOCKETS = 10_000;
const CHANGES_PER_SECOND = 1000;
const SETTLE_MS = 5000;
/** A quick run has this many times fewer sockets, changes and pauses. */
const QUICK_DIVISOR = 100;
const QUICK_CHANGES_PER_SECOND = 50;
const VALUE_CHARACTERS = 100;
/** Time for what a job does beside its round: it is killed after that. */
const JOB_MS = 120_000;

/** A round of changes. */
export interface Changed extends WatchersLoad {
  /** CPU of the node, percent of a core; undefined if the system does not report it. */
  readonly cpu: number | undefined;
}

/** A cluster with watching sockets at its first node, and the process that holds them. */
export interface Watched {
  readonly cluster: Cluster;
  readonly node: ClusterNode;
  readonly sockets: number;
  /** Resident bytes that a watch adds to the node, its socket not counted. */
  readonly bytesPerWatch: number;
  run(job: WatchersJob): Promise<WatchersLoad>;
  /** @param audience 0 for keys that no socket watches */
  change(audience: Audience | 0, durationMs: number): Promise<Changed>;
  stop(): Promise<void>;
}

export const resident = async (node: ClusterNode): Promise<number> => (await node.status()).rssBytes;

export async function startWatchers(context: Context, name: string): Promise<Watched> {
  const { quick } = context.settings;
  const sockets = quick ? SOCKETS / QUICK_DIVISOR : SOCKETS;
  const cluster = await context.cluster(name, { nodeArgs: MANY_CONNECTIONS });
  const node = cluster.nodes[0]!;
  const at = { configFile: cluster.configFile, region: node.region };
  const helper = context.helper<WatchersJob, WatchersLoad>('./load/watchers.js');
  const run = (job: WatchersJob) => helper.run(job, context.settings.durationMs + JOB_MS);
  const settle = () => delay(SETTLE_MS / (quick ? QUICK_DIVISOR : 1));
  context.progress.step(`opening ${sockets} sockets`);
  await run({ kind: 'open', ...at, sockets });
  await settle();
  const open = await resident(node);
  await run({ kind: 'watch' });
  await settle();
  const bytesPerWatch = ((await resident(node)) - open) / (sockets * AUDIENCES.length);
  const changesPerSecond = quick ? QUICK_CHANGES_PER_SECOND : CHANGES_PER_SECOND;
  const values = context.valuesOf(VALUE_CHARACTERS);
  const change = async (audience: Audience | 0, durationMs: number): Promise<Changed> => {
    const job = { kind: 'change', ...at, audience, changesPerSecond, durationMs, values } as const;
    const { result, shares } = await cpuShares([node.process.pid], () => run(job));
    return { ...result, cpu: shares?.[0] };
  };
  const stop = async (): Promise<void> => {
    await helper.stop();
    await context.stopCluster(name);
  };
  return { cluster, node, sockets, bytesPerWatch, run, change, stop };
}

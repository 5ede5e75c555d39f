/** The loads that benchmarks put on clusters, as contenders. */
import { READ_HEAVY, type TransactionMix, WRITE_HEAVY } from '@isochron/workload';
import { type Cluster, type Layout, REGIONS } from '../cluster.js';
import type { Context } from '../context.js';
import type { CommitJob, ReadJob, SdkLoad, TransactionJob } from '../load/sdk.js';
import type { ValueRule } from '../load/values.js';
import type { Contender, Turn } from '../rounds.js';

/** Sessions that run transactions, unless their number is the variable. */
export const SESSIONS = 32;
/** Sessions that commit one key after the other. */
export const COMMITTERS = 64;
/** Concurrent reads of one session. */
export const IN_FLIGHT = 64;

/** The paper's transactions: 95:5 local to multi-region, zipf 0.99, 4 partitions, 8-byte values. */
export const MIXES = {
  readHeavy: { what: '19 reads + 1 write', mix: READ_HEAVY },
  writeHeavy: { what: '10 reads + 10 writes', mix: WRITE_HEAVY },
} as const;

/** Settings of a job that have a default. */
type Usual = 'regions' | 'keysPerPartition' | 'values';
type WithDefaults<J> = J extends unknown
  ? Omit<J, Usual | 'configFile' | 'durationMs' | 'seed'> & Partial<Pick<J, Usual & keyof J>>
  : never;
/** The work of the SDK's load generator on one cluster. */
export type SdkWork = WithDefaults<ReadJob | CommitJob | TransactionJob>;

/** A round of the SDK's load generator. */
export function sdkLoad(
  context: Context,
  { configFile }: Pick<Cluster, 'configFile'>,
  work: SdkWork,
  generator = context.sdk(),
): (durationMs: number, round: number) => Promise<SdkLoad> {
  const { keysPerPartition, settings } = context;
  const usual = { regions: REGIONS, keysPerPartition, values: context.valuesOf() };
  return (durationMs, round) =>
    generator.run({ ...usual, ...work, configFile, durationMs, seed: settings.seed + round });
}

/** One-shot reads of one local key over one WebSocket to the first node of the cluster. */
export function reads(context: Context, cluster: Cluster): Contender {
  const [{ region, process }] = cluster.nodes as [(typeof cluster.nodes)[number]];
  const work = { kind: 'read', regions: [region], sessions: 1, inFlight: IN_FLIGHT } as const;
  return { pids: [process.pid], run: sdkLoad(context, cluster, work) };
}

/** Durable commits of one key each. */
export const commits = (context: Context, cluster: Cluster, regions: readonly string[] = REGIONS): Contender => ({
  pids: cluster.pids,
  run: sdkLoad(context, cluster, { kind: 'commit', sessions: COMMITTERS, regions }),
});

/** The paper's transactions on a filled cluster. */
export const transactions = (
  context: Context,
  cluster: Cluster,
  mix: TransactionMix,
  more: Partial<Pick<TransactionJob, 'sessions' | 'keysPerPartition' | 'values' | 'keys'>> = {},
): Contender => ({
  pids: cluster.pids,
  clientPids: [context.sdk().pid],
  workload: `${cluster.configFile} ${mix.reads}+${mix.writes}`,
  run: sdkLoad(context, cluster, { kind: 'transaction', mix, sessions: SESSIONS, ...more }),
});

/** The keys of a cluster that differ from the settings. */
export interface ClusterKeys {
  readonly keysPerPartition?: number;
  readonly values?: ValueRule;
}

/** A cluster with its keys, stopped until its turn: nodes without load use CPU, too. */
export async function startPaused(
  context: Context,
  name: string,
  layout: Partial<Layout>,
  { keysPerPartition = context.keysPerPartition, values = context.valuesOf() }: ClusterKeys = {},
): Promise<Cluster> {
  const cluster = await context.cluster(name, layout);
  await context.fill(cluster, { table: keysPerPartition }, { values });
  cluster.pause();
  return cluster;
}

/** A cluster runs in its own turns only. */
export const turnOf = (cluster: Cluster): Turn => ({ begins: () => cluster.resume(), ends: () => cluster.pause() });

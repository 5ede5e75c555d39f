/** `isochron bench`. */
import { connect, type IsochronClient } from '@isochron/sdk';
import Table from 'cli-table3';
import { type EndpointOptions, reaching } from '../data/client.js';
import { count, isInteractive, print, remark } from '../output.js';
import { askCluster } from '../status/collect.js';
import type { ClusterAnswer } from '../status/shape.js';
import { keyTable, loadKeys, type Measurement, type MixName, newMeasurement, runSession } from './load.js';

/** Options of `isochron bench`. */
export interface BenchOptions extends EndpointOptions {
  readonly sessions: number;
  /** Seconds. */
  readonly duration: number;
  readonly mix: MixName;
  readonly keyspace: string;
  /** Keys in each partition. */
  readonly keys: number;
  /** Whether endpoints were named; otherwise all nodes of the cluster are used. */
  readonly endpointGiven: boolean;
  readonly json: boolean;
}

const PROGRESS_INTERVAL_MS = 500;

/** Loads keys, runs transactions, prints throughput and latency. */
export async function runBench(options: BenchOptions): Promise<void> {
  const cluster = await askCluster(options);
  const endpoints = options.endpointGiven ? options.endpoint : allEndpoints(cluster);
  const clients = await connectAll(options, endpoints);
  try {
    const table = keyTable(cluster, options.keyspace, options.keys);
    remark(`Writing ${count(options.keys * table.partitions.length)} keys ...`);
    await loadKeys(table, clients);
    const measurement = newMeasurement();
    const startMs = performance.now();
    const timer = showProgress(measurement, options);
    const endMs = startMs + options.duration * 1000;
    const sessions = clients.map((client, i) => runSession(client, table, options.mix, i + 1, endMs, measurement));
    await Promise.all(sessions).finally(() => clearInterval(timer));
    printResult(resultOf(measurement, performance.now() - startMs, options, endpoints));
  } finally {
    await Promise.all(clients.map((client) => client.close()));
  }
}

const allEndpoints = (cluster: ClusterAnswer): string[] =>
  cluster.regions.flatMap((region) => region.nodes.map((node) => node.api));

/** Sessions, spread over the endpoints in turn. */
async function connectAll(options: BenchOptions, endpoints: readonly string[]): Promise<IsochronClient[]> {
  const connecting = Array.from({ length: options.sessions }, (_, i) =>
    connect({
      endpoints: [endpoints[i % endpoints.length]!],
      keyspace: options.keyspace,
      ...reaching(options),
    }),
  );
  const results = await Promise.allSettled(connecting);
  const clients = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const failed = results.find((result) => result.status === 'rejected');
  if (failed === undefined) return clients;
  await Promise.all(clients.map((client) => client.close()));
  throw failed.reason;
}

function showProgress(measurement: Measurement, { duration }: BenchOptions): NodeJS.Timeout | undefined {
  if (!isInteractive()) return undefined;
  const startMs = performance.now();
  let before = 0;
  return setInterval(() => {
    const { transactions } = measurement;
    const perSecond = count(((transactions - before) * 1000) / PROGRESS_INTERVAL_MS);
    before = transactions;
    const elapsed = Math.min(duration, (performance.now() - startMs) / 1000).toFixed(1);
    process.stderr.write(`\r\x1b[K${elapsed} of ${duration} s: ${perSecond} transactions/s`);
  }, PROGRESS_INTERVAL_MS);
}

const PERCENTILES = [50, 90, 99, 99.9] as const;

/** The result of a run. Latencies in ms. */
interface BenchResult {
  readonly mix: MixName;
  readonly sessions: number;
  readonly endpoints: readonly string[];
  readonly durationMs: number;
  readonly transactions: number;
  readonly transactionsPerSecond: number;
  readonly latencyMs: Readonly<Record<string, number>>;
  readonly json: boolean;
}

function resultOf(
  { latency, transactions }: Measurement,
  durationMs: number,
  { mix, sessions, json }: BenchOptions,
  endpoints: readonly string[],
): BenchResult {
  const ms = (us: number): number => Math.round(us) / 1000;
  const percentiles = PERCENTILES.map((p): [string, number] => [`p${p}`, ms(latency.getValueAtPercentile(p))]);
  return {
    mix,
    sessions,
    endpoints,
    durationMs: Math.round(durationMs),
    transactions,
    transactionsPerSecond: Math.round((transactions * 1000) / durationMs),
    latencyMs: { mean: ms(latency.mean), ...Object.fromEntries(percentiles), max: ms(latency.maxValue) },
    json,
  };
}

function printResult({ json, ...result }: BenchResult): void {
  if (isInteractive()) process.stderr.write('\r\x1b[K');
  print(json ? JSON.stringify(result) : resultTable(result));
}

function resultTable({ mix, sessions, transactionsPerSecond, latencyMs }: Omit<BenchResult, 'json'>): string {
  const table = new Table({
    head: ['mix', 'sessions', 'transactions/s', ...Object.keys(latencyMs).map((name) => `${name} ms`)],
    style: { head: [], border: [] },
  });
  table.push([mix, sessions, count(transactionsPerSecond), ...Object.values(latencyMs)]);
  return table.toString();
}

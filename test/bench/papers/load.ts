/** The clients of one region: sessions in a closed loop each. */
import type { IsochronClient } from '@isochron/sdk';
import { type KeyTable, OperationGenerator, TransactionGenerator } from '@isochron/workload';
import { answerJobs } from '../jobs.js';
import { loadCluster } from '../load/loaded-cluster.js';
import { repeat } from '../load/window.js';
import type { Kind, LoadShape } from './experiment.js';
import { type Encoded, Latencies } from './latencies.js';
import { runOperation, runPlanned } from './steps.js';

export interface RegionJob {
  readonly configFile: string;
  readonly region: string;
  readonly sessions: number;
  readonly load: LoadShape;
  readonly keysPerPartition: number;
  /** Default 0. */
  readonly leadInMs?: number;
  readonly durationMs: number;
  /** Of the first session; the others have the numbers that follow. */
  readonly seed: number;
}

export interface RegionLoad {
  /** Within the window. */
  readonly operations: number;
  /** Operations before and after the window, too. */
  readonly allOperations: number;
  readonly latencies: Encoded;
}

answerJobs<RegionJob, RegionLoad>(async (job) => {
  const cluster = loadCluster(job.configFile);
  const clients = await Promise.all(Array.from({ length: job.sessions }, () => cluster.connect(job.region)));
  try {
    const table = cluster.table(job.keysPerPartition);
    const steps = clients.map((client, i) => stepsOf(client, job, table, job.seed + i));
    const latencies = new Latencies();
    const allOperations = await repeat({
      loops: clients.length,
      leadInMs: job.leadInMs ?? 0,
      durationMs: job.durationMs,
      pauseMs: (job.load.kind === 'operations' && job.load.pauseMs) || 0,
      operation: (i) => steps[i]!(),
      ended: (elapsedMs, kind) => latencies.record(kind, elapsedMs),
    });
    return { operations: latencies.count, allOperations, latencies: latencies.encode() };
  } finally {
    await Promise.all(clients.map((client) => client.close()));
  }
});

/** The session's next operation, at every call. */
function stepsOf(client: IsochronClient, job: RegionJob, table: KeyTable, seed: number): () => Promise<Kind> {
  const { load, region } = job;
  if (load.kind === 'operations') {
    const generator = new OperationGenerator({ table, mix: load.mix, region, seed });
    return () => runOperation(client, generator);
  }
  const generator = new TransactionGenerator({ table, mix: load.mix, region, seed });
  return async () => {
    await runPlanned(client, generator);
    return 'transaction';
  };
}

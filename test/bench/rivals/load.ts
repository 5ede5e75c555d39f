/** The papers' transactions on another store. Every value that is read is verified. Sessions stay open between jobs. */
import { Random } from '@isochron/core';
import type { TransactionMix } from '@isochron/workload';
import { answerJobs } from '../jobs.js';
import { loadCluster, plain } from '../load/loaded-cluster.js';
import { type KeyChoice, transactionsOf } from '../load/mixes.js';
import { type ValueRule, valueFor, verify, WRITERS } from '../load/values.js';
import { runWindow } from '../load/window.js';
import type { Load } from '../rounds.js';
import type { RivalName } from './servers.js';
import { openRival, preparePostgres, type RivalSession } from './sessions.js';

interface Common {
  readonly rival: RivalName;
  readonly address: string;
  /** Cluster file whose partitions decide which keys a transaction has. */
  readonly configFile: string;
  readonly keysPerPartition: number;
  readonly sessions: number;
  readonly values: ValueRule;
}

/** Writes every key of the table. */
export interface RivalFillJob extends Common {
  readonly kind: 'fill';
}

export interface RivalTransactionJob extends Common {
  readonly kind: 'transaction';
  readonly regions: readonly string[];
  readonly mix: TransactionMix;
  readonly keys: KeyChoice;
  readonly durationMs: number;
  readonly seed: number;
}

const KEYS_PER_WRITE = 1000;
/** The writer of the load phase's values. */
const FILLER = 0;

let opened: RivalSession[] = [];

async function sessionsOf({ rival, address, sessions }: Common): Promise<readonly RivalSession[]> {
  if (opened.length < sessions) {
    const more = Array.from({ length: sessions - opened.length }, () => openRival(rival, address));
    opened = [...opened, ...(await Promise.all(more))];
  }
  return opened.slice(0, sessions);
}

answerJobs<RivalFillJob | RivalTransactionJob, Load>(async (job) => {
  if (job.kind === 'fill' && job.rival === 'postgres') await preparePostgres(job.address);
  const sessions = await sessionsOf(job);
  return job.kind === 'fill' ? fill(job, sessions) : transact(job, sessions);
});

async function fill({ configFile, keysPerPartition, values }: RivalFillJob, sessions: readonly RivalSession[]) {
  const start = performance.now();
  const keys = loadCluster(configFile).table(keysPerPartition).allKeys().map(plain);
  let next = 0;
  const write = async (session: RivalSession): Promise<void> => {
    while (next < keys.length) {
      const part = keys.slice(next, next + KEYS_PER_WRITE);
      next += part.length;
      await session.write(part.map((key) => [key, valueFor(values, key, FILLER)]));
    }
  };
  await Promise.all(sessions.map(write));
  return { operations: keys.length, elapsedMs: performance.now() - start };
}

function transact({ values, ...job }: RivalTransactionJob, sessions: readonly RivalSession[]): Promise<Load> {
  const random = new Random(job.seed);
  const generators = transactionsOf(job, loadCluster(job.configFile).table(job.keysPerPartition));
  return runWindow(sessions.length, job.durationMs, async (i) => {
    const { reads, writes } = generators[i]!.nextTransaction();
    const keys = reads.map(plain);
    const pairs = writes.map(plain).map((key) => [key, valueFor(values, key, random.below(WRITERS))] as const);
    const check = (read: readonly (string | undefined)[]): void => {
      for (let k = 0; k < keys.length; k++) verify(values, keys[k]!, read[k]);
    };
    await sessions[i]!.transact(keys, check, pairs);
  });
}

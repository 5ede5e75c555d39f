/**
 * Interactive transactions over HTTP: open, read, commit, one after the other on each connection. Every answer is
 * checked.
 */

import { Random } from '@isochron/core';
import { type PlannedTransaction, TransactionGenerator, type TransactionMix } from '@isochron/workload';
import type { Request } from 'autocannon';
import { answerJobs } from '../jobs.js';
import type { Load } from '../rounds.js';
import { checkAnswer } from './answers.js';
import { type CannonRequest, fire } from './autocannon.js';
import { loadCluster, plain } from './loaded-cluster.js';
import { type ValueRule, valueFor, WRITERS } from './values.js';
import { latencyHistogram, percentilesOf, record } from './window.js';

export interface HttpTransactionJob {
  readonly configFile: string;
  /** One node of each region. */
  readonly targets: readonly { readonly region: string; readonly url: string }[];
  readonly mix: TransactionMix;
  readonly keysPerPartition: number;
  /** Connections to each target, one transaction open on each. */
  readonly connections: number;
  readonly values: ValueRule;
  readonly durationMs: number;
  readonly seed: number;
}

/** A connection's state of its transaction. */
interface Open {
  plan?: PlannedTransaction;
  began?: number;
  id?: string;
}

const JSON_HEADERS = { 'content-type': 'application/json' };
const OPENED = 201;
const OK = 200;
const named = (key: string) => ({ keyspace: 'default', key });

answerJobs<HttpTransactionJob, Load>(async (job) => {
  const latency = latencyHistogram();
  const results = await Promise.all(
    job.targets.map(({ url }, i) => {
      const steps = stepsOf(job, i, (ms) => record(latency, ms)).map(cannonRequest);
      return fire(url, steps, job.connections, job.durationMs);
    }),
  );
  for (const { url, errors, non2xx } of results) {
    if (errors + non2xx > 0) throw new Error(`${url}: ${errors} errors, ${non2xx} refusals`);
  }
  // The instances begin at once; the last to end determines the duration.
  const elapsedMs = Math.max(...results.map(({ duration }) => duration)) * 1000;
  return { operations: latency.totalCount, elapsedMs, latency: percentilesOf(latency) };
});

/** A request of a transaction. */
interface Step {
  readonly status: number;
  request(open: Open): Pick<Request, 'path' | 'body'>;
  answered(body: string, open: Open): void;
}

const cannonRequest = ({ status, request, answered }: Step): CannonRequest => ({
  request: {
    method: 'POST',
    headers: JSON_HEADERS,
    setupRequest: (before, context) => ({ ...before, ...request(context as Open) }),
  },
  status,
  answered: (body, context) => answered(body, context as Open),
});

function stepsOf(job: HttpTransactionJob, target: number, committed: (ms: number) => void): Step[] {
  const { configFile, keysPerPartition, mix, values } = job;
  const seed = job.seed * job.targets.length + target;
  const table = loadCluster(configFile).table(keysPerPartition);
  const generator = new TransactionGenerator({ table, mix, region: job.targets[target]!.region, seed });
  const random = new Random(seed);
  const writeOf = (key: string) => ({ ...named(key), value: valueFor(values, key, random.below(WRITERS)) });
  return [
    {
      status: OPENED,
      request: (open) => {
        open.plan = generator.nextTransaction();
        open.began = performance.now();
        return { path: '/v1/transactions', body: '{}' };
      },
      answered: (body, open) => {
        open.id = (JSON.parse(body) as { id: string }).id;
      },
    },
    {
      status: OK,
      request: ({ id, plan }) => ({
        path: `/v1/transactions/${id}/read`,
        body: JSON.stringify({ keys: plan!.reads.map(plain).map(named) }),
      }),
      answered: (body, { plan }) => checkAnswer(values, { of: 'values', keys: plan!.reads.map(plain) }, body),
    },
    {
      status: OK,
      request: ({ id, plan }) => ({
        path: `/v1/transactions/${id}/commit`,
        body: JSON.stringify({ writes: plan!.writes.map(plain).map(writeOf) }),
      }),
      answered: (body, { began }) => {
        checkAnswer(values, { of: 'commit' }, body);
        committed(performance.now() - began!);
      },
    },
  ];
}

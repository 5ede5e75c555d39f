/** A client with a few reads and commits a second, over the SDK and HTTP: its latencies, each by its kind. */
import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Histogram } from 'hdr-histogram-js';
import { answerJobs } from '../jobs.js';
import type { Load } from '../rounds.js';
import { loadCluster } from './loaded-cluster.js';
import { type ValueRule, valueFor, verify } from './values.js';
import { latencyHistogram, record } from './window.js';

export interface QuietJob {
  readonly configFile: string;
  readonly region: string;
  /** API of the node. */
  readonly url: string;
  readonly values: ValueRule;
  readonly durationMs: number;
}

export const QUIET_KINDS = ['read: SDK', 'commit: SDK', 'GET: HTTP', 'PUT: HTTP'] as const;
export type QuietKind = (typeof QUIET_KINDS)[number];

export interface QuietLoad extends Load {
  readonly p99Ms: Readonly<Record<QuietKind, number>>;
}

/** Operations of each kind in a second. */
const PER_SECOND: Readonly<Record<QuietKind, number>> = {
  'read: SDK': 30,
  'commit: SDK': 15,
  'GET: HTTP': 30,
  'PUT: HTTP': 15,
};
const KEYS = Array.from({ length: 20 }, (_, i) => `quiet/${i}`);
const POLL_MS = 20;

answerJobs<QuietJob, QuietLoad>(async (job) => {
  const { configFile, region, url, values, durationMs } = job;
  const client = await loadCluster(configFile).connect(region, true);
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  const path = (key: string): string => `${url}/v1/keyspaces/default/keys/${encodeURIComponent(key)}`;
  const get = (key: string): Promise<Answer> => send(agent, 'GET', path(key));
  await Promise.all(KEYS.map((key) => client.set(key, valueFor(values, key, 0))));
  for (const key of KEYS) while ((await get(key)).status !== 200) await delay(POLL_MS);
  const operations: Readonly<Record<QuietKind, (key: string, n: number) => Promise<void>>> = {
    'read: SDK': async (key) => verify(values, key, await client.get(key)),
    'commit: SDK': async (key, n) => void (await client.set(key, valueFor(values, key, n))),
    'GET: HTTP': async (key) => verify(values, key, JSON.parse(ok(await get(key)).text)),
    'PUT: HTTP': async (key, n) =>
      void ok(await send(agent, 'PUT', path(key), JSON.stringify(valueFor(values, key, n)))),
  };
  const latencies = await Promise.all(
    QUIET_KINDS.map((kind) => atPace(PER_SECOND[kind], durationMs, (n) => operations[kind](KEYS[n % KEYS.length]!, n))),
  );
  agent.destroy();
  await client.close();
  const p99Ms = Object.fromEntries(
    QUIET_KINDS.map((kind, i) => [kind, latencies[i]!.getValueAtPercentile(99) / 1000]),
  ) as Record<QuietKind, number>;
  return { operations: latencies.reduce((sum, { totalCount }) => sum + totalCount, 0), elapsedMs: durationMs, p99Ms };
});

/** Begins an operation at each of its times, whether or not the one before has ended. */
async function atPace(
  perSecond: number,
  durationMs: number,
  operation: (n: number) => Promise<void>,
): Promise<Histogram> {
  const latency = latencyHistogram();
  const running: Promise<void>[] = [];
  // Kept until all have begun: a rejection that no code waits for yet would end the process.
  const failures: unknown[] = [];
  const began = performance.now();
  for (let n = 0; (n * 1000) / perSecond < durationMs; n++) {
    await delay(Math.max(0, began + (n * 1000) / perSecond - performance.now()));
    const start = performance.now();
    const one = operation(n).then(() => record(latency, performance.now() - start));
    running.push(one.catch((error: unknown) => void failures.push(error)));
  }
  await Promise.all(running);
  if (failures.length > 0) throw failures[0];
  return latency;
}

interface Answer {
  readonly status: number | undefined;
  readonly text: string;
}

/** @throws Error for any other status */
function ok(answer: Answer): Answer {
  if (answer.status !== 200) throw new Error(`a quiet client got ${answer.status}: ${answer.text.slice(0, 200)}`);
  return answer;
}

function send(agent: Agent, method: 'GET' | 'PUT', url: string, body?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, agent, headers: { 'content-type': 'application/json' } }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => resolve({ status: answer.statusCode, text: Buffer.concat(chunks).toString() }));
      answer.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

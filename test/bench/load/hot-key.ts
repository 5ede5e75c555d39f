/** One key with many versions: sessions write it, while a snapshot keeps every version. Values are verified. */
import { Random } from '@isochron/core';
import type { IsochronClient, Snapshot } from '@isochron/sdk';
import { answerJobs } from '../jobs.js';
import type { Load } from '../rounds.js';
import { loadCluster } from './loaded-cluster.js';
import { type ValueRule, valueFor, verify, WRITERS } from './values.js';
import { runWindow } from './window.js';

interface Common {
  readonly configFile: string;
  readonly region: string;
  readonly key: string;
  readonly values: ValueRule;
}

export type HotKeyJob = Common &
  (
    | { readonly kind: 'hold' }
    | { readonly kind: 'release' }
    /** Writes this many versions. */
    | { readonly kind: 'grow'; readonly versions: number; readonly sessions: number }
    /** Reads the newest version. */
    | { readonly kind: 'read'; readonly inFlight: number; readonly durationMs: number }
    /** Reads in a snapshot like the held one, each in one of its own: a snapshot reads a key once. */
    | { readonly kind: 'old'; readonly inFlight: number; readonly durationMs: number }
    | { readonly kind: 'commit'; readonly sessions: number; readonly durationMs: number; readonly seed: number }
  );

/** Concurrent writes of a session. */
const WRITES_AT_ONCE = 10;
const NOTHING: Load = { operations: 0, elapsedMs: 0 };

let held: { readonly client: IsochronClient; readonly snapshot: Snapshot } | undefined;

answerJobs<HotKeyJob, Load>(async (job) => {
  const { key, values } = job;
  if (job.kind === 'hold') return hold(job);
  if (job.kind === 'release') return release();
  const sessions = 'sessions' in job ? job.sessions : 1;
  const cluster = loadCluster(job.configFile);
  const clients = await Promise.all(Array.from({ length: sessions }, () => cluster.connect(job.region)));
  const [first] = clients as [IsochronClient];
  try {
    if (job.kind === 'grow') return await grow(job, clients);
    if (job.kind === 'commit') {
      const random = new Random(job.seed);
      const write = (i: number) => clients[i]!.set(key, valueFor(values, key, random.below(WRITERS)));
      return await runWindow(sessions, job.durationMs, write);
    }
    const read = job.kind === 'old' ? () => readOld(first, key) : () => first.get(key);
    return await runWindow(job.inFlight, job.durationMs, async () => verify(values, key, await read()));
  } finally {
    await Promise.all(clients.map((client) => client.close()));
  }
});

/** Writes the first version and opens a snapshot that has it. */
async function hold({ configFile, region, key, values }: Common): Promise<Load> {
  const client = await loadCluster(configFile).connect(region);
  const written = await client.set(key, valueFor(values, key, 0));
  await written.stable();
  held = { client, snapshot: await client.snapshot() };
  verify(values, key, await held.snapshot.get(key));
  return NOTHING;
}

async function readOld(client: IsochronClient, key: string): Promise<unknown> {
  if (held === undefined) throw new Error('no snapshot is held');
  const snapshot = await client.snapshot({ at: held.snapshot.timestamp });
  try {
    return await snapshot.get(key);
  } finally {
    await snapshot.close();
  }
}

async function release(): Promise<Load> {
  await held?.snapshot.close();
  await held?.client.close();
  held = undefined;
  return NOTHING;
}

async function grow(
  { key, values, versions }: Common & { readonly versions: number },
  clients: readonly IsochronClient[],
): Promise<Load> {
  const began = performance.now();
  let next = 0;
  await Promise.all(
    clients.map(async (client) => {
      while (next < versions) {
        const some = Array.from({ length: Math.min(WRITES_AT_ONCE, versions - next) }, () => next++);
        await Promise.all(some.map((writer) => client.set(key, valueFor(values, key, writer % WRITERS))));
      }
    }),
  );
  return { operations: next, elapsedMs: performance.now() - began };
}

/**
 * Watchers of live queries, each on a socket of its own, and writers of what they watch. Every document that arrives
 * is verified. What has not arrived some time after a round is reported; in the end each change has to be at each of
 * its watchers.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type IsochronClient, IsochronError } from '@isochron/sdk';
import { answerJobs } from '../jobs.js';
import type { Load } from '../rounds.js';
import { Deliveries } from './deliveries.js';
import { loadCluster } from './loaded-cluster.js';
import { StableTimeline } from './stable-timeline.js';
import { type ValueRule, valueFor } from './values.js';
import { type Arrivals, AUDIENCES, type Audience, Watcher, watchedKey } from './watcher.js';
import { percentilesOf } from './window.js';

/** Opens sockets beside the open ones. */
export interface OpenJob {
  readonly kind: 'open';
  readonly configFile: string;
  readonly region: string;
  /** Sockets in all. */
  readonly sockets: number;
}

/** Gives each open socket its watches. */
export interface WatchJob {
  readonly kind: 'watch';
}

/** Writes keys that `audience` sockets watch each, or none, at a rate. */
export interface ChangeJob {
  readonly kind: 'change';
  readonly configFile: string;
  readonly region: string;
  readonly audience: Audience | 0;
  readonly changesPerSecond: number;
  readonly durationMs: number;
  readonly values: ValueRule;
}

/** From now on each socket sends no further request, so that its reader is stalled; or goes on. */
export interface StallJob {
  readonly kind: 'stall';
  readonly isStalled: boolean;
}

/** Waits until each watcher has the newest change of each key of the last round. Fails if one does not get it. */
export interface SettleJob {
  readonly kind: 'settle';
}

export type WatchersJob = OpenJob | WatchJob | ChangeJob | StallJob | SettleJob;

export interface WatchersLoad extends Load {
  /** Documents that arrived, over all sockets. */
  readonly delivered: number;
  /** Documents that had not arrived at a watcher some time after the last write. */
  readonly missing: number;
  /** Commits whose outcome is not known: the node did not answer in time. */
  readonly failed: number;
  /** Messages that arrived. */
  readonly messages: number;
  readonly bytes: number;
}

/** Sockets that are opened at the same time. */
const AT_ONCE = 50;
const PROBE_MS = 2;
/** Sessions that write: the commits of one are sorted one after the other. */
const WRITERS = 16;
/** Changes that are written together, in one turn. */
const BURST_MS = 10;
/** Changes without an answer: a node that is too slow gets fewer of them. */
const MAX_WRITES = 2_000;
/** How long after its last write a round waits for documents. */
const ROUND_SETTLE_MS = 2_000;
const SETTLE_MS = 60_000;

const watchers: Watcher[] = [];
let deliveries: Deliveries | undefined;

/** What arrives between the rounds counts to the last one. */
const arrivals: Arrivals = {
  message: (bytes) => deliveries?.message(bytes),
  document: (key, ts, value) => deliveries?.document(key, ts, value),
};

const NOTHING: WatchersLoad = {
  operations: 0,
  elapsedMs: 0,
  delivered: 0,
  missing: 0,
  failed: 0,
  messages: 0,
  bytes: 0,
};

answerJobs<WatchersJob, WatchersLoad>(async (job) => {
  if (job.kind === 'change') return change(job);
  if (job.kind === 'open') await open(job);
  else if (job.kind === 'watch') for (const watcher of watchers) watcher.watch();
  else if (job.kind === 'stall') for (const watcher of watchers) watcher.stall(job.isStalled);
  else if (!(await hasArrived(SETTLE_MS))) throw new Error(`${deliveries?.missing} documents have not arrived`);
  checkAll();
  return NOTHING;
});

async function open({ configFile, region, sockets }: OpenJob): Promise<void> {
  const [url] = loadCluster(configFile).endpoints(region) as [string];
  while (watchers.length < sockets) {
    const from = watchers.length;
    const some = Array.from({ length: Math.min(AT_ONCE, sockets - from) }, (_, i) => from + i);
    watchers.push(...(await Promise.all(some.map((number) => Watcher.open(url, number, arrivals)))));
  }
}

function checkAll(): void {
  for (const { failure } of watchers) if (failure !== undefined) throw failure;
}

async function change(job: ChangeJob): Promise<WatchersLoad> {
  const { configFile, region, durationMs, values } = job;
  const cluster = loadCluster(configFile);
  const connect = () => cluster.connect(region, true);
  const [client, writers] = [await connect(), await Promise.all(Array.from({ length: WRITERS }, connect))];
  const timeline = new StableTimeline(client, PROBE_MS);
  const round = new Deliveries(values, timeline);
  deliveries = round;
  const began = performance.now();
  const { operations, failed } = await write(writers, job, round);
  const elapsedMs = Math.max(durationMs, performance.now() - began);
  const { latency, documents: delivered, messages, bytes } = round;
  await hasArrived(ROUND_SETTLE_MS);
  const { missing } = round;
  await timeline.stop();
  await Promise.all([client, ...writers].map((each) => each.close()));
  checkAll();
  const load = { operations, elapsedMs, delivered, missing, failed, messages, bytes };
  return { ...load, latency: percentilesOf(latency) };
}

/** Writes the watched keys in turn, at the rate, without waiting for the answers. */
async function write(
  clients: readonly IsochronClient[],
  { audience, changesPerSecond, durationMs, values }: ChangeJob,
  round: Deliveries,
): Promise<{ operations: number; failed: number }> {
  const audiences: readonly number[] = AUDIENCES;
  const n = audiences.indexOf(audience);
  const keys = Math.ceil(watchers.length / Math.max(1, audience));
  const writes = new Set<Promise<void>>();
  let [count, failed] = [0, 0];
  let fault: Error | undefined;
  const began = performance.now();
  for (let now = began; now - began < durationMs; now = performance.now()) {
    const due = ((now - began) * changesPerSecond) / 1000;
    for (; count < due && writes.size < MAX_WRITES; count++) {
      const [key, watching] = [watchedKey(n, count % keys), watchersOf(count % keys, audience)];
      const one: Promise<void> = clients[count % clients.length]!.set(key, valueFor(values, key, count))
        .then(({ timestamp }) => round.committed(key, timestamp, watching))
        .catch((error: Error) => {
          if (error instanceof IsochronError && error.code === 'OUTCOME_UNKNOWN') {
            round.undecided(key);
            failed++;
          } else fault ??= error;
        })
        .finally(() => writes.delete(one));
      writes.add(one);
    }
    await delay(BURST_MS);
  }
  await Promise.all(writes);
  if (fault !== undefined) throw fault;
  return { operations: count - failed, failed };
}

/** Number of open sockets that watch a key. */
const watchersOf = (number: number, audience: number): number =>
  Math.min(audience, watchers.length - number * audience);

/** Waits until nothing is missing. @returns whether that is so */
async function hasArrived(limitMs: number): Promise<boolean> {
  const deadline = performance.now() + limitMs;
  while (deliveries !== undefined && deliveries.missing !== 0) {
    if (performance.now() > deadline) return false;
    checkAll();
    await delay(BURST_MS);
  }
  return true;
}

/**
 * Samples when updates become visible: in every region a session writes keys of its own, one after the other, and
 * another one reads them until they are visible. All sessions are in one process, and so use one clock.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { qualify } from '@isochron/core';
import type { IsochronClient } from '@isochron/sdk';
import { answerJobs } from '../jobs.js';
import { type LoadedCluster, loadCluster } from '../load/loaded-cluster.js';
import { Reader, type Update } from './reader.js';
import type { VisibilitySample } from './samples.js';

export interface ProbeJob {
  readonly configFile: string;
  readonly durationMs: number;
  /** Keys of different runs on one cluster must differ. */
  readonly run: string;
}

export interface ProbeResult {
  readonly samples: readonly VisibilitySample[];
  readonly unseen: number;
}

/** Between two reads of a region, whether the first has been answered or not: the resolution of the samples. */
const POLL_MS = 5;
/** Of a region: a read that blocks takes up to the delay of a distant region. */
const READING_SESSIONS = 16;
/** Between two writes of a region. */
const WRITE_EVERY_MS = 50;
/** How long readers look for the last writes. */
const LAST_LOOK_MS = 5000;

answerJobs<ProbeJob, ProbeResult>(async (job) => {
  const cluster = loadCluster(job.configFile);
  const { regions } = cluster.topology;
  const connectAll = () => Promise.all(regions.map((region) => cluster.connect(region)));
  const writers = await connectAll();
  const clients = await Promise.all(Array.from({ length: READING_SESSIONS }, connectAll));
  const samples: VisibilitySample[] = [];
  const readers = regions.map((region, i) => {
    const own = clients.map((all) => all[i]!);
    return new Reader(region, own, samples, () => performance.now());
  });
  let failure: unknown;
  const onFailure = (error: unknown) => {
    failure ??= error;
  };
  const polling = setInterval(() => {
    for (const reader of readers) reader.look().catch(onFailure);
  }, POLL_MS);
  try {
    await Promise.all(regions.map((region, i) => writeKeys(job, cluster, region, writers[i]!, readers)));
    const deadline = performance.now() + LAST_LOOK_MS;
    const unseen = () => readers.reduce((sum, reader) => sum + reader.unseen, 0);
    while (unseen() > 0 && failure === undefined && performance.now() < deadline) await delay(POLL_MS);
    if (failure !== undefined) throw failure;
    return { samples, unseen: unseen() };
  } finally {
    clearInterval(polling);
    await Promise.all([...writers, ...clients.flat()].map((client) => client.close()));
  }
});

/**
 * Writes keys of partitions that the region holds, until the time is up; registers them with the readers of all regions
 * that hold them.
 */
async function writeKeys(
  { run, durationMs }: ProbeJob,
  { topology }: LoadedCluster,
  region: string,
  client: IsochronClient,
  readers: readonly Reader[],
): Promise<void> {
  const end = performance.now() + durationMs;
  for (let n = 0; performance.now() < end; n++) {
    const key = `probe-${run}-${region}-${n}`;
    const { regions } = topology.partitions[topology.partitionOf(qualify('default', key))]!;
    if (!regions.includes(region)) continue;
    const update: Update = { source: region, committedAt: undefined };
    for (const reader of readers) if (regions.includes(reader.region)) reader.expect(key, update);
    const next = delay(WRITE_EVERY_MS);
    await client.set(key, n);
    update.committedAt = performance.now();
    await next;
  }
}

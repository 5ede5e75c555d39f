/**
 * The time of durable batches until they are on disk: the machines' batches again, one after the other, on a store with
 * synced writes.
 */
import { performance } from 'node:perf_hooks';
import type { DurableRecord } from '@isochron/core';
import type { Cost } from '@isochron/sim/scale/cost-model';
import { openLevelStore } from '@isochron/storage';
import { Samples } from './fit.js';

/** Batches at the start that are not measured. */
const WARM_UP = 50;
const DISK = 'disk';

/** Rounds the number of records: batches of similar size count as one size. */
const rough = (records: number): number => Math.round(records / 8) * 8;

export async function measureDisk(location: string, batches: readonly (readonly DurableRecord[])[]): Promise<Cost> {
  const samples = new Samples();
  const store = await openLevelStore({ location, durability: 'synced', cacheBytes: 64 * 2 ** 20 });
  for (const [i, batch] of batches.entries()) {
    const before = performance.eventLoopUtilization();
    const began = performance.now();
    await store.commit(batch);
    const tookMs = performance.now() - began;
    const { active } = performance.eventLoopUtilization(before);
    if (i < WARM_UP) continue;
    samples.add(DISK, rough(batch.length), Math.max(0, tookMs - active) * 1000);
  }
  await store.close();
  return samples.costs(1)[DISK]!;
}

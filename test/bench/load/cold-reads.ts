/** Reads of numbered keys, each key once, so that no cache of the node holds them. Values are verified. */
import { answerJobs } from '../jobs.js';
import type { Load } from '../rounds.js';
import { loadCluster } from './loaded-cluster.js';
import { numberedKey } from './numbered.js';
import { type ValueRule, verify } from './values.js';
import { runWindow } from './window.js';

export interface ColdReadsJob {
  readonly configFile: string;
  readonly region: string;
  /** Number of keys. */
  readonly keys: number;
  readonly inFlight: number;
  readonly values: ValueRule;
  readonly durationMs: number;
  /** Number of earlier reads: they used other keys, until every key was read. */
  readonly first: number;
}

/** A prime above every number of keys: its multiples meet each key once, far from the previous one. */
const STRIDE = 67_867_979;

answerJobs<ColdReadsJob, Load>(async ({ configFile, region, keys, inFlight, values, durationMs, first }) => {
  const client = await loadCluster(configFile).connect(region);
  let next = first;
  try {
    return await runWindow(inFlight, durationMs, async () => {
      const key = numberedKey((next++ * STRIDE) % keys);
      verify(values, key, await client.get(key));
    });
  } finally {
    await client.close();
  }
});

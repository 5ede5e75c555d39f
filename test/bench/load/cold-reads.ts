/** Reads of numbered keys, each key once: what no cache of the node holds. Values are verified. */
import { answerJobs } from '../jobs.js';
import type { Load } from '../rounds.js';
import { loadCluster } from './loaded-cluster.js';
import { numberedKey } from './numbered.js';
import { type ValueRule, verify } from './values.js';
import { runWindow } from './window.js';

export interface ColdReadsJob {
  readonly configFile: string;
  readonly region: string;
  /** Numbered keys that there are. */
  readonly keys: number;
  readonly inFlight: number;
  readonly values: ValueRule;
  readonly durationMs: number;
  /** Reads that were made before: theirs are other keys, until every key was read. */
  readonly first: number;
}

/** A prime above every number of keys: its multiples meet each key once, far from the one before. */
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

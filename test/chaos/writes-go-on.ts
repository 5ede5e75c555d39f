/** While a node is frozen, new sessions in every other region write: none of them may wait for it. */
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from '@isochron/sdk';
import { within } from '../e2e/until.js';
import type { ChaosCluster } from './cluster.js';

/** After this time every node and every connecting client has detected the fault. */
const DETECTED_MS = 2_500;
/** Far less than the rest of the fault, and far more than a write takes on a busy machine. */
const PROMPT_MS = 4_000;
const KEYS = 24;
/** Its keys begin with this. They are in no history, and are left behind where a write waits for too long. */
export const FROZEN_PREFIX = 'frozen/';

/**
 * Writes in each region except the node's own, single keys and a transaction, and deletes them again.
 * @returns the operations that took too long, in sentences
 */
export async function writesGoOn(cluster: ChaosCluster, frozen: string): Promise<string[]> {
  // If a region has the only copy of a partition, writes to it have to wait.
  const { keyspaces } = cluster.cluster.file;
  if (keyspaces.some(({ replication = 1 }) => replication < 2)) return [];
  await delay(DETECTED_MS);
  const own = cluster.cluster.node(frozen).region;
  const regions = cluster.regions.filter((region) => region !== own);
  const found = await Promise.all(regions.map((region) => writeIn(cluster, region, frozen)));
  return found.flat();
}

async function writeIn(cluster: ChaosCluster, region: string, frozen: string): Promise<string[]> {
  const keys = Array.from({ length: KEYS }, (_, i) => `${FROZEN_PREFIX}${frozen}/${region}/${i}`);
  const sessions = await Promise.all(
    [0, 1, 2].map(() =>
      connect({
        ...cluster.connection(),
        endpoints: cluster.cluster.endpoints(region),
        requestTimeoutMs: PROMPT_MS,
      }),
    ),
  );
  try {
    const [whole, ...single] = sessions;
    const all = whole!.transaction((tx) => {
      for (const key of keys) tx.set(key, 1);
    });
    const each = single.map((client, i) => client.set(keys[i]!, 2));
    await within('a write', PROMPT_MS, Promise.all([all, ...each]));
    const gone = whole!.transaction((tx) => {
      for (const key of keys) tx.delete(key);
    });
    await within('a deletion', PROMPT_MS, gone);
    // The single writes may lie above the deletions.
    await Promise.all(single.map((client, i) => within('a deletion', PROMPT_MS, client.delete(keys[i]!))));
    return [];
  } catch (error) {
    return [`in ${region}, while ${frozen} is frozen: ${String(error)}`];
  } finally {
    await Promise.all(sessions.map((client) => client.close()));
  }
}

/** Whether a healed cluster converges, and what it then holds. */
import type { Timestamp } from '@isochron/core';
import { entriesAt } from '../e2e/rows.js';
import { until } from '../e2e/until.js';
import type { ChaosCluster } from './cluster.js';

/** Keys and values by region. */
export type Contents = ReadonlyMap<string, ReadonlyMap<string, unknown>>;

/** A cluster that has converged. */
export interface Converged {
  /** A snapshot that covers everything. */
  readonly at: Timestamp;
  /** Time until every process answered, and until UST had passed everything, in ms. */
  readonly answeredMs: number;
  readonly convergedMs: number;
}

/** The cluster did not converge. */
export class NotConverged extends Error {}

/**
 * Waits until every node runs and is a member that owes nothing, nothing is deferred, and every node has installed
 * everything that any node had promised then: UST has passed all clocks, so every commit is visible everywhere and no
 * prepared transaction is left below.
 * @param greatest the greatest timestamp that a client has received; UST must pass it, too
 * @throws NotConverged
 */
export async function converged(cluster: ChaosCluster, limitMs: number, greatest = 0): Promise<Converged> {
  const { nodes } = cluster;
  const options = { timeoutMs: limitMs, explain: () => cluster.failures.join('\n') };
  const startMs = performance.now();
  const clocks = () => Promise.all(nodes.map((id) => cluster.clocks(id)));
  try {
    const first = await until('all nodes answer', clocks, options);
    const answeredMs = performance.now() - startMs;
    await until('all nodes are back', () => allBack(cluster), options);
    const target = Math.max(greatest, ...(await clocks()).map(({ hlc }) => hlc));
    let last = first;
    const passed = async () => {
      last = await clocks();
      return last.every(({ ust }) => ust >= target);
    };
    const explain = () => nodes.map((id, i) => `${id}: UST ${last[i]!.ust} of ${target}`).join('\n');
    await until('UST passes all clocks', passed, { ...options, explain });
    const at = Math.min(...last.map(({ ust }) => ust));
    return { at, answeredMs, convergedMs: performance.now() - startMs };
  } catch (error) {
    throw new NotConverged(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** Whether every node is a member, owes no return, and has nothing deferred (M11, M12). */
async function allBack(cluster: ChaosCluster): Promise<boolean> {
  const maps = await Promise.all(cluster.nodes.map(async (id) => (await cluster.status(id)).node.map));
  return maps.every(({ away, deferred, owes }) => away.length === 0 && deferred === 0 && !owes);
}

/** The contents of each region in one snapshot: for the partitions that it hosts, its own replicas. */
export async function contents(cluster: ChaosCluster, at: number): Promise<Contents> {
  const regions = new Map<string, Map<string, unknown>>();
  for (const region of cluster.regions) {
    const found = new Map<string, unknown>();
    const entries = entriesAt(cluster.cluster.endpoints(region), region, '', at, cluster.connection());
    for await (const { key, value } of entries) found.set(key, value);
    regions.set(region, found);
  }
  return regions;
}

/** Keys with different values in different regions, one sentence each. */
export function differences(regions: Contents): string[] {
  const [first, ...others] = regions;
  if (first === undefined) return [];
  return others.flatMap(([region, found]) =>
    [...new Set([...first[1].keys(), ...found.keys()])]
      .filter((key) => found.get(key) !== first[1].get(key))
      .map((key) => `${key} is ${text(first[1].get(key))} in ${first[0]}, ${text(found.get(key))} in ${region}`),
  );
}

const text = (value: unknown): string => (value === undefined ? 'not there' : JSON.stringify(value));

/** A region's answer about a transaction. */
export interface Answered {
  readonly status: string;
  readonly timestamp: Timestamp | null;
}

/** Asks every region for the outcomes of transactions. Returns the regions' answers by id. */
export async function outcomes(cluster: ChaosCluster, ids: readonly string[]): Promise<Map<string, Answered[]>> {
  const answers = new Map<string, Answered[]>();
  for (const id of ids) {
    const statuses = cluster.regions.map(async (region): Promise<Answered> => {
      const { json } = await cluster.get(cluster.cluster.endpoint(region), `/v1/transactions/${id}`);
      const { status = 'no answer', timestamp = null } = (json ?? {}) as Partial<Answered>;
      return { status, timestamp };
    });
    answers.set(id, await Promise.all(statuses));
  }
  return answers;
}

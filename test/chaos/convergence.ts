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
 * Waits until every node runs and has installed everything that any node had promised at its first answer: UST has
 * passed all clocks, so every commit is visible everywhere and no prepared transaction is left below.
 * @param greatest the greatest timestamp that a client has received; UST must pass it, too
 * @throws NotConverged
 */
export async function converged(cluster: ChaosCluster, limitMs: number, greatest = 0): Promise<Converged> {
  const { nodes } = cluster;
  const options = { timeoutMs: limitMs, explain: () => cluster.failures.join('\n') };
  const startMs = performance.now();
  try {
    const first = await until('all nodes answer', () => Promise.all(nodes.map((id) => cluster.clocks(id))), options);
    const answeredMs = performance.now() - startMs;
    const target = Math.max(greatest, ...first.map(({ hlc }) => hlc));
    let last = first;
    const passed = async () => {
      last = await Promise.all(nodes.map((id) => cluster.clocks(id)));
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

/** Asks every region for the outcomes of transactions. Returns the regions' answers by id. */
export async function outcomes(cluster: ChaosCluster, ids: readonly string[]): Promise<Map<string, string[]>> {
  const answers = new Map<string, string[]>();
  for (const id of ids) {
    const statuses = cluster.regions.map(async (region) => {
      const { json } = await cluster.get(cluster.cluster.endpoint(region), `/v1/transactions/${id}`);
      return (json as { status?: string } | undefined)?.status ?? 'no answer';
    });
    answers.set(id, await Promise.all(statuses));
  }
  return answers;
}

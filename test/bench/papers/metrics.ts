/** The nodes' counters, from their `/metrics`. */
import type { Counts } from './samples.js';

const SAMPLE = /^(isochron_\w+)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;
/** Labels that name the node; counts of all nodes of a system are added up. */
const OF_THE_NODE = new Set(['node', 'region', 'protocol']);

/**
 * The project's own samples of a text in the Prometheus format, by name and labels. Histograms' buckets are left out.
 */
export function parseMetrics(text: string): Map<string, number> {
  const samples = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [, name, labels = '', value] = SAMPLE.exec(line) ?? [];
    if (name === undefined || name.endsWith('_bucket')) continue;
    const key = metricKey(
      name,
      [...labels.matchAll(LABEL)].map(([, label, of]) => [label!, of!] as const),
    );
    samples.set(key, (samples.get(key) ?? 0) + Number(value));
  }
  return samples;
}

/** The key of a sample: `name{label=value,…}` with its labels in order, without those that name the node. */
export function metricKey(name: string, labels: Iterable<readonly [string, string]>): string {
  const own = [...labels].filter(([label]) => !OF_THE_NODE.has(label)).map(([label, value]) => `${label}=${value}`);
  return own.length === 0 ? name : `${name}{${own.sort().join(',')}}`;
}

/** A node with counters. */
export interface Counting {
  metrics(): Promise<string>;
}

/** The sums of all nodes of a cluster so far. */
export async function scrape(nodes: readonly Counting[]): Promise<Map<string, number>> {
  const sum = new Map<string, number>();
  for (const text of await Promise.all(nodes.map((node) => node.metrics()))) {
    for (const [key, value] of parseMetrics(text)) sum.set(key, (sum.get(key) ?? 0) + value);
  }
  return sum;
}

/** The increase between two scrapes. Unchanged metrics are included: 0 differs from a metric that is absent. */
export const between = (before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): Counts =>
  Object.fromEntries([...after].map(([key, value]) => [key, value - (before.get(key) ?? 0)]));

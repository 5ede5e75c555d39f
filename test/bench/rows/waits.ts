/** Reads that waited for other causes than CPU, disk or a remote region: PaRiS has none, and the nodes count them. */
import type { Benchmark } from '../context.js';
import { atMost, lineOf } from '../figures.js';

/** Must be after the load on the main cluster: the counts are since its start. */
export const waits: Benchmark = {
  name: 'waits',
  about: 'reads that waited for their snapshot',
  run: async (context) => {
    const { nodes } = await context.filledCluster();
    const statuses = await Promise.all(nodes.map((node) => node.status()));
    const sum = (name: string): number => statuses.reduce((all, { counters }) => all + (counters[name] ?? 0), 0);
    const waited = statuses.map(({ counters }) => counters.snapshotWaits);
    if (waited.some((count) => count === undefined)) throw new Error('the nodes do not count waits');
    const what = `reads that waited for anything but CPU, disk or a remote region (of ${sum('reads').toLocaleString('en-US')})`;
    const counted = ['reads', 'commits', 'localSlices', 'remoteSlices'].map((name) => [name, sum(name)] as const);
    return [{ ...lineOf(what, '', [sum('snapshotWaits')], atMost(0)), details: Object.fromEntries(counted) }];
  },
};

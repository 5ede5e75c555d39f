/** Reads that waited for other causes than CPU, disk or a remote region: PaRiS has none, and the nodes count them. */
import type { Benchmark } from '../context.js';
import { atMost, figureOf } from '../figures.js';

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
    return [
      {
        benchmark: 'waits',
        what: `reads that waited for anything but CPU, disk or a remote region (of ${sum('reads').toLocaleString('en-US')})`,
        unit: '',
        measured: figureOf([sum('snapshotWaits')]),
        target: atMost(0),
        details: {
          reads: sum('reads'),
          commits: sum('commits'),
          localSlices: sum('localSlices'),
          remoteSlices: sum('remoteSlices'),
        },
      },
    ];
  },
};

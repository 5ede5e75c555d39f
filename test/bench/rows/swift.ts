/** The Swift SDK beside the TypeScript one: the same reads, from one process each. */
import { KeyTable } from '@isochron/workload';
import { prepareSwift, SwiftDriver } from '../../e2e/swift-client.js';
import type { Benchmark } from '../context.js';
import { ratioAtLeast } from '../figures.js';
import { hostedKeys } from '../load/loaded-cluster.js';
import type { Contender } from '../rounds.js';
import { compare } from './compare.js';
import { IN_FLIGHT, reads } from './loads.js';

/** One-shot reads of one local key over one WebSocket, 64 in flight. */
export const swiftReads: Benchmark = {
  name: 'swift-reads',
  about: 'Swift SDK one-shot reads over one WebSocket ÷ TypeScript SDK; left out without Swift',
  run: async (context) => {
    context.progress.step('building the Swift client');
    const problem = await prepareSwift('release');
    if (problem !== undefined) {
      context.progress.line(`swift-reads is left out: ${problem}`);
      return [];
    }
    const cluster = await context.filledCluster();
    const { nodes, topology } = cluster;
    const [{ region, url, process }] = nodes as [(typeof nodes)[number]];
    const keys = hostedKeys(topology, new KeyTable(topology, context.keysPerPartition), region);
    const driver = new SwiftDriver('release');
    try {
      const client = await driver.connect([url]);
      await client.readsOf(keys);
      const swift: Contender = {
        pids: [process.pid],
        run: (durationMs) => client.readLoad({ inFlight: IN_FLIGHT, durationMs }),
      };
      return await compare(context, { swift, typescript: reads(context, cluster) }, [
        {
          of: 'swift',
          what: `Swift SDK one-shot reads of 1 local key: 1 WebSocket, ${IN_FLIGHT} in flight`,
          beside: ['typescript', 'TypeScript SDK'],
          target: ratioAtLeast(0.5),
        },
      ]);
    } finally {
      await driver.end();
    }
  },
};

import type { TransactionNode } from '@isochron/protocols/kernel/transactions/node';
import type { World } from './world.js';

/** How often and how long reads have waited. */
export interface Blocking {
  readonly reads: number;
  readonly ms: number;
}

/** On one node since its start. */
export function blockingOf({ replicas }: TransactionNode): Blocking {
  const counters = replicas.map(({ waiting }) => waiting.counters);
  return {
    reads: counters.reduce((sum, { blockedReads }) => sum + blockedReads, 0),
    ms: counters.reduce((sum, { blockedMs }) => sum + blockedMs, 0),
  };
}

/** On all nodes. */
export function blockingIn(world: World): Blocking {
  const nodes = [...world.nodes.values()].map(({ parts }) => blockingOf(parts));
  return {
    reads: nodes.reduce((sum, { reads }) => sum + reads, 0),
    ms: nodes.reduce((sum, { ms }) => sum + ms, 0),
  };
}

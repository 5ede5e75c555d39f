/** How long new writes stay hidden after a node of three regions was killed, or stands still. */
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from '@isochron/sdk';
import type { Cluster, ClusterNode } from '../cluster.js';
import type { Benchmark } from '../context.js';
import { atMost, lineOf } from '../figures.js';

const POLL_MS = 20;
const LONGEST_MS = 120_000;

/** What happens to the node of the last region, and how it comes back. */
interface Loss {
  readonly what: string;
  readonly begin: (node: ClusterNode) => Promise<void>;
  readonly end: (node: ClusterNode) => Promise<void>;
}

const LOSSES: readonly Loss[] = [
  { what: 'kill -9', begin: (node) => node.process.stop('SIGKILL'), end: (node) => node.restart() },
  {
    what: 'SIGSTOP',
    begin: async (node) => node.process.pause(),
    end: async (node) => {
      node.process.resume();
      await node.ready();
    },
  },
];

export const suspension: Benchmark = {
  name: 'suspension',
  about: 'a write of another region visible after a node of three was killed, or stands still',
  run: async (context) => {
    const cluster = await context.cluster('suspension');
    const samples = new Map<Loss, number[]>(LOSSES.map((loss) => [loss, []]));
    for (let round = 0; round < context.settings.rounds; round++)
      for (const [loss, times] of samples) {
        context.progress.step(`${loss.what}, round ${round + 1}`);
        times.push(await secondsHidden(cluster, loss));
      }
    await context.stopCluster('suspension');
    return [...samples].map(([{ what }, times]) =>
      lineOf(`a write visible elsewhere after ${what} of a third node`, 's', times, atMost(8)),
    );
  },
};

/** Loses a node, and returns how long a write that follows is not visible in another region. */
async function secondsHidden(cluster: Cluster, loss: Loss): Promise<number> {
  const [from, at, lost] = cluster.nodes as [ClusterNode, ClusterNode, ClusterNode];
  await becomesTrue('all nodes are members', async () => {
    const all = await Promise.all(cluster.nodes.map((node) => node.status()));
    return all.every(({ map }) => map === undefined || (map.away.length === 0 && map.deferred === 0));
  });
  await cluster.stable();
  const writer = await connect({ endpoints: [from.url] });
  try {
    await loss.begin(lost);
    const began = performance.now();
    await writer.set('news', began);
    await becomesTrue('the write is visible', () => shows(at, began));
    const took = (performance.now() - began) / 1000;
    await loss.end(lost);
    return took;
  } finally {
    await writer.close();
  }
}

const shows = async (node: ClusterNode, value: number): Promise<boolean> =>
  (await node.get('/v1/keyspaces/default/keys/news')) === value;

async function becomesTrue(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + LONGEST_MS;
  while (!(await isTrue().catch(() => false))) {
    if (performance.now() > deadline) throw new Error(`it takes too long until ${what}`);
    await delay(POLL_MS);
  }
}

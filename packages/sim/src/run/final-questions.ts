/** Questions to the nodes of a healed cluster about how transactions have ended. */
import type { AnyMessage, TxId } from '@isochron/core';
import type { ClientObservations } from '../checks/evidence/observations.js';
import type { Cluster } from '../world/cluster.js';

/** How many transactions nodes are asked about, at most: the latest. */
const ASKED = 30;

/** Asks a node of every region about each of the transactions. Returns whether all have answered. */
export function askOutcomes<M extends AnyMessage>(
  cluster: Cluster<M>,
  transactions: readonly TxId[],
  observer: Pick<ClientObservations, 'finalStatus'>,
): () => boolean {
  const random = cluster.streams.of('outcomes');
  const { regions } = cluster.topology;
  let open = 0;
  for (const txId of transactions.slice(-ASKED)) {
    for (const region of regions) {
      const node = random.pick(cluster.topology.nodesOf(region));
      open++;
      cluster.http(random, region, node, { f: 'status', txId }, (answer) => {
        open--;
        if (answer.status === 'ended') observer.finalStatus(txId, node, answer.state, answer.ts);
      });
    }
  }
  return () => open === 0;
}

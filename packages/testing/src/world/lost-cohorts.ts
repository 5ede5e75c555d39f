/** A transaction on three cohorts, one of which is going to lose its disk (D10), for claim tests about its decision. */
import type { ClusterSpec, NodeId } from '@isochron/core';
import type { CommitReq, TransactionMessage } from '@isochron/protocols/kernel/transactions/messages';
import type { Envelope } from '@isochron/protocols/machine';
import { keyIn, TestClient } from './clients.js';
import { World } from './world.js';

/** Three cohorts in virginia, and oregon with a copy of each. */
export const THREE_COHORTS: ClusterSpec = {
  regions: [
    { id: 'virginia', nodes: [{ id: 'virginia-1' }, { id: 'virginia-2' }, { id: 'virginia-3' }] },
    { id: 'oregon', nodes: [{ id: 'oregon-1' }] },
  ],
  keyspaces: [{ name: 'default', partitions: 3, replication: 2 }],
};

type MessageType = TransactionMessage['type'];

/** A filter of the wire: messages of these types are lost. */
export const without =
  (...types: MessageType[]) =>
  ({ message }: Envelope<TransactionMessage>): boolean =>
    !types.includes(message.type);

/** Whether a message of the type goes from one node to another; an empty name stands for any. */
export const between = (from: NodeId, to: NodeId, type: MessageType) => (envelope: Envelope<TransactionMessage>) =>
  envelope.message.type === type && ['', envelope.from.node].includes(from) && ['', envelope.to.node].includes(to);

/**
 * A transaction that the nodes a, b and x have prepared for their partitions 0, 1 and 2. Oregon coordinates it, and
 * answers under `ref`.
 * @param filter which votes pass; the cohorts' status requests are lost
 */
export function preparedOnThree(filter: (envelope: Envelope<TransactionMessage>) => boolean = without('PrepareResp')): {
  world: World;
  a: NodeId;
  b: NodeId;
  x: NodeId;
  ref: number;
  request: Omit<CommitReq, 'ref'>;
} {
  const world = new World({ spec: THREE_COHORTS });
  world.run(100);
  const [a, b, x] = [0, 1, 2].map((p) => world.topology.replicaNode(p, 'virginia')!) as [NodeId, NodeId, NodeId];
  world.filter = (envelope) => filter(envelope) && envelope.message.type !== 'ResolveReq';
  const client = new TestClient(world, 'oregon-1');
  const tx = client.begin();
  for (const p of [0, 1, 2]) tx.write(keyIn(world, p), '"whole"');
  const request = { ...client.commitRequest(tx), attemptRegions: ['virginia'] };
  const ref = world.ask('oregon-1', request);
  world.until(() => [a, b, x].every((node) => world.node(node).store.prepared.size === 1), 1000);
  return { world, a, b, x, ref, request };
}

/** A condition: nothing is prepared on the nodes. */
export const settled =
  (world: World, ...nodes: NodeId[]) =>
  () =>
    nodes.every((node) => world.node(node).store.prepared.size === 0);

/** The outcome of the only transaction on each node. */
export const decisions = (world: World, ...nodes: NodeId[]): string[] =>
  nodes.map((node) =>
    [...world.node(node).store.outcomes.values()]
      .map(({ status, ts }) => (status === 'committed' ? `committed at ${ts}` : status))
      .join(),
  );

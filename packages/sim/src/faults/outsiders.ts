/** A compromised node that takes part in the transactions of others. */
import { type NodeId, packWall, type Timestamp } from '@isochron/core';
import type { PrepareReq, TransactionMessage } from '@isochron/protocols';
import type { FaultKind, FaultWorld } from './fault.js';

/** The messages that it sends, each about a prepare that another node has just sent to the victim. */
const FORGED = ['CommitTx', 'AbortTx', 'ResolveReq', 'PrepareRefused', 'ResolveResp'] as const;
type Forged = (typeof FORGED)[number];

/** The messages that go to the coordinator, in place of the victim's own. */
const ANSWERS: ReadonlySet<Forged> = new Set(['PrepareRefused', 'ResolveResp']);

/**
 * A node sends decisions about transactions that it does not coordinate, and answers about cohorts that it does not
 * have (D12), in its own name. Plans with transactions have it.
 */
export const outsider: FaultKind<{ node: NodeId; victim: NodeId; sends: Forged }> = {
  weight: 0,
  forMs: [500, 10_000],
  draw: (random, { topology, crashPoints }) => {
    if (!crashPoints.includes('CommitTx') || topology.nodes.length < 2) return undefined;
    const node = random.pick(topology.nodes);
    return { node, victim: random.pick(topology.nodes.filter((id) => id !== node)), sends: random.pick(FORGED) };
  },
  start: (world, { node, victim, sends }) => {
    let callOff = (): void => {};
    const next = (): void => {
      callOff = world.onMoment({ node: victim, type: 'PrepareReq', point: 'handle' }, 1, (message, coordinator) => {
        next();
        interfere(world, { node, victim, sends }, message as PrepareReq, coordinator);
      });
    };
    next();
    return () => callOff();
  },
};

/** Nothing is sent about a transaction that the node has coordinated itself. */
function interfere(
  { cluster, coordinators, observer }: FaultWorld,
  { node, victim, sends }: { readonly node: NodeId; readonly victim: NodeId; readonly sends: Forged },
  prepare: PrepareReq,
  coordinator: NodeId,
): void {
  const { partition, identity } = prepare;
  if (!cluster.node(node).up || coordinators.get(identity.txId)?.has(node)) return;
  const replica = `replica/${partition}`;
  const isAnswer = ANSWERS.has(sends);
  const from = { node, machine: isAnswer ? replica : 'coordinator' };
  const to = isAnswer ? { node: coordinator, machine: 'coordinator' } : { node: victim, machine: replica };
  const ts = packWall(cluster.node(victim).clock.now() + 1);
  if (to.node === node) return;
  if (sends === 'ResolveReq') observer.strangeAttempt(identity.txId, identity.attempt + 1);
  cluster.inject(from, to, forged(sends, prepare, ts));
}

function forged(type: Forged, { partition, identity, sentAfter }: PrepareReq, ts: Timestamp): TransactionMessage {
  const { txId, attempt } = identity;
  const about = { txId, attempt, partition };
  switch (type) {
    case 'CommitTx':
      return { type, ...about, ct: ts };
    case 'AbortTx':
      return { type, ...about };
    case 'ResolveReq':
      return { type, partition, identity: { ...identity, attempt: attempt + 1 }, sentAfter };
    case 'PrepareRefused':
      return { type, ...about, code: 'OVERLOADED', detail: '' };
    case 'ResolveResp':
      return { type, ...about, state: 'committed', ts };
  }
}

/** Maps that are decided while everything runs (M1–M6). */
import type { NodeId } from '@isochron/core';
import { type LeaveReq, MAPS_MACHINE, type OrderReq, type ProposeMap, type ReturnReq } from '@isochron/protocols';
import type { FaultKind, FaultWorld, FaultyCluster, FaultyNode, Moment } from './fault.js';
import { crashAt } from './nodes.js';

/** The messages of a decision: a node may crash at any of them. */
const DECISION = ['SealReq', 'Sealed', 'AcceptReq', 'Accepted', 'DecidedMaps'];

/** A crash in the middle of the decision. */
export interface Interruption {
  readonly moment: Moment;
  readonly nth: number;
  readonly downMs: number;
  readonly batchSurvives: boolean;
}

/**
 * A voter decides the next map, with the same members; perhaps a node crashes in the middle of that. Plans under
 * protocols with maps have it.
 */
export const nextMap: FaultKind<{ node: NodeId; interruption: Interruption | null }> = {
  weight: 0,
  forMs: [3_000, 3_000],
  draw: (random, scene) => ({
    node: random.pick(scene.topology.voters),
    interruption: random.chance(0.5)
      ? { ...crashAt.draw(random, { ...scene, crashPoints: DECISION })!, nth: 1 + random.below(3) }
      : null,
  }),
  start: (world, fault) => {
    const heal = fault.interruption === null ? undefined : crashAt.start(world, { ...fault, ...fault.interruption });
    ask(world.cluster, fault.node, { type: 'ProposeMap' });
    return heal;
  },
};

/** How often a node that leaves is looked at, and how long it tries. */
const LOOK_MS = 50;
const LEAVE_MS = 4_000;

/**
 * A node leaves the members in order, and comes back: when it starts again after its end, or, where it stays, when the
 * operator asks for that.
 */
export const leave: FaultKind<{ node: NodeId; stays?: boolean }> = {
  weight: 0,
  forMs: [500, 6_000],
  draw: (random, { topology }) => ({ node: random.pick(topology.nodes) }),
  start: (world, { node, stays }) => {
    ask(world.cluster, node, { type: 'LeaveReq', ref: 0 });
    return stays ? () => ask(world.cluster, node, { type: 'ReturnReq', ref: 1 }) : endOnceLeft(world, node);
  },
};

/** Ends a node as soon as it is no member, or tries no longer. Returns what starts it again. */
function endOnceLeft({ cluster }: FaultWorld, node: NodeId): () => void {
  let isOver = false;
  let isDown = false;
  const end = (): void => {
    if (!cluster.node(node).up) return;
    cluster.crash(node, true);
    isDown = true;
  };
  const look = (waitedMs: number): void => {
    if (isOver) return;
    if (!cluster.isMember(node) || waitedMs >= LEAVE_MS) end();
    else cluster.time.after(LOOK_MS, () => look(waitedMs + LOOK_MS));
  };
  look(0);
  return () => {
    isOver = true;
    // A process that leaves ends, whether it has left or not.
    if (!isDown) end();
    if (isDown) cluster.restart(node);
  };
}

/**
 * How often an operator lets a held node return, and for how long at least: an order at a cut-off node comes to
 * nothing, and so does every order while a member does not answer. The operator goes on until the node is a member.
 */
const ORDER_MS = 500;
const ORDERS_MS = 12_000;

/** An operator suspends a node at any moment, or holds a node and lets it return at the end. */
export const order: FaultKind<{ node: NodeId; action: 'suspend' | 'hold'; at: NodeId }> = {
  weight: 0,
  forMs: [500, 6_000],
  draw: (random, { topology }) => ({
    node: random.pick(topology.nodes),
    action: random.pick(['suspend', 'hold'] as const),
    at: random.pick(topology.nodes),
  }),
  start: (world, { node, action, at }) => {
    ask(world.cluster, at, { type: 'OrderReq', ref: 0, action, nodes: [node] });
    return () => letReturn(world.cluster, node);
  },
};

/** The operator orders at every node that the node returns. */
export function letReturn(cluster: OperatedCluster, node: NodeId, waitedMs = 0): void {
  const { topology, time } = cluster;
  for (const at of topology.nodes) ask(cluster, at, { type: 'OrderReq', ref: 0, action: 'return', nodes: [node] });
  const isOver = (cluster.node(node).up && cluster.isMember(node)) || cluster.isEvicted(node);
  if (waitedMs < ORDERS_MS || !isOver) time.after(ORDER_MS, () => letReturn(cluster, node, waitedMs + ORDER_MS));
}

/**
 * A node is lost with its disk for good: an operator suspends and evicts the node (M14), and asks every node until some
 * map carries that out. Only where all are members, the other voters are enough, and no other copy is in danger.
 */
export const evict: FaultKind<{ node: NodeId }> = {
  weight: 0,
  forMs: [1, 1],
  draw: (random, { topology }) => {
    const { voters, nodes } = topology;
    const isEnough = (node: NodeId) => 2 * voters.filter((voter) => voter !== node).length > voters.length;
    const some = nodes.filter(isEnough);
    return some.length === 0 ? undefined : { node: random.pick(some) };
  },
  start: (world, { node }) => {
    const { cluster } = world;
    if (!cluster.node(node).up || !cluster.maySpare(node) || !cluster.isWhole()) return undefined;
    cluster.lose(node);
    evictSoon(world, node);
    return undefined;
  },
};

function evictSoon(world: FaultWorld, node: NodeId): void {
  const { topology, time } = world.cluster;
  const others = topology.nodes.filter((other) => other !== node);
  for (const action of ['suspend', 'evict'] as const)
    for (const at of others) ask(world.cluster, at, { type: 'OrderReq', ref: 0, action, nodes: [node] });
  if (!world.cluster.isEvicted(node)) time.after(ORDER_MS, () => evictSoon(world, node));
}

/** The cluster, as its operators see it. */
type OperatedCluster = Pick<FaultyCluster, 'topology' | 'time' | 'operate' | 'isMember' | 'isEvicted'> & {
  node(id: NodeId): Pick<FaultyNode, 'up'>;
};

type OperatorRequest = LeaveReq | ReturnReq | ProposeMap | OrderReq;

function ask(cluster: Pick<OperatedCluster, 'node' | 'operate'>, node: NodeId, request: OperatorRequest): void {
  if (cluster.node(node).up) cluster.operate({ node, machine: MAPS_MACHINE }, request);
}

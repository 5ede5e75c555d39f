/** Processes that die and come back. */
import type { NodeId, RegionId } from '@isochron/core';
import { logBetween } from '@isochron/simulated-world/draws';
import type { FaultKind, FaultWorld, FaultyCluster, Moment } from './fault.js';

/** kill -9; the batch on its way to the disk survives as a whole or not at all. */
export const crash: FaultKind<{ node: NodeId; batchSurvives: boolean }> = {
  weight: 5,
  forMs: [1, 3_000],
  draw: (random, { topology }) => ({ node: random.pick(topology.nodes), batchSurvives: random.chance(0.5) }),
  start: (world, { node, batchSurvives }) => down(world, [node], batchSurvives),
};

/** The same at a chosen moment of a protocol message: between any two messages of a coordinator or a cohort. */
export const crashAt: FaultKind<{ moment: Moment; nth: number; downMs: number; batchSurvives: boolean }> = {
  weight: 6,
  forMs: [5_000, 5_000],
  draw: (random, { topology, crashPoints }) => ({
    moment: {
      node: random.pick(topology.nodes),
      type: random.pick(crashPoints),
      point: random.pick(['receive', 'handle', 'send'] as const),
    },
    nth: 1 + random.below(5),
    downMs: Math.round(1 + random.float() ** 2 * 2_500),
    batchSurvives: random.chance(0.5),
  }),
  start: (world, { moment, nth, downMs, batchSurvives }) => {
    let restart: (() => void) | undefined;
    const callOff = world.onMoment(moment, nth, () => {
      restart = down(world, [moment.node], batchSurvives);
      world.cluster.time.after(downMs, () => {
        restart?.();
        restart = undefined;
      });
    });
    return () => {
      callOff();
      restart?.();
      restart = undefined;
    };
  },
};

/** All processes of a region, or of the whole cluster, at once. */
export const massCrash: FaultKind<{ region: RegionId | null; batchSurvives: boolean }> = {
  weight: 1,
  forMs: [1, 2_000],
  draw: (random, { topology }) => ({
    region: random.chance(0.5) ? random.pick(topology.regions) : null,
    batchSurvives: random.chance(0.5),
  }),
  start: (world, { region, batchSurvives }) => {
    const { topology } = world.cluster;
    return down(world, region === null ? topology.nodes : topology.nodesOf(region), batchSurvives);
  },
};

/**
 * SIGTERM: the node hands the sessions of HTTP callers over to another one, and ends. Plans with such callers have it.
 */
export const drain: FaultKind<{ node: NodeId }> = {
  weight: 0,
  forMs: [200, 3_000],
  draw: (random, { topology }) => ({ node: random.pick(topology.nodes) }),
  start: (world, { node }) => {
    let restart: (() => void) | undefined;
    let isOver = false;
    world.cluster.drain(node, () => {
      if (!isOver) restart = down(world, [node], true);
    });
    return () => {
      isOver = true;
      restart ??= down(world, [node], true);
      restart();
    };
  },
};

/**
 * SIGSTOP and SIGCONT: the process stands still for a while and then goes on, with all messages that came meanwhile.
 */
export const pause: FaultKind<{ node: NodeId }> = {
  weight: 2,
  forMs: [10, 3_000],
  draw: (random, { topology }) => ({ node: random.pick(topology.nodes) }),
  start: ({ cluster }, { node }) => {
    cluster.node(node).pause();
    return () => cluster.node(node).resume();
  },
};

/** The same for longer than any peer waits for a sign of life. */
export const freeze: FaultKind<{ node: NodeId }> = { ...pause, weight: 1, forMs: [3_000, 10_000] };

/** A node comes back with an empty disk (D10). Only when no other copy is in danger. */
export const wipe: FaultKind<{ node: NodeId }> = {
  weight: 1.5,
  forMs: [1, 2_000],
  draw: (random, { topology }) => ({ node: random.pick(topology.nodes) }),
  start: ({ cluster }, { node }) => {
    if (!cluster.node(node).up || !cluster.maySpare(node)) return undefined;
    cluster.rob(node, []);
    return () => cluster.restart(node);
  },
};

/** A node comes back with its disk as it was a while before (D10), as after the restoration of a backup. */
export const rollback: FaultKind<{ node: NodeId; backMs: number; downMs: number }> = {
  weight: 1.5,
  forMs: [5_000, 5_000],
  draw: (random, { topology }) => ({
    node: random.pick(topology.nodes),
    backMs: Math.round(logBetween(random, 1, 3_000)),
    downMs: Math.round(logBetween(random, 1, 2_000)),
  }),
  start: ({ cluster }, { node, backMs, downMs }) => rollBack(cluster, node, backMs, downMs, () => () => {}),
};

/** The same, and links to some of the other nodes come up later than the node. */
export const lateLinks: FaultKind<{
  node: NodeId;
  backMs: number;
  downMs: number;
  lateMs: number;
  to: 'all' | 'peers' | 'one';
}> = {
  weight: 1.5,
  forMs: [11_000, 11_000],
  draw: (random, { topology }) => ({
    node: random.pick(topology.nodes),
    backMs: Math.round(logBetween(random, 1, 3_000)),
    downMs: Math.round(logBetween(random, 1, 2_000)),
    lateMs: Math.round(logBetween(random, 100, 6_000)),
    to: random.pick(['all', 'peers', 'one'] as const),
  }),
  start: ({ cluster }, { node, backMs, downMs, lateMs, to }) =>
    rollBack(cluster, node, backMs, downMs, () => {
      const peers = peersOf(cluster, node);
      const others =
        to === 'all'
          ? cluster.topology.nodes.filter((id) => id !== node)
          : peers.slice(0, to === 'one' ? 1 : undefined);
      const links = others.map((id) => cluster.link(node, id));
      for (const link of links) link.block();
      let late = true;
      const heal = (): void => {
        if (late) for (const link of links) link.unblock();
        late = false;
      };
      cluster.time.after(downMs + lateMs, heal);
      return heal;
    }),
};

/** The nodes with another replica of a partition that lies on this one. */
function peersOf({ topology }: FaultyCluster, node: NodeId): NodeId[] {
  const peers = topology
    .partitionsOn(node)
    .flatMap((id) => topology.partitions[id]!.regions.flatMap((region) => topology.replicaNode(id, region) ?? []));
  return [...new Set(peers)].filter((id) => id !== node);
}

/** @param onLoss a further effect when the node loses its newer data; returns a function that heals it */
function rollBack(
  cluster: FaultyCluster,
  node: NodeId,
  backMs: number,
  downMs: number,
  onLoss: () => () => void,
): () => void {
  const { disk } = cluster.node(node);
  const image = disk.image();
  const { restored } = disk;
  let isDown = false;
  let heal = (): void => {};
  const restart = (): void => {
    if (isDown) cluster.restart(node);
    isDown = false;
  };
  const robbing = cluster.time.after(backMs, () => {
    // An image from before another loss would bring back data that the cluster has given up.
    if (!cluster.node(node).up || !cluster.maySpare(node) || disk.restored !== restored) return;
    cluster.rob(node, image);
    isDown = true;
    heal = onLoss();
    cluster.time.after(downMs, restart);
  });
  return () => {
    cluster.time.cancel(robbing);
    heal();
    restart();
  };
}

/** Stops those of the nodes that run; returns a function that starts them again. */
function down(world: FaultWorld, nodes: readonly NodeId[], batchSurvives: boolean): () => void {
  const victims = nodes.filter((id) => world.cluster.node(id).up);
  for (const id of victims) world.cluster.crash(id, batchSurvives);
  return () => {
    for (const id of victims) world.cluster.restart(id);
  };
}

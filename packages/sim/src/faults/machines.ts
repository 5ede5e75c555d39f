/** Disks and clocks. */
import type { NodeId, Random } from '@isochron/core';
import { between, logBetween } from '@isochron/simulated-world/draws';
import type { FaultKind } from './fault.js';

export const slowDisk: FaultKind<{ node: NodeId; factor: number }> = {
  weight: 2,
  forMs: [100, 4_000],
  draw: (random, { topology }) => ({ node: random.pick(topology.nodes), factor: 2 + random.below(40) }),
  start: ({ cluster }, { node, factor }) => {
    const before = cluster.diskSlowness.get(node) ?? 1;
    cluster.diskSlowness.set(node, before * factor);
    return () => cluster.diskSlowness.set(node, (cluster.diskSlowness.get(node) ?? factor) / factor);
  },
};

/** Syncs do not complete until it is over. */
export const stalledDisk: FaultKind<{ node: NodeId }> = {
  weight: 2,
  forMs: [50, 2_500],
  draw: (random, { topology }) => ({ node: random.pick(topology.nodes) }),
  start: ({ cluster }, { node }) => {
    const { disk } = cluster.node(node);
    disk.stall(true);
    return () => disk.stall(false);
  },
};

/** The disk is full: the driver refuses new writes (D11), but the writes behind promises still succeed. */
export const diskFull: FaultKind<{ node: NodeId }> = {
  weight: 1,
  forMs: [200, 5_000],
  draw: (random, { topology }) => ({ node: random.pick(topology.nodes) }),
  start: ({ cluster }, { node }) => {
    const full = cluster.node(node);
    full.diskIsFull = true;
    return () => {
      full.diskIsFull = false;
    };
  },
};

/** The wall clock of a node is set, forwards or backwards. */
export const clockJump: FaultKind<{ node: NodeId; ms: number }> = {
  weight: 3,
  forMs: [0, 0],
  draw: (random, { topology }) => {
    // Now and then so far that outcomes are dropped (D5).
    const ms = Math.round(random.chance(0.1) ? between(random, 60_000, 90_000) : logBetween(random, 1, 3_000));
    return { node: random.pick(topology.nodes), ms: random.chance(0.5) ? ms : -ms };
  },
  start: ({ cluster }, { node, ms }) => {
    cluster.node(node).clock.jump(ms);
    return undefined;
  },
};

/** The wall clock of a node runs much too fast or too slow. */
export const clockDrift: FaultKind<{ node: NodeId; ppm: number }> = {
  weight: 1,
  forMs: [500, 6_000],
  draw: (random, { topology }) => ({
    node: random.pick(topology.nodes),
    ppm: Math.round(between(random, -300_000, 300_000)),
  }),
  start: ({ cluster }, { node, ppm }) => {
    const { clock } = cluster.node(node);
    clock.drift(ppm);
    return () => clock.drift(0);
  },
};

/** From minutes to decades. */
function farOff(random: Random): number {
  const ms = Math.round(logBetween(random, 120_000, 50 * 365 * 86_400_000));
  return random.chance(0.6) ? ms : -ms;
}

/** The wall clock of a running node is set far off, and set right later (K1, K2). */
export const clockFarOff: FaultKind<{ node: NodeId; ms: number }> = {
  weight: 1.5,
  forMs: [50, 6_000],
  draw: (random, { topology: { nodes } }) =>
    nodes.length < 2 ? undefined : { node: random.pick(nodes), ms: farOff(random) },
  start: ({ cluster }, { node, ms }) => {
    if (!cluster.mayMisread(node)) return undefined;
    const { clock } = cluster.node(node);
    clock.jump(ms);
    return () => clock.jump(-ms);
  },
};

/**
 * A node starts with a clock that is far off, as with a dead battery; it is set right later, with or without another
 * start.
 */
export const clockFarOffAtStart: FaultKind<{ node: NodeId; ms: number; downMs: number; startsAgain: boolean }> = {
  weight: 1.5,
  forMs: [500, 8_000],
  draw: (random, { topology: { nodes } }) =>
    nodes.length < 2
      ? undefined
      : {
          node: random.pick(nodes),
          ms: farOff(random),
          downMs: Math.round(logBetween(random, 1, 400)),
          startsAgain: random.chance(0.5),
        },
  start: ({ cluster }, { node, ms, downMs, startsAgain }) => {
    const { clock, up } = cluster.node(node);
    if (!up || !cluster.mayMisread(node)) return undefined;
    cluster.crash(node, true);
    clock.jump(ms);
    cluster.time.after(downMs, () => cluster.restart(node));
    return () => {
      clock.jump(-ms);
      if (startsAgain) cluster.crash(node, true);
      cluster.restart(node);
    };
  },
};

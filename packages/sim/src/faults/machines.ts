/** Disks and clocks. */
import type { NodeId } from '@isochron/core';
import { between, logBetween } from '../engine/draws.js';
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

/** No room is left on the disk: the driver refuses new writes (D11), what is promised still gets through. */
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
    // Now and then so far that outcomes are forgotten (D5).
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

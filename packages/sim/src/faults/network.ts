/** Links that drop, slow down or stay down. */
import { MAX_TIMESTAMP, type NodeId, type Random, type RegionId, type Timestamp, type Topology } from '@isochron/core';
import { rounded } from '@isochron/simulated-world/draws';
import type { FaultKind } from './fault.js';

type Pair = { a: NodeId; b: NodeId };

function drawPair(random: Random, topology: Topology): Pair | undefined {
  if (topology.nodes.length < 2) return undefined;
  const a = random.pick(topology.nodes);
  return { a, b: random.pick(topology.nodes.filter((node) => node !== a)) };
}

/** A connection breaks once and comes back. */
export const dropLink: FaultKind<Pair> = {
  weight: 4,
  forMs: [0, 0],
  draw: (random, { topology }) => drawPair(random, topology),
  start: ({ cluster }, { a, b }) => {
    cluster.link(a, b).drop();
    return undefined;
  },
};

/** Two nodes cannot reach each other. */
export const cutLink: FaultKind<Pair> = {
  weight: 4,
  forMs: [10, 4_000],
  draw: (random, { topology }) => drawPair(random, topology),
  start: ({ cluster }, { a, b }) => {
    const link = cluster.link(a, b);
    link.block();
    return () => link.unblock();
  },
};

/** One link is far slower than all others. */
export const slowLink: FaultKind<Pair & { factor: number }> = {
  weight: 2,
  forMs: [100, 4_000],
  draw: (random, { topology }) => {
    const pair = drawPair(random, topology);
    return pair === undefined ? undefined : { ...pair, factor: 2 + random.below(30) };
  },
  start: ({ cluster }, { a, b, factor }) => {
    const link = cluster.link(a, b);
    link.slowness *= factor;
    return () => {
      link.slowness /= factor;
    };
  },
};

/** Frames are lost, come twice or come late, and the connection stays: no guarantee depends on their order (D6). */
export const unrulyLink: FaultKind<Pair & { share: number }> = {
  weight: 2,
  forMs: [50, 4_000],
  draw: (random, { topology }) => {
    const pair = drawPair(random, topology);
    return pair === undefined ? undefined : { ...pair, share: rounded(random.float() ** 2) };
  },
  start: ({ cluster }, { a, b, share }) => {
    const link = cluster.link(a, b);
    link.unruliness = share;
    return () => {
      link.unruliness = 0;
    };
  },
};

/** A net split between one node and all others. */
export const isolateNode: FaultKind<{ node: NodeId }> = {
  weight: 2,
  forMs: [10, 4_000],
  draw: (random, { topology }) => (topology.nodes.length < 2 ? undefined : { node: random.pick(topology.nodes) }),
  start: ({ cluster }, { node }) => {
    const links = cluster.linksOf(node);
    for (const link of links) link.block();
    return () => {
      for (const link of links) link.unblock();
    };
  },
};

/** A region is cut off; its clients reach only its own nodes. */
export const isolateRegion: FaultKind<{ region: RegionId }> = {
  weight: 2,
  forMs: [100, 6_000],
  draw: (random, { topology }) => (topology.regions.length < 2 ? undefined : { region: random.pick(topology.regions) }),
  start: ({ cluster }, { region }) => {
    cluster.isolate(region, true);
    return () => cluster.isolate(region, false);
  },
};

/** An empty frame of a peer that does not bound its clock: of another build, or of a compromised one (K1). */
export const farFrame: FaultKind<Pair & { hlc: Timestamp }> = {
  weight: 1,
  forMs: [0, 0],
  draw: (random, { topology }) => {
    const pair = drawPair(random, topology);
    return pair === undefined ? undefined : { ...pair, hlc: random.chance(0.5) ? MAX_TIMESTAMP : MAX_TIMESTAMP / 2 };
  },
  start: ({ cluster }, { a, b, hlc }) => {
    const node = cluster.node(a);
    if (node.up) node.receive(b, { hlc, envelopes: [] });
    return undefined;
  },
};

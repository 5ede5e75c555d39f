import type { CommitOrder } from '../rules/commit-order.js';
import type { Digraph } from './graph.js';
import type { Hop, PathFinder } from './paths.js';

/** Transactions that a search for a shorter cycle may look at, once there is one. */
const SEARCH_BUDGET = 2_000_000;

/** A strongly connected component: the hops inside it to start from, and its members. */
export interface Knot {
  readonly hops: readonly Hop[];
  readonly contains: (tx: number) => boolean;
}

/**
 * The strongly connected components that hold one of `edges`. Every cycle needs at least one of these hops: reads where
 * session order alone is acyclic, forced orders where happens-before is.
 */
export function findKnots(graph: Digraph, edges: Iterable<Hop>): Knot[] {
  const component = graph.components();
  const knots = new Map<number, Hop[]>();
  for (const hop of edges) {
    const id = component[hop.from]!;
    if (component[hop.to] !== id) continue;
    const knot = knots.get(id);
    if (knot === undefined) knots.set(id, [hop]);
    else knot.push(hop);
  }
  return Array.from(knots, ([id, hops]) => ({ hops, contains: (tx) => component[tx] === id }));
}

/**
 * The shortest cycle through any of the knot's hops; of a huge knot, the shortest within the search budget. With
 * `commitOrder`, orders of commits take part.
 */
export function shortestCycle(paths: PathFinder, knot: Knot, commitOrder?: CommitOrder): Hop[] {
  let best: Hop[] = [];
  const start = paths.visited;
  for (const hop of startsOf(knot, commitOrder)) {
    const maxHops = best.length === 0 ? Number.POSITIVE_INFINITY : best.length - 2;
    const limits = { commits: commitOrder !== undefined, within: knot.contains, maxHops };
    const back = paths.find(hop.from, (tx) => tx === hop.to, limits);
    if (back !== undefined) best = [hop, ...back];
    if (best.length === 2 || paths.visited - start > SEARCH_BUDGET) break;
  }
  return best;
}

function* startsOf({ hops, contains }: Knot, commitOrder: CommitOrder | undefined): Generator<Hop> {
  for (const hop of hops) {
    yield hop;
    if (commitOrder === undefined) continue;
    for (const other of commitOrder.earlier(hop.ref)) if (contains(other.from)) yield other;
  }
}

import type { Digraph } from './graph.js';
import type { Hop, PathFinder } from './paths.js';

/** Transactions that a search for a shorter cycle may look at, once there is one. */
const SEARCH_BUDGET = 2_000_000;

/**
 * One short cycle per strongly connected component. `edges` are the hops that every cycle needs at least one of: reads
 * where session order alone is acyclic, forced orders where happens-before is. The component's own edges are handed to `visit`.
 */
export function forEachKnot(graph: Digraph, edges: Iterable<Hop>, visit: (knot: Knot) => void): void {
  const component = graph.components();
  const knots = new Map<number, Hop[]>();
  for (const hop of edges) {
    const id = component[hop.from]!;
    if (component[hop.to] !== id) continue;
    const knot = knots.get(id);
    if (knot === undefined) knots.set(id, [hop]);
    else knot.push(hop);
  }
  for (const [id, hops] of knots) visit({ hops, contains: (tx) => component[tx] === id });
}

/** A strongly connected component: the hops inside it to start from, and who belongs to it. */
export interface Knot {
  readonly hops: readonly Hop[];
  readonly contains: (tx: number) => boolean;
}

/** The shortest cycle through any of the knot's hops; of a huge knot, the shortest within the search budget. */
export function shortestCycle(paths: PathFinder, knot: Knot, commits: boolean): Hop[] {
  let best: Hop[] = [];
  const start = paths.visited;
  for (const hop of knot.hops) {
    const maxHops = best.length === 0 ? Number.POSITIVE_INFINITY : best.length - 2;
    const back = paths.find(hop.from, (tx) => tx === hop.to, { commits, within: knot.contains, maxHops });
    if (back !== undefined) best = [hop, ...back];
    if (best.length === 2 || paths.visited - start > SEARCH_BUDGET) break;
  }
  return best;
}

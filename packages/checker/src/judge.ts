import { CausalSight, FinalSight } from './causal-sight.js';
import { findKnots, type Knot } from './cycles.js';
import { ForcedOrders } from './forced.js';
import { Digraph } from './graph.js';
import type { Guarantee } from './guarantees.js';
import { NONE } from './indexed.js';
import { type NullReads, resolveNulls } from './nulls.js';
import type { Reads } from './reads.js';
import { type Edges, happensBeforeEdges, openScene, type Scene } from './scene.js';
import { MonotonicReads, MonotonicWrites, ReadAtomicity, ReadYourWrites, WritesFollowReads } from './session-sights.js';
import type { Sight } from './sight.js';

/** What each guarantee demands to be seen; the most particular first, which is how violations are named. */
const SIGHTS = {
  'read-your-writes': ReadYourWrites,
  'read-atomicity': ReadAtomicity,
  'monotonic-reads': MonotonicReads,
  'monotonic-writes': MonotonicWrites,
  'writes-follow-reads': WritesFollowReads,
  durability: FinalSight,
  'causal-convergence': CausalSight,
} as const satisfies Partial<Readonly<Record<Guarantee, new (scene: Scene) => Sight>>>;

/** A guarantee that speaks of the order of transactions. */
export type OrderGuarantee = keyof typeof SIGHTS;

/** All of them, in the order of {@link SIGHTS}; the last contains all others. */
export const ORDER_GUARANTEES = Object.keys(SIGHTS) as OrderGuarantee[];

/** How often reads of null are looked at again, once it is known what some of them saw. */
const MAX_ROUNDS = 20;

/** What a guarantee makes of a history. */
export interface Outcome {
  readonly guarantee: OrderGuarantee;
  readonly scene: Scene;
  readonly sight: Sight;
  readonly forced: ForcedOrders;
  readonly nulls: NullReads;
  /** Where the forced orders contradict one another. */
  readonly knots: readonly Knot[];
}

/** Happens-before has a cycle, once it is known what some reads of null saw. */
export interface CyclicOutcome {
  readonly guarantee: OrderGuarantee;
  readonly reads: Reads;
  readonly graph: Digraph;
}

/** Where something can be wrong at all. */
export interface Focus {
  /** Reads of null that may have to be explained. */
  readonly nulls: readonly number[];
  /** Transactions whose versions somebody may have read wrongly. */
  readonly isSuspect: (writer: number) => boolean;
}

/** Everywhere. */
export function everywhere({ reads }: Scene): Focus {
  const nulls: number[] = [];
  for (let read = 0; read < reads.length; read++) if (reads.write[read] === NONE) nulls.push(read);
  return { nulls, isSuspect: () => true };
}

/**
 * Applies one guarantee to a history.
 * @throws HistoryTooLargeError
 */
export function judge(guarantee: OrderGuarantee, start: Scene, focus: Focus): Outcome | CyclicOutcome {
  let scene = start;
  for (let round = 0; ; round++) {
    const sight = new SIGHTS[guarantee](scene);
    const nulls = resolveNulls(scene, sight, focus.nulls);
    if (nulls.explained.size === 0 || round === MAX_ROUNDS) {
      const forced = new ForcedOrders(scene, sight, focus.isSuspect);
      return { guarantee, scene, sight, forced, nulls, knots: knotsOf(scene, forced) };
    }
    const reads = scene.reads.withDeletes(nulls.explained);
    const next = openScene(scene, reads);
    if (next instanceof Digraph) return { guarantee, reads, graph: next };
    scene = next;
  }
}

/** Whether a history keeps what the guarantee demands. */
export const isKept = (outcome: Outcome | CyclicOutcome): boolean =>
  !('graph' in outcome) && outcome.forced.staleReads.length + outcome.nulls.stale.length + outcome.knots.length === 0;

function knotsOf(scene: Scene, forced: ForcedOrders): Knot[] {
  if (forced.from.length === 0) return [];
  const graph = commitGraph(scene, [forced]);
  return graph.topologicalOrder().length === graph.nodes ? [] : findKnots(graph, forced.hops());
}

/** Happens-before with more edges. */
function commitGraph({ history, order, reads }: Scene, more: readonly Edges[]): Digraph {
  const { from, to } = happensBeforeEdges(order, reads);
  for (const edges of more) {
    for (const tx of edges.from.view()) from.push(tx);
    for (const tx of edges.to.view()) to.push(tx);
  }
  return new Digraph(history.size, from, to);
}

/**
 * Where guarantees that demand less can be violated, once causal convergence is. Each order that they force follows from
 * those that causal convergence forces, so their cycles lie inside its knots. A null that has several explanations here has
 * no fewer there.
 */
export function focusOf(start: Scene, convergence: Outcome | CyclicOutcome): Focus {
  const all = everywhere(start);
  if ('graph' in convergence) return all;
  const { scene, forced, nulls } = convergence;
  const open = new Set([...nulls.stale, ...nulls.explained.keys()]);
  const isOpen = (read: number): boolean => open.has(read) || scene.reads.write[read] !== NONE;
  return { nulls: all.nulls.filter(isOpen), isSuspect: tiedBy(scene, forced) };
}

/** Whether a transaction is part of any contradiction. */
function tiedBy(scene: Scene, forced: ForcedOrders): (tx: number) => boolean {
  const stale = { from: forced.newer, to: forced.older };
  if (forced.from.length + forced.newer.length === 0) return () => false;
  const component = commitGraph(scene, [forced, stale]).components();
  const sizes = new Int32Array(component.length);
  for (const id of component) sizes[id]!++;
  return (tx) => sizes[component[tx]!]! > 1;
}

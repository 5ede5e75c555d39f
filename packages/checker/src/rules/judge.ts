import { NONE } from '../input/indexed-history.js';
import type { Reads } from '../input/reads.js';
import { type Analysis, buildAnalysis, type Edges, happensBeforeEdges } from '../order/analysis.js';
import { findKnots, type Knot } from '../order/cycles.js';
import { Digraph } from '../order/graph.js';
import { CausalVisibility, FinalVisibility } from './causal-visibility.js';
import { CommitOrder } from './commit-order.js';
import type { Guarantee } from './guarantees.js';
import { type NullReads, resolveNullReads } from './null-reads.js';
import {
  MonotonicReads,
  MonotonicWrites,
  ReadAtomicity,
  ReadYourWrites,
  WritesFollowReads,
} from './session-visibility.js';
import type { VisibilityRule } from './visibility-rule.js';

/** The rule of each guarantee; the most particular first, which is how violations are named. */
const VISIBILITY_RULES = {
  'read-your-writes': ReadYourWrites,
  'read-atomicity': ReadAtomicity,
  'monotonic-reads': MonotonicReads,
  'monotonic-writes': MonotonicWrites,
  'writes-follow-reads': WritesFollowReads,
  durability: FinalVisibility,
  'causal-convergence': CausalVisibility,
} as const satisfies Partial<Readonly<Record<Guarantee, new (analysis: Analysis) => VisibilityRule>>>;

/** A guarantee about the order of transactions. */
export type OrderGuarantee = keyof typeof VISIBILITY_RULES;

/** All of them, in the order of {@link VISIBILITY_RULES}; the last contains all others. */
export const ORDER_GUARANTEES = Object.keys(VISIBILITY_RULES) as OrderGuarantee[];

/** Rounds of resolving reads of null, each with the deletes found in the one before. */
const MAX_ROUNDS = 20;

/** The judgement of a history by one guarantee. */
export interface Outcome {
  readonly guarantee: OrderGuarantee;
  readonly analysis: Analysis;
  readonly rule: VisibilityRule;
  readonly commitOrder: CommitOrder;
  readonly nullReads: NullReads;
  /** The contradictions between forced orders. */
  readonly knots: readonly Knot[];
}

/** Happens-before has a cycle, with the deletes that some reads of null saw. */
export interface CyclicOutcome {
  readonly guarantee: OrderGuarantee;
  readonly reads: Reads;
  readonly graph: Digraph;
}

/** The parts of a history that can be wrong at all. */
export interface Focus {
  /** Reads of null that may have to be explained. */
  readonly nullReads: readonly number[];
  /** Transactions with versions that may have been read wrongly. */
  readonly isSuspect: (writer: number) => boolean;
}

/** All parts. */
export function everywhere({ reads }: Analysis): Focus {
  const nullReads: number[] = [];
  for (let read = 0; read < reads.length; read++) if (reads.write[read] === NONE) nullReads.push(read);
  return { nullReads, isSuspect: () => true };
}

/**
 * Applies one guarantee to a history.
 * @throws HistoryTooLargeError
 */
export function judge(guarantee: OrderGuarantee, start: Analysis, focus: Focus): Outcome | CyclicOutcome {
  let analysis = start;
  for (let round = 0; ; round++) {
    const rule = new VISIBILITY_RULES[guarantee](analysis);
    const nullReads = resolveNullReads(analysis, rule, focus.nullReads);
    if (nullReads.explained.size === 0 || round === MAX_ROUNDS) {
      const commitOrder = new CommitOrder(analysis, rule, focus.isSuspect);
      return { guarantee, analysis, rule, commitOrder, nullReads, knots: knotsOf(analysis, commitOrder) };
    }
    const reads = analysis.reads.withDeletes(nullReads.explained);
    const next = buildAnalysis(analysis, reads);
    if (next instanceof Digraph) return { guarantee, reads, graph: next };
    analysis = next;
  }
}

/** Whether a history keeps the guarantee. */
export const isKept = (outcome: Outcome | CyclicOutcome): boolean =>
  !('graph' in outcome) &&
  outcome.commitOrder.staleReads.length + outcome.nullReads.stale.length + outcome.knots.length === 0;

function knotsOf(analysis: Analysis, commitOrder: CommitOrder): Knot[] {
  if (commitOrder.from.length === 0) return [];
  const graph = commitGraph(analysis, [commitOrder]);
  return graph.topologicalOrder().length === graph.nodes ? [] : findKnots(graph, commitOrder.hops());
}

/** Happens-before with more edges. */
function commitGraph({ history, order, reads }: Analysis, more: readonly Edges[]): Digraph {
  const { from, to } = happensBeforeEdges(order, reads);
  for (const edges of more) {
    for (const tx of edges.from.view()) from.push(tx);
    for (const tx of edges.to.view()) to.push(tx);
  }
  return new Digraph(history.size, from, to);
}

/**
 * The parts where weaker guarantees can be violated, once causal convergence is. Each order that they force follows
 * from those that causal convergence forces, so their cycles lie inside its knots. A null that has several explanations
 * here has no fewer there.
 */
export function focusOf(start: Analysis, convergence: Outcome | CyclicOutcome): Focus {
  const all = everywhere(start);
  if ('graph' in convergence) return all;
  const { analysis, commitOrder, nullReads } = convergence;
  const open = new Set([...nullReads.stale, ...nullReads.explained.keys()]);
  const isOpen = (read: number): boolean => open.has(read) || analysis.reads.write[read] !== NONE;
  return { nullReads: all.nullReads.filter(isOpen), isSuspect: tiedBy(analysis, commitOrder) };
}

/** Whether a transaction is part of any contradiction. */
function tiedBy(analysis: Analysis, commitOrder: CommitOrder): (tx: number) => boolean {
  const stale = { from: commitOrder.newer, to: commitOrder.older };
  if (commitOrder.from.length + commitOrder.newer.length === 0) return () => false;
  const component = commitGraph(analysis, [commitOrder, stale]).components();
  const sizes = new Int32Array(component.length);
  for (const id of component) sizes[id]!++;
  return (tx) => sizes[component[tx]!]! > 1;
}

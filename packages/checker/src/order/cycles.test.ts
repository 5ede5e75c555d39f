import fc from 'fast-check';
import { Labels } from '../explanation/labels.js';
import { Findings } from '../explanation/violations.js';
import type { Transaction } from '../input/history.js';
import { IndexedHistory, NONE } from '../input/indexed-history.js';
import { ReadResolver } from '../input/read-resolver.js';
import { modelHistory } from '../model.js';
import { everywhere, judge } from '../rules/judge.js';
import { type Analysis, type AnalysisInput, buildAnalysis, prepareInput, readHops } from './analysis.js';
import { findKnots, shortestCycle } from './cycles.js';
import { Digraph } from './graph.js';
import { PathFinder } from './paths.js';

/** Histories of an eventually consistent store with few keys: their reads often contradict one another. */
const histories = fc
  .record({
    seed: fc.nat(1_000_000),
    transactions: fc.integer({ min: 6, max: 24 }),
    opsPerTx: fc.integer({ min: 1, max: 3 }),
  })
  .map((options) => [
    ...modelHistory({ sessions: 5, keys: 3, maxLag: 12, theta: 0.2, promise: 'eventual', ...options }),
  ]);

/** The same histories in reverse: a read may return a value that is written only later. */
const backwards = histories.map((history) => history.map((t, i) => ({ ...t, seq: -i })).toReversed());

function inputOf(transactions: readonly Transaction[]): {
  input: AnalysisInput;
  opened: Analysis | Digraph;
  reads: Analysis['reads'];
} {
  const history = new IndexedHistory();
  transactions.forEach((transaction, i) => {
    history.add({ ...transaction, seq: i }, i + 1);
  });
  const { included, reads } = new ReadResolver(history, new Findings([], 0), new Labels(history));
  const input = prepareInput(history, included, 2 ** 30);
  return { input, opened: buildAnalysis(input, reads), reads };
}

type Edge = readonly [from: number, to: number];

/** Happens-before in single hops: session order to any later transaction, and write-read. */
function hops({ order, history }: AnalysisInput, reads: Analysis['reads']): Edge[] {
  const all = Array.from({ length: history.size }, (_, t) => t);
  const session = all.flatMap((a) =>
    all.filter((b) => a < b && order.sessionOf(a) === order.sessionOf(b)).map((b): Edge => [a, b]),
  );
  return [...session, ...Array.from(readHops(reads), ({ from, to }): Edge => [from, to])];
}

/**
 * The length of the shortest cycle of a graph, by breadth-first search from every node; infinite when there is none.
 */
function shortestLength(nodes: number, edges: readonly Edge[]): number {
  const next = Array.from({ length: nodes }, (): number[] => []);
  for (const [a, b] of edges) next[a]!.push(b);
  let best = Number.POSITIVE_INFINITY;
  for (let start = 0; start < nodes; start++) {
    const distance = new Map([[start, 0]]);
    for (const tx of distance.keys()) {
      for (const other of next[tx]!) {
        if (other === start) best = Math.min(best, distance.get(tx)! + 1);
        else if (!distance.has(other)) distance.set(other, distance.get(tx)! + 1);
      }
    }
  }
  return best;
}

describe('the cycle of a counterexample', () => {
  it('the cycle of causality in a counterexample is the shortest that there is', () => {
    const lengths = new Set<number>();
    fc.assert(
      fc.property(backwards, (history) => {
        const { input, opened, reads } = inputOf(history);
        if (!(opened instanceof Digraph)) return;
        const paths = new PathFinder(input.order, reads);
        const found = findKnots(opened, readHops(reads)).map((knot) => shortestCycle(paths, knot).length);
        const shortest = Math.min(...found);
        lengths.add(shortest);
        expect(shortest).toBe(shortestLength(history.length, hops(input, reads)));
      }),
      { numRuns: 1500, seed: 20_250_121 },
    );
    expect(lengths.size).toBeGreaterThan(2);
  });

  it('the cycle of the order of commits in a counterexample is the shortest that there is', () => {
    const lengths: number[] = [];
    fc.assert(
      fc.property(histories, (history) => {
        const { input, opened, reads } = inputOf(history);
        if (opened instanceof Digraph) return;
        const outcome = judge('causal-convergence', opened, everywhere(opened));
        if ('graph' in outcome || outcome.commitOrder.staleReads.length > 0 || outcome.knots.length === 0) return;
        const paths = new PathFinder(input.order, reads, outcome.commitOrder);
        const shortest = Math.min(
          ...outcome.knots.map((knot) => shortestCycle(paths, knot, outcome.commitOrder).length),
        );
        lengths.push(shortest);
        const edges = [...hops(input, reads), ...commitOrderOrders(opened)];
        expect(shortest).toBe(shortestLength(history.length, edges));
      }),
      { numRuns: 4000, seed: 20_250_122 },
    );
    expect(lengths.length).toBeGreaterThan(200);
    expect(new Set(lengths).size).toBeGreaterThan(1);
  });

  /** Every order of commits that some read forces and happens-before does not imply. */
  function commitOrderOrders({ history, reads, clocks }: Analysis): Edge[] {
    const edges: Edge[] = [];
    for (let read = 0; read < reads.length; read++) {
      const writer = reads.writer(read);
      if (writer === NONE) continue;
      for (let other = 0; other < history.size; other++) {
        const isSeen = history.writes(other, reads.key.at(read)) && clocks.before(other, reads.tx.at(read));
        if (isSeen && other !== writer && !clocks.before(other, writer)) edges.push([other, writer]);
      }
    }
    return edges;
  }
});

import { type IndexedHistory, NONE } from '../input/indexed-history.js';
import { IntList } from '../input/ints.js';
import type { Reads } from '../input/reads.js';
import { Clocks } from './clocks.js';
import { Digraph } from './graph.js';
import { KeyWriters } from './key-writers.js';
import { ObservedWriters } from './observed-writers.js';
import type { Hop } from './paths.js';
import { SessionOrder } from './session-order.js';

/** The parts that do not depend on what reads of null saw. */
export interface AnalysisInput {
  readonly history: IndexedHistory;
  readonly order: SessionOrder;
  readonly writers: KeyWriters;
  readonly deletes: KeyWriters;
  /** The keys that unobserved transactions of unknown outcome delete. */
  readonly unseenDeletes: ReadonlySet<number>;
  /** Memory that happens-before may take, in bytes. */
  readonly maxClockBytes: number;
}

/** A history with its happens-before, which is acyclic. */
export interface Analysis extends AnalysisInput {
  readonly reads: Reads;
  readonly clocks: Clocks;
  /** Computed on first use. */
  readonly seen: () => ObservedWriters;
}

/** A list of edges. */
export interface Edges {
  readonly from: IntList;
  readonly to: IntList;
}

/** Prepares the shared input of all judgements. */
export function prepareInput(history: IndexedHistory, included: Uint8Array, maxClockBytes: number): AnalysisInput {
  const order = new SessionOrder(history, included);
  return {
    history,
    order,
    writers: new KeyWriters(history, order),
    deletes: new KeyWriters(history, order, true),
    unseenDeletes: unseenDeletes(history, included),
    maxClockBytes,
  };
}

/**
 * Orders a history by its reads; returns the graph instead when happens-before has a cycle.
 * @throws HistoryTooLargeError
 */
export function buildAnalysis(input: AnalysisInput, reads: Reads): Analysis | Digraph {
  const { from, to } = happensBeforeEdges(input.order, reads);
  const graph = new Digraph(input.history.size, from, to);
  const sorted = graph.topologicalOrder();
  if (sorted.length < input.history.size) return graph;
  const clocks = new Clocks(input.order, reads, sorted, input.maxClockBytes);
  let seen: ObservedWriters | undefined;
  const analysis: Analysis = { ...input, reads, clocks, seen: () => (seen ??= new ObservedWriters(analysis)) };
  return analysis;
}

/** Session order, each transaction with the one right before it, and write-read. */
export function happensBeforeEdges(order: SessionOrder, reads: Reads): Edges {
  const edges = { from: new IntList(), to: new IntList() };
  for (let tx = 0; tx < order.prev.length; tx++) {
    const prev = order.prev[tx]!;
    if (prev === NONE) continue;
    edges.from.push(prev);
    edges.to.push(tx);
  }
  for (let read = 0; read < reads.length; read++) {
    const writer = reads.writer(read);
    if (writer === NONE) continue;
    edges.from.push(writer);
    edges.to.push(reads.tx.at(read));
  }
  return edges;
}

/** The reads as hops. */
export function* readHops(reads: Reads): Generator<Hop> {
  for (let read = 0; read < reads.length; read++) {
    const from = reads.writer(read);
    if (from !== NONE) yield { relation: 'write-read', from, to: reads.tx.at(read), ref: read };
  }
}

/** The keys that unobserved transactions of unknown outcome delete. */
function unseenDeletes(history: IndexedHistory, included: Uint8Array): Set<number> {
  const keys = new Set<number>();
  history.txStatus.forEach((status, tx) => {
    if (status !== 'unknown' || included[tx] === 1) return;
    for (const op of history.finalWrites(tx)) if (history.opValue[op] === null) keys.add(history.opKey.at(op));
  });
  return keys;
}

import { Clocks } from './clocks.js';
import { Digraph } from './graph.js';
import { type IndexedHistory, NONE } from './indexed.js';
import { IntList } from './ints.js';
import { unseenDeletes } from './nulls.js';
import type { Hop } from './paths.js';
import type { Reads } from './reads.js';
import { SeenWrites } from './seen.js';
import { SessionOrder } from './sessions.js';
import { KeyWriters } from './writers.js';

/** What stays the same, whatever reads of null turn out to have seen. */
export interface Stage {
  readonly history: IndexedHistory;
  readonly order: SessionOrder;
  readonly writers: KeyWriters;
  readonly deletes: KeyWriters;
  /** The keys that transactions of unknown outcome which nobody saw delete. */
  readonly unseenDeletes: ReadonlySet<number>;
  /** Memory that happens-before may take, in bytes. */
  readonly maxClockBytes: number;
}

/** A history with its happens-before, which is acyclic. */
export interface Scene extends Stage {
  readonly reads: Reads;
  readonly clocks: Clocks;
  /** Made when it is first asked for. */
  readonly seen: () => SeenWrites;
}

/** A list of edges. */
export interface Edges {
  readonly from: IntList;
  readonly to: IntList;
}

/** Prepares what all judgements share. */
export function setStage(history: IndexedHistory, included: Uint8Array, maxClockBytes: number): Stage {
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
 * Orders a history by what its reads saw; gives the graph instead when happens-before has a cycle.
 * @throws HistoryTooLargeError
 */
export function openScene(stage: Stage, reads: Reads): Scene | Digraph {
  const { from, to } = happensBeforeEdges(stage.order, reads);
  const graph = new Digraph(stage.history.size, from, to);
  const sorted = graph.topologicalOrder();
  if (sorted.length < stage.history.size) return graph;
  const clocks = new Clocks(stage.order, reads, sorted, stage.maxClockBytes);
  let seen: SeenWrites | undefined;
  const scene: Scene = { ...stage, reads, clocks, seen: () => (seen ??= new SeenWrites(scene)) };
  return scene;
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

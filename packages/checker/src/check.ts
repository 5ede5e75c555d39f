/**
 * What is decided: whether a history is transactionally causally consistent.
 *
 * Happens-before (hb) is the transitive closure of session order and write-read; it must be acyclic. If T3 reads x from
 * T1, and T2 also writes x and is in hb before T3, then T2 comes before T1 in the order of commits. The history is causally
 * consistent exactly when all these orders and hb together are acyclic (Biswas and Enea, "On the complexity of checking
 * transactional consistency", OOPSLA 2019: causal consistency). This holds whole transactions to one causal snapshot, so it
 * contains atomic visibility, the four session guarantees and convergence to one order of the writes of a key. It allows
 * lost updates, write skew, long forks and reads as stale as the session's past permits.
 *
 * What the history leaves open is read in favour of the store, so a violation is never a matter of interpretation:
 * - a read of null may have seen any delete that could have been visible, see {@link Saturation};
 * - an unknown transaction counts only when a read saw it, and never has to be seen by its own session;
 * - reads of aborted transactions, and of unknown ones that nobody saw, are not judged.
 *
 * Cost: one vector clock entry per transaction and session; time near-linear in operations times sessions.
 */
import { Clocks } from './clocks.js';
import { forEachKnot, type Knot, shortestCycle } from './cycles.js';
import {
  type Evidence,
  explainCausalCycle,
  explainCommitCycle,
  explainStaleNull,
  explainStaleRead,
  type FullEvidence,
} from './explain.js';
import { Digraph } from './graph.js';
import type { Transaction } from './history.js';
import { IndexedHistory, NONE, READ } from './indexed.js';
import { IntList } from './ints.js';
import { type Hop, PathFinder } from './paths.js';
import { ResolvedReads } from './reads.js';
import { Saturation } from './saturation.js';
import { SessionOrder } from './sessions.js';
import { Findings, type Stats, type Verdict } from './violations.js';
import { Words } from './words.js';
import { KeyWriters } from './writers.js';

/** How much to explain and to spend. */
export interface CheckOptions {
  /** Violations to explain; the rest are only counted. 10 by default. */
  readonly maxViolations?: number;
  /** Memory that happens-before may take, in bytes; 4 GiB by default. */
  readonly maxClockBytes?: number;
}

/**
 * Decides about a whole history; transactions of a session stand in session order.
 * @throws HistoryError when the history contradicts its own format
 * @throws HistoryTooLargeError when it does not fit in the memory allowed
 */
export function checkHistory(history: Iterable<Transaction>, options: CheckOptions = {}): Verdict {
  const checker = new HistoryChecker(options);
  for (const transaction of history) checker.add(transaction);
  return checker.verdict();
}

/** The same for a history that arrives bit by bit. */
export class HistoryChecker {
  readonly #history = new IndexedHistory();
  readonly #options: CheckOptions;

  constructor(options: CheckOptions = {}) {
    this.#options = options;
  }

  /**
   * Takes the next line.
   * @throws HistoryError
   */
  add(transaction: Transaction): void {
    this.#history.add(transaction);
  }

  /**
   * Decides about everything added so far.
   * @throws HistoryTooLargeError
   */
  verdict(): Verdict {
    const { maxViolations = 10, maxClockBytes = 4 * 2 ** 30 } = this.#options;
    const findings = new Findings(maxViolations);
    const words = new Words(this.#history);
    const reads = new ResolvedReads(this.#history, findings, words);
    judgeOrder(this.#history, reads, words, findings, maxClockBytes);
    const stats = statsOf(this.#history, reads);
    const { found, violations } = findings;
    return found === 0 ? { ok: true, stats } : { ok: false, stats, found, violations };
  }
}

function judgeOrder(
  history: IndexedHistory,
  reads: ResolvedReads,
  words: Words,
  findings: Findings,
  maxClockBytes: number,
): void {
  const order = new SessionOrder(history, reads.included);
  const edges = happensBeforeEdges(order, reads);
  const graph = new Digraph(history.size, edges.from, edges.to);
  const sorted = graph.topologicalOrder();
  if (sorted.length < history.size) {
    // Without happens-before nothing further can be said.
    const evidence: Evidence = { history, reads, words, paths: new PathFinder(order, reads) };
    forEachKnot(graph, readHops(reads), (knot) =>
      findings.add(() => explainCausalCycle(evidence, shortestCycle(evidence.paths, knot, false))),
    );
    return;
  }
  const clocks = new Clocks(order, reads, sorted, maxClockBytes);
  const writers = new KeyWriters(history, order);
  const saturation = new Saturation(history, reads, clocks, writers);
  const paths = new PathFinder(order, reads, saturation);
  const evidence: FullEvidence = { history, reads, words, paths, clocks, writers, saturation };
  // The reader that comes first has the smallest past: its counterexample is the one to look at.
  const stale = [...saturation.staleReads, ...saturation.staleNulls].sort((a, b) => reads.tx.at(a) - reads.tx.at(b));
  for (const read of stale) {
    const explain = reads.write.at(read) === NONE ? explainStaleNull : explainStaleRead;
    findings.add(() => explain(evidence, read));
  }
  judgeCommitOrder(evidence, edges, findings);
}

/** Whether the forced orders and happens-before fit together. Adds the forced orders to `edges`. */
function judgeCommitOrder(evidence: FullEvidence, edges: { from: IntList; to: IntList }, findings: Findings): void {
  const { history, saturation, paths } = evidence;
  for (const from of saturation.from.view()) edges.from.push(from);
  for (const to of saturation.to.view()) edges.to.push(to);
  const graph = new Digraph(history.size, edges.from, edges.to);
  if (graph.topologicalOrder().length === history.size) return;
  forEachKnot(graph, commitHops(saturation), (knot: Knot) =>
    findings.add(() => explainCommitCycle(evidence, shortestCycle(paths, knot, true))),
  );
}

/** Session order, each transaction with the one right before it, and write-read. */
function happensBeforeEdges(order: SessionOrder, reads: ResolvedReads): { from: IntList; to: IntList } {
  const edges = { from: new IntList(), to: new IntList() };
  for (let tx = 0; tx < order.prev.length; tx++) {
    const prev = order.prev[tx]!;
    if (prev === NONE) continue;
    edges.from.push(prev);
    edges.to.push(tx);
  }
  for (const { from, to } of readHops(reads)) {
    edges.from.push(from);
    edges.to.push(to);
  }
  return edges;
}

function* readHops(reads: ResolvedReads): Generator<Hop> {
  for (let read = 0; read < reads.write.length; read++) {
    const from = reads.writer(read);
    if (from !== NONE) yield { relation: 'write-read', from, to: reads.tx.at(read), ref: read };
  }
}

function* commitHops(saturation: Saturation): Generator<Hop> {
  for (let i = 0; i < saturation.from.length; i++) {
    yield { relation: 'commit', from: saturation.from.at(i), to: saturation.to.at(i), ref: i };
  }
}

function statsOf(history: IndexedHistory, reads: ResolvedReads): Stats {
  const count = (status: string): number => history.txStatus.reduce((n, s) => n + Number(s === status), 0);
  const readOps = history.opKind.view().reduce((n, kind) => n + Number(kind === READ), 0);
  return {
    sessions: history.sessions.length,
    transactions: history.size,
    committed: count('committed'),
    aborted: count('aborted'),
    unknown: count('unknown'),
    observedUnknown: reads.observedUnknown,
    keys: history.keys.length,
    reads: readOps,
    writes: history.opKind.length - readOps,
  };
}

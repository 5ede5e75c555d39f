import { causalCycle, Explainer } from '../explanation/explain.js';
import type { Labels } from '../explanation/labels.js';
import type { Counterexample, Findings } from '../explanation/violations.js';
import { NONE } from '../input/indexed-history.js';
import type { Reads } from '../input/reads.js';
import { type AnalysisInput, buildAnalysis, readHops } from '../order/analysis.js';
import { findKnots, type Knot } from '../order/cycles.js';
import { Digraph } from '../order/graph.js';
import type { Guarantee } from './guarantees.js';
import { type CyclicOutcome, everywhere, focusOf, isKept, judge, ORDER_GUARANTEES, type Outcome } from './judge.js';

/**
 * Judges every guarantee about the order of transactions. Causal convergence contains all others, so they are judged
 * only when it fails.
 * @throws HistoryTooLargeError
 */
export function judgeOrder(
  input: AnalysisInput,
  reads: Reads,
  labels: Labels,
  findings: Findings,
  onPhase: (phase: string) => void,
): void {
  onPhase('ordering transactions');
  const analysis = buildAnalysis(input, reads);
  const guarantees = ORDER_GUARANTEES.filter((guarantee) => guarantee !== 'durability' || input.order.final !== NONE);
  const report = new OrderReport(input, labels, findings);
  if (analysis instanceof Digraph) {
    // Without happens-before no other guarantee can be judged.
    report.takeCycles(['acyclic-causality', ...guarantees], reads, analysis, false);
    report.finish();
    return;
  }
  onPhase('judging causal-convergence');
  const convergence = judge('causal-convergence', analysis, everywhere(analysis));
  if (isKept(convergence)) return;
  const focus = focusOf(analysis, convergence);
  for (const guarantee of guarantees) {
    if (guarantee === 'causal-convergence') continue;
    onPhase(`judging ${guarantee}`);
    report.take(judge(guarantee, analysis, focus));
  }
  onPhase('explaining');
  report.take(convergence);
  report.finish();
}

/** A read that missed a write, and its explanation. */
interface StaleRead {
  readonly reader: number;
  readonly breaks: Set<Guarantee>;
  readonly explain: () => Counterexample;
}

/** A knot of contradictions, by one of its transactions. */
interface FoundKnot {
  readonly member: number;
  readonly breaks: readonly Guarantee[];
  readonly explain: () => Counterexample;
}

/**
 * Collects the findings of several guarantees. The same read or the same knot is often wrong under many of them; it is
 * reported once, by the most particular one, which is taken first.
 */
class OrderReport {
  readonly #input: AnalysisInput;
  readonly #labels: Labels;
  readonly #findings: Findings;
  readonly #staleReads = new Map<number, StaleRead>();
  /** Versions that a reader of {@link #staleReads} saw. */
  readonly #staleVersions = new Set<number>();
  readonly #knots: FoundKnot[] = [];

  constructor(input: AnalysisInput, labels: Labels, findings: Findings) {
    this.#input = input;
    this.#labels = labels;
    this.#findings = findings;
  }

  /** Adds the findings of one guarantee; the one that contains all others comes last. */
  take(outcome: Outcome | CyclicOutcome): void {
    const breaks: Guarantee[] = [...new Set([outcome.guarantee, 'causal-convergence'] as const)];
    const isLast = outcome.guarantee === 'causal-convergence';
    if ('graph' in outcome) {
      this.takeCycles(breaks, outcome.reads, outcome.graph, isLast);
      return;
    }
    let explainer: Explainer | undefined;
    const explaining = (): Explainer => (explainer ??= new Explainer(outcome, this.#labels));
    for (const read of outcome.commitOrder.staleReads) {
      const version = outcome.analysis.reads.write[read]!;
      if (isLast && this.#staleVersions.has(version)) continue;
      this.#staleVersions.add(version);
      this.#addStale(outcome, read, breaks, () => explaining().staleRead(read));
    }
    for (const read of outcome.nullReads.stale)
      this.#addStale(outcome, read, breaks, () => explaining().staleNull(read));
    for (const knot of outcome.knots) this.#addKnot(knot, isLast, breaks, () => explaining().cycle(knot));
  }

  /** Adds a happens-before that has cycles. */
  takeCycles(breaks: readonly Guarantee[], reads: Reads, graph: Digraph, isLast: boolean): void {
    for (const knot of findKnots(graph, readHops(reads))) {
      this.#addKnot(knot, isLast, breaks, () => causalCycle(this.#input.order, reads, knot, this.#labels));
    }
  }

  /** Reports all findings. The first reader has the smallest past: its counterexample is the clearest. */
  finish(): void {
    const stale = [...this.#staleReads.values()].sort((a, b) => a.reader - b.reader);
    for (const { breaks, explain } of stale) this.#findings.add([...breaks], explain);
    for (const { breaks, explain } of this.#knots) this.#findings.add(breaks, explain);
  }

  #addStale({ analysis }: Outcome, read: number, breaks: readonly Guarantee[], explain: () => Counterexample): void {
    const known = this.#staleReads.get(read);
    const reader = analysis.reads.tx.at(read);
    if (known === undefined) this.#staleReads.set(read, { reader, breaks: new Set(breaks), explain });
    else for (const guarantee of breaks) known.breaks.add(guarantee);
  }

  /** For the guarantee that contains all others, adds only knots that none of them has found. */
  #addKnot(knot: Knot, isLast: boolean, breaks: readonly Guarantee[], explain: () => Counterexample): void {
    if (isLast && this.#knots.some((known) => knot.contains(known.member))) return;
    this.#knots.push({ member: knot.hops[0]!.from, breaks, explain });
  }
}

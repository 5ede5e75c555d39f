import { NONE } from '../input/indexed-history.js';
import type { Reads } from '../input/reads.js';
import { type Knot, shortestCycle } from '../order/cycles.js';
import { PathFinder } from '../order/paths.js';
import type { SessionOrder } from '../order/session-order.js';
import type { Outcome } from '../rules/judge.js';
import type { Labels } from './labels.js';
import { Steps } from './steps.js';
import { nameOfCycle, nameOfStale } from './violation-names.js';
import type { Counterexample } from './violations.js';

/** Transactions that happen before themselves by session order and reads alone. */
export function causalCycle(order: SessionOrder, reads: Reads, knot: Knot, labels: Labels): Counterexample {
  const cycle = shortestCycle(new PathFinder(order, reads), knot);
  const names = list(cycle.map((hop) => labels.label(hop.from)));
  const message = `${names} each happened before the other: no order of them is possible.`;
  return new Steps(labels, reads).counterexample('cyclic-causality', message, cycle);
}

/** Makes the counterexamples of one guarantee. */
export class Explainer {
  readonly #outcome: Outcome;
  readonly #labels: Labels;
  readonly #paths: PathFinder;
  readonly #steps: Steps;

  constructor(outcome: Outcome, labels: Labels) {
    const { analysis, rule, commitOrder } = outcome;
    this.#outcome = outcome;
    this.#labels = labels;
    this.#paths = new PathFinder(analysis.order, analysis.reads, commitOrder);
    this.#steps = new Steps(labels, analysis.reads, {
      history: analysis.history,
      commitOrder,
      witness: (writer, reader) => rule.witness(writer, reader, this.#paths),
    });
  }

  /** A transaction read a version although one that it must see had overwritten it. */
  staleRead(read: number): Counterexample {
    const { analysis, rule } = this.#outcome;
    const [labels, { reads, history, clocks }] = [this.#labels, analysis];
    const [reader, key, writer] = [reads.tx.at(read), reads.key.at(read), reads.writer(read)];
    const miss = rule.nearest(reader, key, writer, (tx) => clocks.before(writer, tx), this.#paths);
    const message =
      `${labels.sees(reader)} ${labels.assignment(reads.write[read]!)}, written by ${labels.label(writer)}, although ` +
      `${labels.label(miss.writer)} had overwritten it with ${labels.value(history.finalWrite(miss.writer, key))}` +
      `${this.#happenedBefore(reader)}.`;
    const there = this.#paths.find(miss.writer, (tx) => tx === writer)!;
    const back = this.#steps.commitOrderOrder(miss.writer, read, miss.path);
    return this.#steps.counterexample(nameOfStale(this.#outcome, reader), message, there, back);
  }

  /** A transaction read no version of a key although it must see one. */
  staleNull(read: number): Counterexample {
    const { analysis, rule } = this.#outcome;
    const [labels, { reads, history, clocks }] = [this.#labels, analysis];
    const [reader, key, deleted] = [reads.tx.at(read), reads.key.at(read), this.#isDeleted(reads.key.at(read))];
    const past = deleted ? rule.past(reader, key, NONE) : [];
    // If the key was ever deleted, only a write that no delete followed proves anything.
    const isEvident = (tx: number): boolean => !past.some((other) => clocks.before(tx, other));
    const candidates = new Set(past.filter(isEvident));
    const accept = (tx: number): boolean => !deleted || candidates.has(tx);
    const miss = rule.nearest(reader, key, NONE, accept, this.#paths);
    const message =
      `${labels.sees(reader)} ${labels.key(key)} = null, although ${labels.label(miss.writer)} had written ` +
      `${labels.assignment(history.finalWrite(miss.writer, key))}${this.#happenedBefore(reader)}.` +
      (deleted ? ' No delete explains it: each was overwritten before, or happened later.' : '');
    const step = this.#steps.initialState(miss.writer, read, miss.path);
    return this.#steps.counterexample(nameOfStale(this.#outcome, reader), message, [], step);
  }

  /** Readers that force opposite orders on writers. */
  cycle(knot: Knot): Counterexample {
    const { analysis, commitOrder } = this.#outcome;
    const labels = this.#labels;
    const cycle = shortestCycle(this.#paths, knot, commitOrder);
    const orders = cycle.filter((hop) => hop.relation === 'commit');
    const readers = [...new Set(orders.map((hop) => analysis.reads.tx.at(commitOrder.read.at(hop.ref))))];
    const writers = list([...new Set(orders.flatMap((hop) => [hop.from, hop.to]))].map((tx) => labels.label(tx)));
    const message =
      readers.length === 1
        ? `${labels.sees(readers[0]!)} versions of ${writers} in a way that no snapshot allows.`
        : `What ${list(readers.map((tx) => labels.label(tx)))} read puts the writes of ${writers} in contradicting orders.`;
    return this.#steps.counterexample(nameOfCycle(this.#outcome, readers), message, cycle);
  }

  #isDeleted(key: number): boolean {
    const { deletes } = this.#outcome.analysis;
    return deletes.all(key).length > 0;
  }

  #happenedBefore(reader: number): string {
    return reader === this.#outcome.analysis.order.final ? '' : ` and happened before ${this.#labels.label(reader)}`;
  }
}

const list = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;

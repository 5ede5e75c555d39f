import { type Knot, shortestCycle } from './cycles.js';
import { NONE } from './indexed.js';
import type { Outcome } from './judge.js';
import { nameOfCycle, nameOfStale } from './names.js';
import { PathFinder } from './paths.js';
import type { Reads } from './reads.js';
import type { SessionOrder } from './sessions.js';
import { Steps } from './steps.js';
import type { Counterexample } from './violations.js';
import type { Words } from './words.js';

/** Transactions that happen before themselves by session order and reads alone. */
export function causalCycle(order: SessionOrder, reads: Reads, knot: Knot, words: Words): Counterexample {
  const cycle = shortestCycle(new PathFinder(order, reads), knot);
  const names = list(cycle.map((hop) => words.label(hop.from)));
  const message = `${names} each happened before the other: no order of them is possible.`;
  return new Steps(words, reads).counterexample('cyclic-causality', message, cycle);
}

/** Makes the counterexamples of one guarantee. */
export class Explainer {
  readonly #outcome: Outcome;
  readonly #words: Words;
  readonly #paths: PathFinder;
  readonly #steps: Steps;

  constructor(outcome: Outcome, words: Words) {
    const { scene, sight, forced } = outcome;
    this.#outcome = outcome;
    this.#words = words;
    this.#paths = new PathFinder(scene.order, scene.reads, forced);
    this.#steps = new Steps(words, scene.reads, {
      history: scene.history,
      forced,
      witness: (writer, reader) => sight.witness(writer, reader, this.#paths),
    });
  }

  /** A transaction read a version although one that it must see had overwritten it. */
  staleRead(read: number): Counterexample {
    const { scene, sight } = this.#outcome;
    const [words, { reads, history, clocks }] = [this.#words, scene];
    const [reader, key, writer] = [reads.tx.at(read), reads.key.at(read), reads.writer(read)];
    const miss = sight.nearest(reader, key, writer, (tx) => clocks.before(writer, tx), this.#paths);
    const message =
      `${words.sees(reader)} ${words.assignment(reads.write[read]!)}, written by ${words.label(writer)}, although ` +
      `${words.label(miss.writer)} had overwritten it with ${words.value(history.finalWrite(miss.writer, key))}` +
      `${this.#happenedBefore(reader)}.`;
    const there = this.#paths.find(miss.writer, (tx) => tx === writer)!;
    const back = this.#steps.forcedOrder(miss.writer, read, miss.path);
    return this.#steps.counterexample(nameOfStale(this.#outcome, reader), message, there, back);
  }

  /** A transaction read no version of a key although it must see one. */
  staleNull(read: number): Counterexample {
    const { scene, sight } = this.#outcome;
    const [words, { reads, history, clocks }] = [this.#words, scene];
    const [reader, key, deleted] = [reads.tx.at(read), reads.key.at(read), this.#isDeleted(reads.key.at(read))];
    const past = deleted ? sight.past(reader, key, NONE) : [];
    // Where the key was deleted at some time, only a write that no delete followed speaks for itself.
    const speaks = (tx: number): boolean => !past.some((other) => clocks.before(tx, other));
    const candidates = new Set(past.filter(speaks));
    const accept = (tx: number): boolean => !deleted || candidates.has(tx);
    const miss = sight.nearest(reader, key, NONE, accept, this.#paths);
    const message =
      `${words.sees(reader)} ${words.key(key)} = null, although ${words.label(miss.writer)} had written ` +
      `${words.assignment(history.finalWrite(miss.writer, key))}${this.#happenedBefore(reader)}.` +
      (deleted ? ' No delete explains it: each was overwritten before, or happened later.' : '');
    const step = this.#steps.initialState(miss.writer, read, miss.path);
    return this.#steps.counterexample(nameOfStale(this.#outcome, reader), message, [], step);
  }

  /** Readers that force opposite orders on writers. */
  cycle(knot: Knot): Counterexample {
    const { scene, forced } = this.#outcome;
    const words = this.#words;
    const cycle = shortestCycle(this.#paths, knot, forced);
    const orders = cycle.filter((hop) => hop.relation === 'commit');
    const readers = [...new Set(orders.map((hop) => scene.reads.tx.at(forced.read.at(hop.ref))))];
    const writers = list([...new Set(orders.flatMap((hop) => [hop.from, hop.to]))].map((tx) => words.label(tx)));
    const message =
      readers.length === 1
        ? `${words.sees(readers[0]!)} versions of ${writers} in a way that no snapshot allows.`
        : `What ${list(readers.map((tx) => words.label(tx)))} read puts the writes of ${writers} in contradicting orders.`;
    return this.#steps.counterexample(nameOfCycle(this.#outcome, readers), message, cycle);
  }

  #isDeleted(key: number): boolean {
    const { deletes } = this.#outcome.scene;
    return deletes.all(key).length > 0;
  }

  #happenedBefore(reader: number): string {
    return reader === this.#outcome.scene.order.final ? '' : ` and happened before ${this.#words.label(reader)}`;
  }
}

const list = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;

import type { ForcedOrders } from './forced.js';
import type { IndexedHistory } from './indexed.js';
import type { Hop } from './paths.js';
import type { Reads } from './reads.js';
import type { Counterexample, Step, TransactionRef, ViolationName } from './violations.js';
import type { Words } from './words.js';

/** Where the reasons of forced orders come from. */
export interface Reasons {
  readonly history: IndexedHistory;
  readonly forced: ForcedOrders;
  readonly witness: (writer: number, reader: number) => readonly Hop[];
}

/** Puts hops into words. */
export class Steps {
  readonly #words: Words;
  readonly #reads: Reads;
  readonly #reasons: Reasons | undefined;

  /** Without `reasons` there must be no hops along the order of commits. */
  constructor(words: Words, reads: Reads, reasons?: Reasons) {
    this.#words = words;
    this.#reads = reads;
    this.#reasons = reasons;
  }

  /** A cycle with all that is in it; `last` closes it. */
  counterexample(name: ViolationName, message: string, hops: readonly Hop[], last?: Step): Counterexample {
    const cycle = hops.map((hop) => this.#stepOf(hop));
    if (last !== undefined) cycle.push(last);
    const all = cycle.flatMap((step) => [step, ...step.because]);
    const transactions = new Map<string, TransactionRef>();
    for (const ref of all.flatMap(({ from, to }) => [from, to])) {
      if (ref !== null) transactions.set(`${ref.line} ${ref.op}`, ref);
    }
    return {
      name,
      message,
      keys: [...new Set(all.flatMap(({ key }) => (key === null ? [] : [key])))],
      sessions: [...new Set([...transactions.values()].map(({ session }) => session))],
      transactions: [...transactions.values()],
      cycle,
    };
  }

  /** `other` must come before the writer that a read saw, because of `path` from it to the reader. */
  forcedOrder(other: number, read: number, path: readonly Hop[]): Step {
    const [words, reads] = [this.#words, this.#reads];
    const reader = reads.tx.at(read);
    const [writer, key] = [reads.writer(read), reads.key.at(read)];
    const overwrite = words.assignment(this.#reasons!.history.finalWrite(other, key));
    const text =
      `${words.label(other)} must come before ${words.label(writer)}: ${words.sees(reader)} ` +
      `${words.assignment(reads.write[read]!)} while ${words.label(other)}, which wrote ${overwrite}, happened before ` +
      words.label(reader);
    return this.#commitStep(other, words.ref(writer), read, text, path);
  }

  /** The same for a read that saw the initial state. */
  initialState(other: number, read: number, path: readonly Hop[]): Step {
    const [words, reader] = [this.#words, this.#words.sees(this.#reads.tx.at(read))];
    const text = `${words.label(other)} would have to come before the initial state: ${reader} no version`;
    return this.#commitStep(other, null, read, text, path);
  }

  #commitStep(other: number, to: TransactionRef | null, read: number, text: string, path: readonly Hop[]): Step {
    const because = path.map((hop) => this.#stepOf(hop));
    const key = this.#words.keyName(this.#reads.key.at(read));
    return { relation: 'commit', from: this.#words.ref(other), to, key, text, because };
  }

  #stepOf(hop: Hop): Step {
    if (hop.relation === 'commit') {
      const read = this.#reasons!.forced.read.at(hop.ref);
      return this.forcedOrder(hop.from, read, this.#reasons!.witness(hop.from, this.#reads.tx.at(read)));
    }
    const [from, to] = [this.#words.ref(hop.from), this.#words.ref(hop.to)];
    const key = hop.relation === 'write-read' ? this.#words.keyName(this.#reads.key.at(hop.ref)) : null;
    return { relation: hop.relation, from, to, key, text: this.#textOf(hop), because: [] };
  }

  #textOf(hop: Hop): string {
    const words = this.#words;
    const [from, to] = [words.label(hop.from), words.label(hop.to)];
    if (hop.relation === 'session') return `${from} comes before ${to} in session ${words.session(hop.from)}`;
    if (hop.relation === 'final-state') return `${from} had ended when the final state was looked at`;
    const write = this.#reads.write[hop.ref]!;
    const deduced = words.isDelete(write) ? ', the only delete that explains it' : '';
    return `${to} read ${words.assignment(write)}, which ${from} wrote${deduced}`;
  }
}

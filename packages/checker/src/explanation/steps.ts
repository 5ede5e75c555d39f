import type { IndexedHistory } from '../input/indexed-history.js';
import type { Reads } from '../input/reads.js';
import type { Hop } from '../order/paths.js';
import type { CommitOrder } from '../rules/commit-order.js';
import type { Labels } from './labels.js';
import type { Counterexample, Step, TransactionRef, ViolationName } from './violations.js';

/** The source of the reasons of forced orders. */
export interface Reasons {
  readonly history: IndexedHistory;
  readonly commitOrder: CommitOrder;
  readonly witness: (writer: number, reader: number) => readonly Hop[];
}

/** Formats hops as text. */
export class Steps {
  readonly #labels: Labels;
  readonly #reads: Reads;
  readonly #reasons: Reasons | undefined;

  /** Without `reasons` there must be no hops along the order of commits. */
  constructor(labels: Labels, reads: Reads, reasons?: Reasons) {
    this.#labels = labels;
    this.#reads = reads;
    this.#reasons = reasons;
  }

  /** A cycle with all its names; `last` closes it. */
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
  commitOrderOrder(other: number, read: number, path: readonly Hop[]): Step {
    const [labels, reads] = [this.#labels, this.#reads];
    const reader = reads.tx.at(read);
    const [writer, key] = [reads.writer(read), reads.key.at(read)];
    const overwrite = labels.assignment(this.#reasons!.history.finalWrite(other, key));
    const text =
      `${labels.label(other)} must come before ${labels.label(writer)}: ${labels.sees(reader)} ` +
      `${labels.assignment(reads.write[read]!)} while ${labels.label(other)}, which wrote ${overwrite}, happened before ` +
      labels.label(reader);
    return this.#commitStep(other, labels.ref(writer), read, text, path);
  }

  /** The same for a read that saw the initial state. */
  initialState(other: number, read: number, path: readonly Hop[]): Step {
    const [labels, reader] = [this.#labels, this.#labels.sees(this.#reads.tx.at(read))];
    const text = `${labels.label(other)} would have to come before the initial state: ${reader} no version`;
    return this.#commitStep(other, null, read, text, path);
  }

  #commitStep(other: number, to: TransactionRef | null, read: number, text: string, path: readonly Hop[]): Step {
    const because = path.map((hop) => this.#stepOf(hop));
    const key = this.#labels.keyName(this.#reads.key.at(read));
    return { relation: 'commit', from: this.#labels.ref(other), to, key, text, because };
  }

  #stepOf(hop: Hop): Step {
    if (hop.relation === 'commit') {
      const read = this.#reasons!.commitOrder.read.at(hop.ref);
      return this.commitOrderOrder(hop.from, read, this.#reasons!.witness(hop.from, this.#reads.tx.at(read)));
    }
    const [from, to] = [this.#labels.ref(hop.from), this.#labels.ref(hop.to)];
    const key = hop.relation === 'write-read' ? this.#labels.keyName(this.#reads.key.at(hop.ref)) : null;
    return { relation: hop.relation, from, to, key, text: this.#textOf(hop), because: [] };
  }

  #textOf(hop: Hop): string {
    const labels = this.#labels;
    const [from, to] = [labels.label(hop.from), labels.label(hop.to)];
    if (hop.relation === 'session') return `${from} comes before ${to} in session ${labels.session(hop.from)}`;
    if (hop.relation === 'final-state') return `${from} had ended when the final state was looked at`;
    const write = this.#reads.write[hop.ref]!;
    const deduced = labels.isDelete(write) ? ', the only delete that explains it' : '';
    return `${to} read ${labels.assignment(write)}, which ${from} wrote${deduced}`;
  }
}

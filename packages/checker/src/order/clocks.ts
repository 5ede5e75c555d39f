import { invariant } from '@isochron/core';
import { NONE } from '../input/indexed-history.js';
import type { Reads } from '../input/reads.js';
import { IndeterminateOrder } from './indeterminate-order.js';
import type { SessionOrder } from './session-order.js';

/** Happens-before of the history, sessions times transactions, does not fit in the allowed memory. */
export class HistoryTooLargeError extends Error {
  override readonly name = 'HistoryTooLargeError';
}

/**
 * Happens-before: the transitive closure of session order and write-read, as one vector clock per transaction.
 *
 * Entry s of a transaction's clock counts the transactions of session s up to the last one that happened before it.
 * Unknown transactions are no part of that, see {@link IndeterminateOrder}.
 */
export class Clocks {
  readonly #order: SessionOrder;
  readonly #sessions: number;
  readonly #counts: Int32Array;
  readonly #indeterminate: IndeterminateOrder;

  /**
   * `sorted` lists all transactions in an order that contains happens-before.
   * @throws HistoryTooLargeError when the clocks would need more than `maxBytes`
   */
  constructor(order: SessionOrder, reads: Reads, sorted: Int32Array, maxBytes: number) {
    this.#order = order;
    this.#sessions = order.members.starts.length - 1;
    const bytes = sorted.length * this.#sessions * 4 + order.indeterminateCount ** 2 / 8;
    if (bytes > maxBytes) {
      const [need, limit] = [bytes, maxBytes].map((n) => `${(n / 2 ** 30).toFixed(1)} GiB`);
      throw new HistoryTooLargeError(
        `${sorted.length} transactions of ${this.#sessions} sessions need ${need} of memory, more than the limit of ${limit}`,
      );
    }
    this.#counts = new Int32Array(sorted.length * this.#sessions);
    this.#indeterminate = new IndeterminateOrder(order, reads, sorted);
    for (const tx of sorted) this.#advance(tx, reads);
  }

  /** How many transactions of a session, counted from its first, lie before the end of a transaction's past. */
  count(tx: number, session: number): number {
    return this.#counts[tx * this.#sessions + session]!;
  }

  /** Whether `a` happened before `b`; both must count. */
  before(a: number, b: number): boolean {
    if (this.#order.indeterminateId[a] === NONE) return this.count(b, this.#order.sessionOf(a)) > this.#order.rank[a]!;
    return b === this.#order.final || this.#indeterminate.before(a, b, this.#counts, b * this.#sessions);
  }

  #advance(tx: number, reads: Reads): void {
    if (tx === this.#order.final) {
      this.#advanceToEnd(tx);
      return;
    }
    const prev = this.#order.prev[tx]!;
    if (prev !== NONE) this.#join(tx, prev);
    for (let read = reads.from[tx]!; read < reads.to[tx]!; read++) {
      const writer = reads.writer(read);
      if (writer !== NONE) this.#join(tx, writer);
    }
  }

  /** The final state comes after everything. */
  #advanceToEnd(tx: number): void {
    for (let s = 0; s < this.#sessions; s++) this.#counts[tx * this.#sessions + s] = this.#order.countOf(s);
    this.#counts[tx * this.#sessions + this.#order.sessionOf(tx)] = 0;
  }

  #join(tx: number, past: number): void {
    invariant(tx !== past, 'a transaction does not happen before itself');
    const isOrdered = this.#order.isOrdered(past);
    const own = this.#order.sessionOf(past);
    // A clock that counts an ordered transaction covers its past.
    if (isOrdered && this.count(tx, own) > this.#order.rank[past]!) return;
    const [to, from] = [tx * this.#sessions, past * this.#sessions];
    for (let s = 0; s < this.#sessions; s++) {
      const count = this.#counts[from + s]!;
      if (count > this.#counts[to + s]!) this.#counts[to + s] = count;
    }
    if (isOrdered) this.#counts[to + own] = Math.max(this.#counts[to + own]!, this.#order.rank[past]! + 1);
  }
}

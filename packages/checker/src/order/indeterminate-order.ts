import { NONE } from '../input/indexed-history.js';
import type { Reads } from '../input/reads.js';
import type { SessionOrder } from './session-order.js';

/** The first reader in a session without a reader. */
const NO_READER = 0x7fffffff;

/**
 * Happens-before from transactions of unknown outcome (Jepsen: indeterminate). No transaction of their own session is
 * ordered after them, so no count of a vector clock can represent them. Each path out of one begins with a transaction
 * that read from it. So each needs only its first reader in every session; among one another, they need a bit each.
 */
export class IndeterminateOrder {
  readonly #order: SessionOrder;
  readonly #sessions: number;
  readonly #words: number;
  /**
   * Per unknown transaction and session: the lowest rank of a transaction that read from it, also over unknown ones.
   */
  readonly #firstReader: Int32Array;
  /** Per unknown transaction: those that reach it over unknown ones only. */
  readonly #bits: Uint32Array;

  /** `sorted` lists all transactions in an order that contains happens-before. */
  constructor(order: SessionOrder, reads: Reads, sorted: Int32Array) {
    this.#order = order;
    this.#sessions = order.members.starts.length - 1;
    this.#words = Math.ceil(order.indeterminateCount / 32);
    this.#firstReader = new Int32Array(order.indeterminateCount * this.#sessions).fill(NO_READER);
    this.#bits = new Uint32Array(order.indeterminateCount * this.#words);
    if (order.indeterminateCount === 0) return;
    for (const tx of sorted) if (!order.isOrdered(tx)) this.#collectPast(tx, reads);
    for (let i = sorted.length - 1; i >= 0; i--)
      if (!order.isOrdered(sorted[i]!)) this.#collectReaders(sorted[i]!, reads);
  }

  /** Whether the unknown transaction `a` happened before `b`, whose clock begins at `counts[clock]`. */
  before(a: number, b: number, counts: Int32Array, clock: number): boolean {
    const [indeterminate, other] = [this.#order.indeterminateId[a]!, this.#order.indeterminateId[b]!];
    if (other !== NONE && this.#hasBit(other, indeterminate)) return true;
    const start = indeterminate * this.#sessions;
    const own = this.#order.sessionOf(b);
    for (let s = 0; s < this.#sessions; s++) {
      const first = this.#firstReader[start + s]!;
      if (first < counts[clock + s]! || (s === own && first <= this.#order.rank[b]!)) return true;
    }
    return false;
  }

  #hasBit(indeterminate: number, past: number): boolean {
    return ((this.#bits[indeterminate * this.#words + (past >>> 5)]! >>> (past & 31)) & 1) === 1;
  }

  #collectPast(tx: number, reads: Reads): void {
    const to = this.#order.indeterminateId[tx]! * this.#words;
    for (const parent of reads.parents(tx)) {
      const past = this.#order.indeterminateId[parent]!;
      if (past === NONE) continue;
      for (let w = 0; w < this.#words; w++) this.#bits[to + w]! |= this.#bits[past * this.#words + w]!;
      this.#bits[to + (past >>> 5)]! |= 1 << (past & 31);
    }
  }

  #collectReaders(tx: number, reads: Reads): void {
    const to = this.#order.indeterminateId[tx]! * this.#sessions;
    for (const read of reads.readsFrom(tx)) {
      const reader = reads.tx.at(read);
      const indeterminate = this.#order.indeterminateId[reader]!;
      if (indeterminate === NONE) this.#offer(to + this.#order.sessionOf(reader), this.#order.rank[reader]!);
      else
        for (let s = 0; s < this.#sessions; s++)
          this.#offer(to + s, this.#firstReader[indeterminate * this.#sessions + s]!);
    }
  }

  #offer(entry: number, rank: number): void {
    if (rank < this.#firstReader[entry]!) this.#firstReader[entry] = rank;
  }
}

import { NONE } from './indexed.js';
import type { Reads } from './reads.js';
import type { SessionOrder } from './sessions.js';

/** Stands for a session of which nobody read. */
const NOBODY = 0x7fffffff;

/**
 * What unknown transactions happened before. They precede nothing of their own session, so no count of a vector clock can
 * stand for them; but whatever they happened before goes through somebody who read from them. So each needs only the first
 * reader in every session, and among one another they need a bit each.
 */
export class LooseOrder {
  readonly #order: SessionOrder;
  readonly #sessions: number;
  readonly #words: number;
  /** Per unknown transaction and session: the lowest rank of a transaction that read from it, also over unknown ones. */
  readonly #firstReader: Int32Array;
  /** Per unknown transaction: those that reach it over unknown ones only. */
  readonly #bits: Uint32Array;

  /** `sorted` lists all transactions so that what happened before stands in front. */
  constructor(order: SessionOrder, reads: Reads, sorted: Int32Array) {
    this.#order = order;
    this.#sessions = order.members.starts.length - 1;
    this.#words = Math.ceil(order.looseCount / 32);
    this.#firstReader = new Int32Array(order.looseCount * this.#sessions).fill(NOBODY);
    this.#bits = new Uint32Array(order.looseCount * this.#words);
    if (order.looseCount === 0) return;
    for (const tx of sorted) if (!order.isOrdered(tx)) this.#collectPast(tx, reads);
    for (let i = sorted.length - 1; i >= 0; i--)
      if (!order.isOrdered(sorted[i]!)) this.#collectReaders(sorted[i]!, reads);
  }

  /** Whether the unknown transaction `a` happened before `b`, whose clock begins at `counts[clock]`. */
  before(a: number, b: number, counts: Int32Array, clock: number): boolean {
    const [loose, other] = [this.#order.looseId[a]!, this.#order.looseId[b]!];
    if (other !== NONE && this.#hasBit(other, loose)) return true;
    const start = loose * this.#sessions;
    const own = this.#order.sessionOf(b);
    for (let s = 0; s < this.#sessions; s++) {
      const first = this.#firstReader[start + s]!;
      if (first < counts[clock + s]! || (s === own && first <= this.#order.rank[b]!)) return true;
    }
    return false;
  }

  #hasBit(loose: number, past: number): boolean {
    return ((this.#bits[loose * this.#words + (past >>> 5)]! >>> (past & 31)) & 1) === 1;
  }

  #collectPast(tx: number, reads: Reads): void {
    const to = this.#order.looseId[tx]! * this.#words;
    for (const parent of reads.parents(tx)) {
      const past = this.#order.looseId[parent]!;
      if (past === NONE) continue;
      for (let w = 0; w < this.#words; w++) this.#bits[to + w]! |= this.#bits[past * this.#words + w]!;
      this.#bits[to + (past >>> 5)]! |= 1 << (past & 31);
    }
  }

  #collectReaders(tx: number, reads: Reads): void {
    const to = this.#order.looseId[tx]! * this.#sessions;
    for (const read of reads.readsFrom(tx)) {
      const reader = reads.tx.at(read);
      const loose = this.#order.looseId[reader]!;
      if (loose === NONE) this.#offer(to + this.#order.sessionOf(reader), this.#order.rank[reader]!);
      else for (let s = 0; s < this.#sessions; s++) this.#offer(to + s, this.#firstReader[loose * this.#sessions + s]!);
    }
  }

  #offer(entry: number, rank: number): void {
    if (rank < this.#firstReader[entry]!) this.#firstReader[entry] = rank;
  }
}

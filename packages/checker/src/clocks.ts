import { invariant } from '@isochron/core';
import { NONE } from './indexed.js';
import type { ResolvedReads } from './reads.js';
import type { SessionOrder } from './sessions.js';

/** The history has more sessions times transactions than happens-before fits in memory for. */
export class HistoryTooLargeError extends Error {
  override readonly name = 'HistoryTooLargeError';
}

/**
 * Happens-before: the transitive closure of session order and write-read, as one vector clock per transaction.
 *
 * Entry s of a transaction's clock counts the transactions of session s up to the last one that happened before it.
 * Unknown transactions precede nothing of their own session, so a count cannot stand for them: they have a bit each.
 */
export class Clocks {
  readonly #order: SessionOrder;
  readonly #sessions: number;
  readonly #words: number;
  readonly #counts: Int32Array;
  readonly #bits: Uint32Array;

  /**
   * `sorted` lists all transactions so that what happened before stands in front.
   * @throws HistoryTooLargeError when the clocks would need more than `maxBytes`
   */
  constructor(order: SessionOrder, reads: ResolvedReads, sorted: Int32Array, maxBytes: number) {
    this.#order = order;
    this.#sessions = order.members.starts.length - 1;
    this.#words = Math.ceil(order.looseCount / 32);
    const bytes = sorted.length * (this.#sessions + this.#words) * 4;
    if (bytes > maxBytes) {
      const [need, limit] = [bytes, maxBytes].map((n) => `${(n / 2 ** 30).toFixed(1)} GiB`);
      throw new HistoryTooLargeError(
        `${sorted.length} transactions of ${this.#sessions} sessions need ${need} of memory, more than the limit of ${limit}`,
      );
    }
    this.#counts = new Int32Array(sorted.length * this.#sessions);
    this.#bits = new Uint32Array(sorted.length * this.#words);
    for (const tx of sorted) this.#advance(tx, reads);
  }

  /** How many transactions of a session, counted from its first, lie before the end of a transaction's past. */
  count(tx: number, session: number): number {
    return this.#counts[tx * this.#sessions + session]!;
  }

  /** Whether `a` happened before `b`; both must count. */
  before(a: number, b: number): boolean {
    const bit = this.#order.looseId[a]!;
    if (bit === NONE) return this.count(b, this.#order.sessionOf(a)) > this.#order.rank[a]!;
    return ((this.#bits[b * this.#words + (bit >>> 5)]! >>> (bit & 31)) & 1) === 1;
  }

  #advance(tx: number, reads: ResolvedReads): void {
    const prev = this.#order.prev[tx]!;
    if (prev !== NONE) this.#join(tx, prev);
    for (let read = reads.from[tx]!; read < reads.to[tx]!; read++) {
      const writer = reads.writer(read);
      if (writer !== NONE && !this.before(writer, tx)) this.#join(tx, writer);
    }
  }

  #join(tx: number, past: number): void {
    invariant(tx !== past, 'a transaction does not happen before itself');
    const [to, from] = [tx * this.#sessions, past * this.#sessions];
    for (let s = 0; s < this.#sessions; s++) {
      const count = this.#counts[from + s]!;
      if (count > this.#counts[to + s]!) this.#counts[to + s] = count;
    }
    const [toBits, fromBits] = [tx * this.#words, past * this.#words];
    for (let w = 0; w < this.#words; w++) this.#bits[toBits + w]! |= this.#bits[fromBits + w]!;
    this.#mark(tx, past);
  }

  #mark(tx: number, past: number): void {
    const bit = this.#order.looseId[past]!;
    if (bit !== NONE) this.#bits[tx * this.#words + (bit >>> 5)]! |= 1 << (bit & 31);
    else {
      const entry = tx * this.#sessions + this.#order.sessionOf(past);
      this.#counts[entry] = Math.max(this.#counts[entry]!, this.#order.rank[past]! + 1);
    }
  }
}

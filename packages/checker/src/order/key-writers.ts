import { FINAL, type IndexedHistory, NONE } from '../input/indexed-history.js';
import { groupBy, IntList } from '../input/ints.js';
import type { SessionOrder } from './session-order.js';

/**
 * The writers of a key: one run for each session that wrote it, in session order; unknown transactions apart. Only
 * final writes count; on request, only those that delete.
 */
export class KeyWriters {
  /** Runs of key k: `keyStart[k] … keyStart[k + 1] - 1`. */
  readonly keyStart: Int32Array;
  /** Session of each run. */
  readonly runSession = new IntList();
  readonly #runStart = new IntList();
  readonly #txs: Int32Array;
  readonly #indeterminate = new Map<number, number[]>();
  readonly #order: SessionOrder;

  constructor(history: IndexedHistory, order: SessionOrder, onlyDeletes = false) {
    this.#order = order;
    const keys = new IntList();
    const txs = new IntList();
    for (const tx of order.members.items) {
      for (let op = history.opStart.at(tx); op < history.opStart.at(tx + 1); op++) {
        if (history.opKind.at(op) !== FINAL || (onlyDeletes && history.opValue[op] !== null)) continue;
        const key = history.opKey.at(op);
        if (!order.isOrdered(tx)) this.#addIndeterminate(key, tx);
        else {
          keys.push(key);
          txs.push(tx);
        }
      }
    }
    // Sessions were walked one after the other, so a key's writers come out as one run per session.
    const groups = groupBy(keys.view(), history.keys.length);
    this.#txs = groups.items.map((i) => txs.at(i));
    this.keyStart = new Int32Array(history.keys.length + 1);
    for (let key = 0; key < history.keys.length; key++) {
      this.#addRuns(groups.starts[key]!, groups.starts[key + 1]!);
      this.keyStart[key + 1] = this.runSession.length;
    }
    this.#runStart.push(this.#txs.length);
  }

  #addIndeterminate(key: number, tx: number): void {
    const list = this.#indeterminate.get(key);
    if (list === undefined) this.#indeterminate.set(key, [tx]);
    else list.push(tx);
  }

  #addRuns(start: number, end: number): void {
    let session = NONE;
    for (let i = start; i < end; i++) {
      const own = this.#order.sessionOf(this.#txs[i]!);
      if (own === session) continue;
      session = own;
      this.runSession.push(session);
      this.#runStart.push(i);
    }
  }

  /** The run of a key and a session, or `NONE`. */
  runOf(key: number, session: number): number {
    let low = this.keyStart[key]!;
    let high = this.keyStart[key + 1]!;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.runSession.at(middle) < session) low = middle + 1;
      else high = middle;
    }
    return low < this.keyStart[key + 1]! && this.runSession.at(low) === session ? low : NONE;
  }

  /** The last writer of a run among the first `count` transactions of its session, or `NONE`. */
  last(run: number, count: number): number {
    const end = this.#indexFrom(run, count);
    return end === this.#runStart.at(run) ? NONE : this.#txs[end - 1]!;
  }

  /** The writers of a run but for those among the first `count` transactions of its session. */
  from(run: number, count: number): Int32Array {
    return this.#txs.subarray(this.#indexFrom(run, count), this.#runStart.at(run + 1));
  }

  #indexFrom(run: number, count: number): number {
    let low = this.#runStart.at(run);
    let high = this.#runStart.at(run + 1);
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#order.rank[this.#txs[middle]!]! < count) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Unknown transactions that wrote a key. */
  indeterminate(key: number): readonly number[] {
    return this.#indeterminate.get(key) ?? [];
  }

  /** All writers of a key. */
  all(key: number): number[] {
    const [first, last] = [this.keyStart[key]!, this.keyStart[key + 1]!];
    const ordered = first === last ? [] : this.#txs.subarray(this.#runStart.at(first), this.#runStart.at(last));
    return [...ordered, ...this.indeterminate(key)];
  }
}

import type { IndexedHistory } from '../input/indexed-history.js';
import { NONE } from '../input/indexed-history.js';
import { groupBy, IntList } from '../input/ints.js';
import type { Reads } from '../input/reads.js';
import type { KeyWriters } from './key-writers.js';
import type { SessionOrder } from './session-order.js';

/** A history with the writer of each read. */
interface ReadHistory {
  readonly history: IndexedHistory;
  readonly order: SessionOrder;
  readonly writers: KeyWriters;
  readonly reads: Reads;
}

/** A transaction of unknown outcome that read from a writer. */
interface IndeterminateRead {
  readonly reader: number;
  readonly writer: number;
}

/**
 * The writers that each session had read from: per run of a key ({@link KeyWriters}) and session, the last writer of
 * the run up to any position of the session. Like clocks, but only with direct reads, whose gaps a clock cannot show.
 */
export class ObservedWriters {
  readonly #analysis: ReadHistory;
  /** Entries of run r: `#starts[r] … #starts[r + 1] - 1`, by session and rank of the reader. */
  readonly #starts: Int32Array;
  readonly #session: Int32Array;
  readonly #readerRank: Int32Array;
  /** The highest rank of a writer that the session has read from up to here. */
  readonly #best: Int32Array;
  readonly #indeterminate = new Map<number, IndeterminateRead[]>();

  constructor(analysis: ReadHistory) {
    this.#analysis = analysis;
    const entries = this.#collect();
    const groups = groupBy(entries.run.view(), analysis.writers.runSession.length);
    this.#starts = groups.starts;
    this.#session = groups.items.map((i) => analysis.order.sessionOf(entries.reader.at(i)));
    this.#readerRank = groups.items.map((i) => analysis.order.rank[entries.reader.at(i)]!);
    this.#best = groups.items.map((i) => analysis.order.rank[entries.writer.at(i)]!);
    for (let i = 1; i < this.#best.length; i++) {
      const follows = entries.run.at(groups.items[i]!) === entries.run.at(groups.items[i - 1]!);
      if (follows && this.#session[i] === this.#session[i - 1]) {
        this.#best[i] = Math.max(this.#best[i]!, this.#best[i - 1]!);
      }
    }
  }

  /** The last writer of a run that the first `count` transactions of a session had read from, or `NONE`. */
  last(run: number, session: number, count: number): number {
    let low = this.#starts[run]!;
    let high = this.#starts[run + 1]!;
    const start = low;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const order = this.#session[middle]! - session || this.#readerRank[middle]! - count;
      if (order < 0) low = middle + 1;
      else high = middle;
    }
    if (low === start || this.#session[low - 1] !== session) return NONE;
    return this.#analysis.order.at(this.#analysis.writers.runSession.at(run), this.#best[low - 1]!);
  }

  /** Transactions of unknown outcome that read from a writer of the run: they have no position in a session's order. */
  indeterminate(run: number): readonly IndeterminateRead[] {
    return this.#indeterminate.get(run) ?? [];
  }

  /** One entry per reader, transaction it read from, and key written there; readers by session and rank. */
  #collect(): { run: IntList; reader: IntList; writer: IntList } {
    const { order, reads } = this.#analysis;
    const entries = { run: new IntList(), reader: new IntList(), writer: new IntList() };
    for (const reader of order.members.items) {
      if (reader === order.final) continue;
      for (const writer of reads.parents(reader)) {
        if (!order.isOrdered(writer)) continue;
        for (const run of this.#runsOf(writer)) {
          if (!order.isOrdered(reader)) this.#addIndeterminate(run, { reader, writer });
          else {
            entries.run.push(run);
            entries.reader.push(reader);
            entries.writer.push(writer);
          }
        }
      }
    }
    return entries;
  }

  #runsOf(writer: number): number[] {
    const { history, order, writers } = this.#analysis;
    const session = order.sessionOf(writer);
    return history.finalWrites(writer).map((op) => writers.runOf(history.opKey.at(op), session));
  }

  #addIndeterminate(run: number, read: IndeterminateRead): void {
    const list = this.#indeterminate.get(run);
    if (list === undefined) this.#indeterminate.set(run, [read]);
    else list.push(read);
  }
}

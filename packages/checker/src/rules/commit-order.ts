import { groupBy, IntList } from '../input/ints.js';
import type { Analysis } from '../order/analysis.js';
import type { ForcedEdges, Hop } from '../order/paths.js';
import type { VisibilityRule } from './visibility-rule.js';

/**
 * The order of commits, as far as a guarantee forces it: if T3 reads x from T1 and must see T2, which writes x too,
 * then T2 comes before T1. Per version it is enough to look at the last writer in each session: earlier ones come
 * before it anyway.
 */
export class CommitOrder implements ForcedEdges {
  /** Orders that happens-before does not imply: edge i from `from[i]` to `to[i]` because of `read[i]`. */
  readonly from = new IntList();
  readonly to = new IntList();
  readonly read = new IntList();
  /** Reads of versions that happened before one that the reader must see: at most one per version. */
  readonly staleReads: number[] = [];
  /** The orders that happens-before contradicts, of the same versions: edge i from `newer[i]` to `older[i]`. */
  readonly newer = new IntList();
  readonly older = new IntList();

  readonly #analysis: Analysis;
  readonly #rule: VisibilityRule;

  /** Visits only versions of the transactions that `isSuspect` accepts. */
  constructor(analysis: Analysis, rule: VisibilityRule, isSuspect: (writer: number) => boolean) {
    this.#analysis = analysis;
    this.#rule = rule;
    const readers = groupBy(analysis.reads.write, analysis.history.opTx.length);
    for (let write = 0; write + 1 < readers.starts.length; write++) {
      const [start, end] = [readers.starts[write]!, readers.starts[write + 1]!];
      if (start === end || !isSuspect(analysis.history.opTx.at(write))) continue;
      this.#saturate(write, readers.items.subarray(start, end));
    }
  }

  /** The forced orders as hops. */
  *hops(): Generator<Hop> {
    for (let i = 0; i < this.from.length; i++) {
      yield { relation: 'commit', from: this.from.at(i), to: this.to.at(i), ref: i };
    }
  }

  /** The same orders, from transactions that the session of `from[i]` wrote the key in before. */
  *earlier(i: number): Generator<Hop> {
    const [other, to] = [this.from.at(i), this.to.at(i)];
    const { order, writers, clocks, reads } = this.#analysis;
    if (!this.#rule.coversEarlier || !order.isOrdered(other)) return;
    const run = writers.runOf(reads.key.at(this.read.at(i)), order.sessionOf(other));
    for (const from of writers.from(run, 0)) {
      if (from === other) return;
      if (from !== to && !clocks.before(from, to)) yield { relation: 'commit', from, to, ref: i };
    }
  }

  #saturate(write: number, reads: Int32Array): void {
    const { history } = this.#analysis;
    const key = history.opKey.at(write);
    const writer = history.opTx.at(write);
    let stale = false;
    this.#rule.forVersion(writer, key, reads, (other, read) => {
      if (!this.#relate(other, writer, read)) stale = true;
    });
    if (stale) this.staleReads.push(this.#firstStale(writer, key, reads));
  }

  /**
   * Orders `other`, which a reader must see, before the writer it read from. False when happens-before orders them the
   * other way round.
   */
  #relate(other: number, writer: number, read: number): boolean {
    const { clocks } = this.#analysis;
    if (other === writer || clocks.before(other, writer)) return true;
    if (clocks.before(writer, other)) {
      this.newer.push(other);
      this.older.push(writer);
      return false;
    }
    this.from.push(other);
    this.to.push(writer);
    this.read.push(read);
    return true;
  }

  /** The reader that stands first in the file, which is closest to the cause. */
  #firstStale(writer: number, key: number, reads: Int32Array): number {
    const { reads: all, clocks } = this.#analysis;
    for (const read of reads) {
      const past = this.#rule.past(all.tx.at(read), key, writer);
      if (past.some((other) => clocks.before(writer, other))) return read;
    }
    return reads[0]!;
  }
}

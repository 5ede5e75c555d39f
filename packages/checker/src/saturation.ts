import type { Clocks } from './clocks.js';
import { type IndexedHistory, NONE } from './indexed.js';
import { groupBy, IntList } from './ints.js';
import type { ResolvedReads } from './reads.js';
import type { KeyWriters } from './writers.js';

/**
 * The axiom of causal consistency: if T3 reads x from T1, and T2 also writes x and happened before T3, then T2 comes
 * before T1 in the order of commits.
 *
 * Per version it is enough to look at the last writer in each session: earlier ones come before it anyway. So a version
 * costs one search per session that wrote the key, and a read one comparison.
 *
 * A read of null saw either the state before any write, or a delete; the history does not say which. It is wrong only
 * when neither is possible: some write happened before the reader, and each delete happened after the reader or was
 * overwritten in its past.
 */
export class Saturation {
  /** Forced orders of commits that happens-before does not imply: edge i from `from[i]` to `to[i]` because of `read[i]`. */
  readonly from = new IntList();
  readonly to = new IntList();
  readonly read = new IntList();
  /** Reads of versions that a writer in the reader's past had overwritten: at most one per version. */
  readonly staleReads: number[] = [];
  /** Reads of null that nothing explains. */
  readonly staleNulls: number[] = [];

  readonly #history: IndexedHistory;
  readonly #reads: ResolvedReads;
  readonly #clocks: Clocks;
  readonly #writers: KeyWriters;
  /** Per session that wrote the key: the largest count among the readers of a version, and the read it comes from. */
  readonly #bestCount: Int32Array;
  readonly #bestRead: Int32Array;

  constructor(history: IndexedHistory, reads: ResolvedReads, clocks: Clocks, writers: KeyWriters) {
    this.#history = history;
    this.#reads = reads;
    this.#clocks = clocks;
    this.#writers = writers;
    this.#bestCount = new Int32Array(history.sessions.length);
    this.#bestRead = new Int32Array(history.sessions.length);
    this.#saturateVersions();
    for (let read = 0; read < reads.write.length; read++) {
      if (reads.write.at(read) === NONE && !this.#explainsNull(read)) this.staleNulls.push(read);
    }
  }

  #saturateVersions(): void {
    const readers = groupBy(this.#reads.write.view(), this.#history.opTx.length);
    for (let write = 0; write + 1 < readers.starts.length; write++) {
      const group = readers.items.subarray(readers.starts[write]!, readers.starts[write + 1]!);
      if (group.length > 0) this.#saturate(write, group);
    }
  }

  #saturate(write: number, readers: Int32Array): void {
    const key = this.#history.opKey.at(write);
    const writer = this.#history.opTx.at(write);
    const first = this.#writers.keyStart[key]!;
    const runs = this.#writers.keyStart[key + 1]! - first;
    this.#collectCounts(readers, first, runs);
    let stale = false;
    for (let i = 0; i < runs; i++) {
      const count = this.#bestCount[i]!;
      const other = count === 0 ? NONE : this.#writers.last(first + i, count);
      if (other !== NONE && !this.#relate(other, writer, this.#bestRead[i]!)) stale = true;
    }
    for (const other of this.#writers.loose(key)) {
      const read = readers.find((r) => this.#clocks.before(other, this.#reads.tx.at(r)));
      if (read !== undefined && !this.#relate(other, writer, read)) stale = true;
    }
    if (stale) this.staleReads.push(this.#firstStale(writer, key, readers));
  }

  #collectCounts(readers: Int32Array, first: number, runs: number): void {
    this.#bestCount.fill(0, 0, runs);
    for (const read of readers) {
      const tx = this.#reads.tx.at(read);
      for (let i = 0; i < runs; i++) {
        const count = this.#clocks.count(tx, this.#writers.runSession.at(first + i));
        if (count <= this.#bestCount[i]!) continue;
        this.#bestCount[i] = count;
        this.#bestRead[i] = read;
      }
    }
  }

  /** Orders `other`, in the past of a reader, before the writer it read from. False when happens-before says the opposite. */
  #relate(other: number, writer: number, read: number): boolean {
    if (other === writer || this.#clocks.before(other, writer)) return true;
    if (this.#clocks.before(writer, other)) return false;
    this.from.push(other);
    this.to.push(writer);
    this.read.push(read);
    return true;
  }

  /** The reader that stands first in the file, which is closest to the cause. */
  #firstStale(writer: number, key: number, readers: Int32Array): number {
    for (const read of readers) {
      const past = this.pastWriters(this.#reads.tx.at(read), key);
      if (past.some((other) => this.#clocks.before(writer, other))) return read;
    }
    return readers[0]!;
  }

  /** The last writers of a key, one per session, in the past of a transaction; and all unknown ones there. */
  pastWriters(tx: number, key: number): number[] {
    const past: number[] = [];
    for (let run = this.#writers.keyStart[key]!; run < this.#writers.keyStart[key + 1]!; run++) {
      const other = this.#writers.last(run, this.#clocks.count(tx, this.#writers.runSession.at(run)));
      if (other !== NONE) past.push(other);
    }
    for (const other of this.#writers.loose(key)) if (this.#clocks.before(other, tx)) past.push(other);
    return past;
  }

  #explainsNull(read: number): boolean {
    const tx = this.#reads.tx.at(read);
    const key = this.#reads.key.at(read);
    const past = this.pastWriters(tx, key);
    return past.length === 0 || this.#history.tombstonesOf[key]!.some((op) => this.#mayBeSeen(op, tx, past));
  }

  /** Whether a reader may have seen a delete, given the writers in its past. Errs on the side of yes. */
  #mayBeSeen(op: number, tx: number, past: readonly number[]): boolean {
    const deleter = this.#history.opTx.at(op);
    if (deleter === tx || this.#history.txStatus[deleter] === 'aborted') return false;
    // An unknown delete that nobody is known to have seen may have happened at any time.
    if (this.#reads.included[deleter] === 0) return true;
    if (this.#clocks.before(tx, deleter)) return false;
    return past.every((other) => !this.#clocks.before(deleter, other));
  }
}

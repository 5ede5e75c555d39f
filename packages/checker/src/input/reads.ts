import { type IndexedHistory, NONE } from './indexed-history.js';
import { type Groups, groupBy, type IntList } from './ints.js';

/**
 * Write-read: the reads that are judged against others, at most one per transaction and key, and the write that each of
 * them saw. The lists are parallel, so a read is a position in them.
 */
export class Reads {
  #byWriter: Groups | undefined;

  constructor(
    readonly history: IndexedHistory,
    readonly tx: IntList,
    readonly key: IntList,
    /** The write (an operation) that was seen; `NONE` for a null that may have been the initial state. */
    readonly write: Int32Array,
    /** The reads of transaction t: `from[t] … to[t] - 1`. */
    readonly from: Int32Array,
    readonly to: Int32Array,
  ) {}

  /** Number of reads. */
  get length(): number {
    return this.write.length;
  }

  /** The transaction that a read saw, or `NONE`. */
  writer(read: number): number {
    const write = this.write[read]!;
    return write === NONE ? NONE : this.history.opTx.at(write);
  }

  /** The same reads, with the deletes that some of them saw: operations by read. */
  withDeletes(seen: ReadonlyMap<number, number>): Reads {
    const write = this.write.slice();
    for (const [read, op] of seen) write[read] = op;
    return new Reads(this.history, this.tx, this.key, write, this.from, this.to);
  }

  /** The transactions that a transaction read from, each once. */
  parents(tx: number): number[] {
    const parents: number[] = [];
    for (let read = this.from[tx]!; read < this.to[tx]!; read++) {
      const writer = this.writer(read);
      if (writer !== NONE && !parents.includes(writer)) parents.push(writer);
    }
    return parents;
  }

  /** The reads that saw a transaction, in the order of the file. */
  readsFrom(writer: number): Int32Array {
    this.#byWriter ??= groupBy(
      this.write.map((write) => (write === NONE ? NONE : this.history.opTx.at(write))),
      this.history.size,
    );
    const { starts, items } = this.#byWriter;
    return items.subarray(starts[writer]!, starts[writer + 1]!);
  }
}

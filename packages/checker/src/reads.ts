import { FINAL, type IndexedHistory, NONE, READ } from './indexed.js';
import { IntList } from './ints.js';
import type { Findings } from './violations.js';
import type { Words } from './words.js';

/**
 * Which transactions count, and which write each of their reads saw. Finds on the way everything that is wrong with a
 * read by itself.
 *
 * Committed transactions count. An unknown one counts when a transaction that counts read from it; otherwise, like an
 * aborted one, it is left out together with its reads: nobody was promised anything.
 */
export class ResolvedReads {
  /** 1 for transactions that count. */
  readonly included: Uint8Array;
  observedUnknown = 0;

  /**
   * Reads that are judged against others, at most one per transaction and key. The lists are parallel; `write` is the
   * write seen, `NONE` for null.
   */
  readonly tx = new IntList();
  readonly key = new IntList();
  readonly write = new IntList();
  /** The reads of transaction t: `from[t] … to[t] - 1`. */
  readonly from: Int32Array;
  readonly to: Int32Array;

  readonly #history: IndexedHistory;
  readonly #findings: Findings;
  readonly #words: Words;
  readonly #queue: number[] = [];
  /** Per key, the last transaction that wrote or read it here, and with which operation. */
  readonly #ownTx: Int32Array;
  readonly #ownOp: Int32Array;
  readonly #seenTx: Int32Array;
  readonly #seenOp: Int32Array;

  constructor(history: IndexedHistory, findings: Findings, words: Words) {
    this.#history = history;
    this.#findings = findings;
    this.#words = words;
    this.included = new Uint8Array(history.size);
    this.from = new Int32Array(history.size);
    this.to = new Int32Array(history.size);
    const keys = history.keys.length;
    this.#ownTx = new Int32Array(keys).fill(NONE);
    this.#ownOp = new Int32Array(keys);
    this.#seenTx = new Int32Array(keys).fill(NONE);
    this.#seenOp = new Int32Array(keys);
    this.#resolveAll();
  }

  /** The transaction that a read saw, or `NONE`. */
  writer(read: number): number {
    const write = this.write.at(read);
    return write === NONE ? NONE : this.#history.opTx.at(write);
  }

  #resolveAll(): void {
    for (let tx = 0; tx < this.#history.size; tx++) {
      if (this.#history.txStatus[tx] !== 'committed') continue;
      this.included[tx] = 1;
      this.#resolve(tx);
    }
    // Unknown transactions that turned out to have happened; their reads may prove the same of others.
    for (let tx = this.#queue.pop(); tx !== undefined; tx = this.#queue.pop()) this.#resolve(tx);
  }

  #resolve(tx: number): void {
    const { opStart, opKind, opKey } = this.#history;
    this.from[tx] = this.write.length;
    for (let op = opStart.at(tx); op < opStart.at(tx + 1); op++) {
      const key = opKey.at(op);
      if (opKind.at(op) !== READ) {
        this.#ownTx[key] = tx;
        this.#ownOp[key] = op;
      } else if (this.#ownTx[key] === tx) this.#checkOwn(tx, op, this.#ownOp[key]!);
      else if (this.#seenTx[key] === tx) this.#checkRepeated(tx, op, this.#seenOp[key]!);
      else {
        this.#seenTx[key] = tx;
        this.#seenOp[key] = op;
        this.#resolveRead(tx, key, op);
      }
    }
    this.to[tx] = this.write.length;
  }

  #checkOwn(tx: number, op: number, own: number): void {
    if (this.#history.opValue[op] === this.#history.opValue[own]) return;
    const w = this.#words;
    const label = w.label(tx);
    this.#findings.add(() =>
      w.local(
        'internal-consistency',
        `${label} wrote ${w.assignment(own)} and then read ${w.assignment(op)} in the same transaction.`,
        tx,
      ),
    );
  }

  #checkRepeated(tx: number, op: number, first: number): void {
    const { opValue, writerOf, opKey, opTx } = this.#history;
    const value = opValue[op]!;
    if (value === opValue[first]) return;
    const write = value === null ? undefined : writerOf[opKey.at(op)]!.get(value);
    // Its own write, listed behind the read.
    if (write !== undefined && opTx.at(write) === tx) return;
    const w = this.#words;
    this.#findings.add(() =>
      w.local(
        'non-repeatable-read',
        `${w.label(tx)} read ${w.assignment(first)} and later ${w.assignment(op)} in the same transaction.`,
        tx,
      ),
    );
  }

  #resolveRead(tx: number, key: number, op: number): void {
    const value = this.#history.opValue[op]!;
    if (value === null) {
      this.#keep(tx, key, NONE);
      return;
    }
    const write = this.#history.writerOf[key]!.get(value);
    const w = this.#words;
    if (write === undefined) {
      this.#findings.add(() =>
        w.local('thin-air-read', `${w.label(tx)} read ${w.assignment(op)}, which nobody wrote.`, tx),
      );
      return;
    }
    const writer = this.#history.opTx.at(write);
    // A recorder may list all reads before all writes; the read of an own write then stands in front of it.
    if (writer === tx) return;
    if (this.#isDirty(tx, op, write, writer)) return;
    this.#include(writer);
    this.#keep(tx, key, write);
  }

  /** Whether the write seen must never be seen. */
  #isDirty(tx: number, op: number, write: number, writer: number): boolean {
    const w = this.#words;
    if (this.#history.txStatus[writer] === 'aborted') {
      this.#findings.add(() =>
        w.local(
          'aborted-read',
          `${w.label(tx)} read ${w.assignment(op)}, written by ${w.label(writer)}, which was aborted.`,
          tx,
          writer,
        ),
      );
      return true;
    }
    if (this.#history.opKind.at(write) === FINAL) return false;
    const last = this.#history.finalWrite(writer, this.#history.opKey.at(op));
    this.#findings.add(() =>
      w.local(
        'intermediate-read',
        `${w.label(tx)} read ${w.assignment(op)}, which its writer ${w.label(writer)} overwrote with ${w.value(last)} before it committed.`,
        tx,
        writer,
      ),
    );
    return true;
  }

  #include(writer: number): void {
    if (this.included[writer] === 1) return;
    if (this.#history.txStatus[writer] !== 'unknown') return;
    this.included[writer] = 1;
    this.observedUnknown++;
    this.#queue.push(writer);
  }

  #keep(tx: number, key: number, write: number): void {
    this.tx.push(tx);
    this.key.push(key);
    this.write.push(write);
  }
}

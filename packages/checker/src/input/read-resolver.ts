import type { Labels } from '../explanation/labels.js';
import type { Findings, ViolationName } from '../explanation/violations.js';
import type { Guarantee } from '../rules/guarantees.js';
import { FINAL, type IndexedHistory, NONE, READ } from './indexed-history.js';
import { IntList } from './ints.js';
import { Reads } from './reads.js';

/**
 * Finds the transactions that count, and the write that each of their reads saw. Reports every read that is wrong by
 * itself.
 *
 * Committed transactions count. An unknown one counts when a transaction that counts read from it; otherwise, like an
 * aborted one, it is left out together with its reads: no client got a guarantee for it.
 */
export class ReadResolver {
  /** 1 for transactions that count. */
  readonly included: Uint8Array;
  readonly reads: Reads;
  observedUnknown = 0;

  readonly #history: IndexedHistory;
  readonly #findings: Findings;
  readonly #labels: Labels;
  readonly #tx = new IntList();
  readonly #key = new IntList();
  readonly #write = new IntList();
  readonly #from: Int32Array;
  readonly #to: Int32Array;
  readonly #queue: number[] = [];
  /** Per key, the last transaction that wrote or read it here, and with which operation. */
  readonly #ownTx: Int32Array;
  readonly #ownOp: Int32Array;
  readonly #seenTx: Int32Array;
  readonly #seenOp: Int32Array;

  constructor(history: IndexedHistory, findings: Findings, labels: Labels) {
    this.#history = history;
    this.#findings = findings;
    this.#labels = labels;
    this.included = new Uint8Array(history.size);
    this.#from = new Int32Array(history.size);
    this.#to = new Int32Array(history.size);
    const keys = history.keys.length;
    this.#ownTx = new Int32Array(keys).fill(NONE);
    this.#ownOp = new Int32Array(keys);
    this.#seenTx = new Int32Array(keys).fill(NONE);
    this.#seenOp = new Int32Array(keys);
    this.#resolveAll();
    this.reads = new Reads(history, this.#tx, this.#key, this.#write.view(), this.#from, this.#to);
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
    this.#from[tx] = this.#write.length;
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
        const write = this.#writeSeen(tx, op);
        if (write !== undefined) this.#keep(tx, key, write);
      }
    }
    this.#to[tx] = this.#write.length;
  }

  #checkOwn(tx: number, op: number, own: number): void {
    if (this.#history.opValue[op] === this.#history.opValue[own]) return;
    const w = this.#labels;
    const what = `${w.label(tx)} wrote ${w.assignment(own)} and then read ${w.assignment(op)} in the same transaction.`;
    this.#report('internal-consistency', 'internal-consistency', op, what, tx);
    this.#writeSeen(tx, op);
  }

  #checkRepeated(tx: number, op: number, first: number): void {
    const { opValue, writerOf, opKey, opTx } = this.#history;
    const value = opValue[op]!;
    if (value === opValue[first]) return;
    const write = value === null ? undefined : writerOf[opKey.at(op)]!.get(value);
    // Its own write, listed behind the read.
    if (write !== undefined && opTx.at(write) === tx) return;
    const w = this.#labels;
    const what = `${w.label(tx)} read ${w.assignment(first)} and later ${w.assignment(op)} in the same transaction.`;
    this.#report('internal-consistency', 'non-repeatable-read', op, what, tx);
    this.#writeSeen(tx, op);
  }

  /** The write that a read saw, `NONE` for null; undefined when the read needs no further judgement. */
  #writeSeen(tx: number, op: number): number | undefined {
    const key = this.#history.opKey.at(op);
    const value = this.#history.opValue[op]!;
    if (value === null) return NONE;
    const write = this.#history.writerOf[key]!.get(value);
    if (write === undefined) {
      const what = `${this.#labels.sees(tx)} ${this.#labels.assignment(op)}, which no transaction wrote.`;
      this.#report('no-thin-air-reads', 'thin-air-read', op, what, tx);
      return undefined;
    }
    const writer = this.#history.opTx.at(write);
    // A recorder may list all reads before all writes; the read of an own write then stands in front of it.
    return writer === tx || this.#isDirty(tx, op, write, writer) ? undefined : write;
  }

  /** Whether no read may see this write. */
  #isDirty(tx: number, op: number, write: number, writer: number): boolean {
    const w = this.#labels;
    if (this.#history.txStatus[writer] === 'aborted') {
      const what = `${w.sees(tx)} ${w.assignment(op)}, written by ${w.label(writer)}, which was aborted.`;
      this.#report('no-aborted-reads', 'aborted-read', op, what, tx, writer);
      return true;
    }
    this.#include(writer);
    if (this.#history.opKind.at(write) === FINAL) return false;
    const last = this.#history.finalWrite(writer, this.#history.opKey.at(op));
    const overwrite = `${w.label(writer)} overwrote with ${w.value(last)} before it committed.`;
    const what = `${w.sees(tx)} ${w.assignment(op)}, which its writer ${overwrite}`;
    this.#report('no-intermediate-reads', 'intermediate-read', op, what, tx, writer);
    return true;
  }

  #report(breaks: Guarantee, name: ViolationName, op: number, message: string, ...txs: number[]): void {
    this.#findings.add([breaks], () => this.#labels.local(name, this.#history.opKey.at(op), message, ...txs));
  }

  #include(writer: number): void {
    if (this.included[writer] === 1 || this.#history.txStatus[writer] !== 'unknown') return;
    this.included[writer] = 1;
    this.observedUnknown++;
    this.#queue.push(writer);
  }

  #keep(tx: number, key: number, write: number): void {
    this.#tx.push(tx);
    this.#key.push(key);
    this.#write.push(write);
  }
}

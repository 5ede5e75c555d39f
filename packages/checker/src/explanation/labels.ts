import { quote } from '../input/history.js';
import { type IndexedHistory, NONE } from '../input/indexed-history.js';
import type { Counterexample, TransactionRef, ViolationName } from './violations.js';

/** Turns numbers of an indexed history back into names and sentences. */
export class Labels {
  readonly #history: IndexedHistory;

  constructor(history: IndexedHistory) {
    this.#history = history;
  }

  ref(tx: number): TransactionRef {
    const { sessions, txSession, txSeq, txOp, txName, txStatus, txLine, final } = this.#history;
    const op = txOp.at(tx);
    return {
      session: sessions[txSession.at(tx)]!,
      seq: txSeq[tx]!,
      op: op === NONE ? null : op,
      tx: txName[tx]!,
      status: tx === final ? 'final-state' : txStatus[tx]!,
      line: txLine.at(tx),
    };
  }

  /** `c1#4`: the transaction of session c1 with seq 4; `c1#4[2]`: its third operation, where that stands by itself. */
  label(tx: number): string {
    const { txSeq, txOp, final } = this.#history;
    if (tx === final) return 'the final state';
    const op = txOp.at(tx);
    return `${this.session(tx)}#${txSeq[tx]}${op === NONE ? '' : `[${op}]`}`;
  }

  /** `c1#4 read`, `the final state holds`: the name of a read. */
  sees(tx: number): string {
    return `${this.label(tx)} ${tx === this.#history.final ? 'holds' : 'read'}`;
  }

  session(tx: number): string {
    return quote(this.#history.sessions[this.#history.txSession.at(tx)]!).slice(1, -1);
  }

  /** The key as it is. */
  keyName(key: number): string {
    return this.#history.keys[key]!;
  }

  /** The key for a message. */
  key(key: number): string {
    return quote(this.#history.keys[key]!);
  }

  /** `"x" = "v"`, the key and value of an operation. */
  assignment(op: number): string {
    return `${this.key(this.#history.opKey.at(op))} = ${this.value(op)}`;
  }

  isDelete(op: number): boolean {
    return this.#history.opValue[op] === null;
  }

  value(op: number): string {
    const value = this.#history.opValue[op]!;
    return value === null ? 'null' : quote(value);
  }

  /** A counterexample without a cycle. */
  local(name: ViolationName, key: number, message: string, ...txs: number[]): Counterexample {
    const transactions = txs.map((tx) => this.ref(tx));
    const sessions = [...new Set(transactions.map(({ session }) => session))];
    return { name, message, keys: [this.#history.keys[key]!], sessions, transactions, cycle: [] };
  }
}

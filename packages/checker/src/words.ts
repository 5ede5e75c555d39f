import { quote } from './history.js';
import type { IndexedHistory } from './indexed.js';
import type { TransactionRef, Violation, ViolationName } from './violations.js';

/** Turns numbers of an indexed history back into names and sentences. */
export class Words {
  readonly #history: IndexedHistory;

  constructor(history: IndexedHistory) {
    this.#history = history;
  }

  ref(tx: number): TransactionRef {
    const { sessions, txSession, txSeq, txName, txStatus } = this.#history;
    return {
      session: sessions[txSession.at(tx)]!,
      seq: txSeq[tx]!,
      tx: txName[tx]!,
      status: txStatus[tx]!,
      line: tx + 1,
    };
  }

  /** `c1#4`: the fifth transaction of session c1. */
  label(tx: number): string {
    const { sessions, txSession, txSeq } = this.#history;
    return `${quote(sessions[txSession.at(tx)]!).slice(1, -1)}#${txSeq[tx]}`;
  }

  session(tx: number): string {
    return quote(this.#history.sessions[this.#history.txSession.at(tx)]!).slice(1, -1);
  }

  key(key: number): string {
    return quote(this.#history.keys[key]!);
  }

  /** `"x" = "v"`, the key and value of an operation. */
  assignment(op: number): string {
    return `${this.key(this.#history.opKey.at(op))} = ${this.value(op)}`;
  }

  value(op: number): string {
    const value = this.#history.opValue[op]!;
    return value === null ? 'null' : quote(value);
  }

  /** A violation without a cycle. */
  local(name: ViolationName, message: string, ...txs: number[]): Violation {
    return { name, message, transactions: txs.map((tx) => this.ref(tx)), cycle: [] };
  }
}

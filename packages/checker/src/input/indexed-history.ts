import type { Unit } from '../rules/guarantees.js';
import { type FinalValue, HistoryError, type Op, quote, type Status, type Transaction } from './history.js';
import { IntList } from './ints.js';

/** Kind of an operation: only the last write of a key in a transaction is visible to the others. */
export const READ = 0;
export const OVERWRITTEN = 1;
export const FINAL = 2;

/** No transaction, no write: the source of a read of `null` without another explanation. */
export const NONE = -1;

/**
 * A history with numbers for names: transactions, sessions, keys and operations are positions in flat lists, which
 * keeps a million transactions in memory. Transactions keep the order of the file.
 *
 * The final state of the replicas comes last, as one more transaction that reads everything.
 */
export class IndexedHistory {
  readonly sessions: string[] = [];
  readonly keys: string[] = [];

  readonly txSession = new IntList();
  readonly txSeq: number[] = [];
  readonly txName: string[] = [];
  readonly txStatus: Status[] = [];
  readonly txLine = new IntList();
  /** The position in `ops` of an operation that counts as a transaction by itself; `NONE` for whole transactions. */
  readonly txOp = new IntList();
  /** First operation of each transaction; one more entry marks the end of the last. */
  readonly opStart = new IntList();

  readonly opTx = new IntList();
  readonly opKey = new IntList();
  readonly opKind = new IntList();
  readonly opValue: (string | null)[] = [];

  /** Per key: the write of each value that is not null. */
  readonly writerOf: Map<string, number>[] = [];

  /** The transaction that represents the final state, or `NONE`. */
  final = NONE;

  readonly #unit: Unit;
  readonly #sessionIds = new Map<string, number>();
  readonly #keyIds = new Map<string, number>();
  readonly #lastSeq: number[] = [];
  /** Per key, the last transaction that was found to write it. */
  readonly #lastWriter: number[] = [];

  constructor(unit: Unit = 'transaction') {
    this.#unit = unit;
    this.opStart.push(0);
  }

  /** Number of transactions. */
  get size(): number {
    return this.txSeq.length;
  }

  /**
   * Adds the next transaction of the history, from line `line`. After an error the index is unusable.
   * @throws HistoryError when `seq` does not ascend in its session, or a value is written to the same key twice
   */
  add(transaction: Transaction, line: number): void {
    const session = this.#sessionId(transaction.session);
    this.#advanceSeq(session, transaction, line);
    const { ops } = transaction;
    if (!this.#isTakenApart(ops)) this.#addUnit(transaction, session, line, ops, NONE);
    else for (let i = 0; i < ops.length; i++) this.#addUnit(transaction, session, line, [ops[i]!], i);
  }

  /** Adds the final state, last of all. `line` is where it begins in the file. */
  addFinalState(values: readonly FinalValue[], line: number): void {
    const session = this.sessions.push('final state') - 1;
    const head = { session: 'final state', seq: 0, tx: 'final state', status: 'committed' } as const;
    const ops = values.map(({ k, v }): Op => ({ f: 'r', k, v }));
    this.final = this.size;
    this.#addUnit({ ...head, ops }, session, line, ops, NONE);
  }

  /** The number of a key that the history names. */
  keyNumber(name: string): number {
    return this.#keyIds.get(name)!;
  }

  /** The last write of a key in a transaction that writes it. */
  finalWrite(tx: number, key: number): number {
    return this.finalWrites(tx).find((op) => this.opKey.at(op) === key)!;
  }

  /** Whether a transaction writes a key. */
  writes(tx: number, key: number): boolean {
    return this.finalWrites(tx).some((op) => this.opKey.at(op) === key);
  }

  /** The last write of each key of a transaction. */
  finalWrites(tx: number): number[] {
    const ops: number[] = [];
    for (let op = this.opStart.at(tx); op < this.opStart.at(tx + 1); op++) {
      if (this.opKind.at(op) === FINAL) ops.push(op);
    }
    return ops;
  }

  #isTakenApart(ops: readonly Op[]): boolean {
    if (this.#unit === 'transaction' || ops.length < 2) return false;
    return this.#unit === 'operation' || ops.some(({ f }) => f === 'w');
  }

  #addUnit(
    { seq, tx: name, status }: Transaction,
    session: number,
    line: number,
    ops: readonly Op[],
    op: number,
  ): void {
    const tx = this.size;
    this.txSession.push(session);
    this.txSeq.push(seq);
    this.txName.push(name);
    this.txStatus.push(status);
    this.txLine.push(line);
    this.txOp.push(op);
    for (const one of ops) this.#addOp(one, tx, line);
    this.opStart.push(this.opTx.length);
    this.#markFinalWrites(tx);
  }

  #addOp({ f, k, v }: Op, tx: number, line: number): void {
    const key = this.#keyId(k);
    if (f === 'w' && v !== null) this.#claimValue(key, v, line);
    this.opTx.push(tx);
    this.opKey.push(key);
    this.opKind.push(f === 'r' ? READ : OVERWRITTEN);
    this.opValue.push(v);
  }

  #advanceSeq(id: number, { session, seq }: Transaction, line: number): void {
    const last = this.#lastSeq[id]!;
    if (seq <= last) {
      throw new HistoryError(line, `session ${quote(session)} goes from seq ${last} to ${seq}; seq must ascend`);
    }
    this.#lastSeq[id] = seq;
  }

  #claimValue(key: number, value: string, line: number): void {
    const writers = this.writerOf[key]!;
    const other = writers.get(value);
    if (other !== undefined) {
      const otherLine = this.txLine.at(this.opTx.at(other));
      const where = otherLine === line ? 'this line' : `line ${otherLine}`;
      throw new HistoryError(
        line,
        `value ${quote(value)} was written to key ${quote(this.keys[key]!)} before (${where}); written values must be unique`,
      );
    }
    writers.set(value, this.opTx.length);
  }

  #markFinalWrites(tx: number): void {
    const start = this.opStart.at(tx);
    for (let op = this.opStart.at(tx + 1) - 1; op >= start; op--) {
      const key = this.opKey.at(op);
      if (this.opKind.at(op) === READ || this.#lastWriter[key] === tx) continue;
      this.#lastWriter[key] = tx;
      this.opKind.set(op, FINAL);
    }
  }

  #sessionId(name: string): number {
    let id = this.#sessionIds.get(name);
    if (id === undefined) {
      id = this.sessions.push(name) - 1;
      this.#sessionIds.set(name, id);
      this.#lastSeq.push(-1);
    }
    return id;
  }

  #keyId(name: string): number {
    let id = this.#keyIds.get(name);
    if (id === undefined) {
      id = this.keys.push(name) - 1;
      this.#keyIds.set(name, id);
      this.writerOf.push(new Map());
      this.#lastWriter.push(NONE);
    }
    return id;
  }
}

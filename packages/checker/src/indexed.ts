import { HistoryError, quote, type Status, type Transaction } from './history.js';
import { IntList } from './ints.js';

/** Kind of an operation: only the last write of a key in a transaction is what the others may see. */
export const READ = 0;
export const OVERWRITTEN = 1;
export const FINAL = 2;

/** No transaction, no write: where a read of `null` comes from when nothing else explains it. */
export const NONE = -1;

/**
 * A history with numbers for names: transactions, sessions, keys and operations are positions in flat lists, which is what
 * keeps a million transactions in memory. Transactions keep the order of the file, so transaction `t` is line `t + 1`.
 */
export class IndexedHistory {
  readonly sessions: string[] = [];
  readonly keys: string[] = [];

  readonly txSession = new IntList();
  readonly txSeq: number[] = [];
  readonly txName: string[] = [];
  readonly txStatus: Status[] = [];
  /** First operation of each transaction; one more entry marks the end of the last. */
  readonly opStart = new IntList();

  readonly opTx = new IntList();
  readonly opKey = new IntList();
  readonly opKind = new IntList();
  readonly opValue: (string | null)[] = [];

  /** Per key: the write of each value that is not null. */
  readonly writerOf: Map<string, number>[] = [];
  /** Per key: final writes of null (deletes). */
  readonly tombstonesOf: number[][] = [];

  readonly #sessionIds = new Map<string, number>();
  readonly #keyIds = new Map<string, number>();
  readonly #lastSeq: number[] = [];
  /** Per key, the last transaction that was found to write it. */
  readonly #lastWriter: number[] = [];

  constructor() {
    this.opStart.push(0);
  }

  /** Number of transactions. */
  get size(): number {
    return this.txSeq.length;
  }

  /**
   * Takes the next line of the history. After an error the index is of no more use.
   * @throws HistoryError when `seq` does not ascend in its session, or a value is written to the same key twice
   */
  add(transaction: Transaction): void {
    const tx = this.size;
    this.#addHead(transaction, tx);
    for (const { f, k, v } of transaction.ops) {
      const key = this.#keyId(k);
      if (f === 'w' && v !== null) this.#claimValue(key, v, tx);
      this.opTx.push(tx);
      this.opKey.push(key);
      this.opKind.push(f === 'r' ? READ : OVERWRITTEN);
      this.opValue.push(v);
    }
    this.opStart.push(this.opTx.length);
    this.#markFinalWrites(tx);
  }

  /** The last write of a key in a transaction that writes it. */
  finalWrite(tx: number, key: number): number {
    let op = this.opStart.at(tx + 1) - 1;
    while (this.opKey.at(op) !== key || this.opKind.at(op) !== FINAL) op--;
    return op;
  }

  #addHead({ session, seq, tx: name, status }: Transaction, tx: number): void {
    const id = this.#sessionId(session);
    const last = this.#lastSeq[id]!;
    if (seq <= last) {
      throw new HistoryError(tx + 1, `session ${quote(session)} goes from seq ${last} to ${seq}; seq must ascend`);
    }
    this.#lastSeq[id] = seq;
    this.txSession.push(id);
    this.txSeq.push(seq);
    this.txName.push(name);
    this.txStatus.push(status);
  }

  #claimValue(key: number, value: string, tx: number): void {
    const writers = this.writerOf[key]!;
    const other = writers.get(value);
    if (other !== undefined) {
      const where = this.opTx.at(other) === tx ? 'this line' : `line ${this.opTx.at(other) + 1}`;
      throw new HistoryError(
        tx + 1,
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
      if (this.opValue[op] === null) this.tombstonesOf[key]!.push(op);
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
      this.tombstonesOf.push([]);
      this.#lastWriter.push(NONE);
    }
    return id;
  }
}

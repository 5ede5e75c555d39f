import { invariant } from '@isochron/core';

/**
 * One operation as the client saw it. `v` is the value read or written; `null` is *no version* for a read and a delete
 * for a write.
 */
export interface HistoryOp {
  readonly f: 'r' | 'w';
  readonly k: string;
  readonly v: string | null;
}

/**
 * The outcome of a transaction for its client. `unknown`: the commit was sent and its outcome never received, so it may
 * take effect at any later time.
 */
export type HistoryStatus = 'committed' | 'aborted' | 'unknown';

/** One line of a history file. Lines of one session are in session order; sessions may be interleaved. */
export interface HistoryLine {
  readonly session: string;
  /** Position in the session, from 0. */
  readonly seq: number;
  readonly tx: string;
  readonly status: HistoryStatus;
  readonly ops: readonly HistoryOp[];
}

/**
 * The receiver of lines: any object with `write`, such as a Node stream. It gets one line with its newline at a time.
 */
export interface HistorySink {
  write(line: string): unknown;
}

/** A value of no other session and counter: the checker finds a read's writer by it. */
export const uniqueValue = (session: string, counter: number): string => `${session}:${counter}`;

/**
 * Records the operations and outcomes of clients, one JSON line per finished transaction.
 *
 * Give it a stream, or an array that it fills with lines without newlines. It never waits: a stream that is slower than
 * the clients buffers in memory.
 */
export class HistoryRecorder {
  readonly #emit: (line: string) => void;
  readonly #sessions = new Map<string, SessionRecorder>();

  constructor(target: HistorySink | string[]) {
    this.#emit = Array.isArray(target) ? (line) => target.push(line) : (line) => target.write(`${line}\n`);
  }

  /**
   * Starts a session. Its transactions must follow one another: a client that keeps several open at a time has no
   * session order between them and records each line of work as a session of its own.
   * @throws InvariantViolation when the name is taken
   */
  session(name: string): SessionRecorder {
    invariant(name !== '' && !this.#sessions.has(name), () => `session "${name}" is empty or already recorded`);
    const session = new SessionRecorder(name, (line) => this.#emit(JSON.stringify(line)));
    this.#sessions.set(name, session);
    return session;
  }

  /** Ends the recording: transactions still open are recorded as `unknown`, since their commit may be on its way. */
  close(): void {
    for (const session of this.#sessions.values()) session.close();
  }
}

/** The transactions of one session, one after the other. */
export class SessionRecorder {
  readonly #emit: (line: HistoryLine) => void;
  #seq = 0;
  #values = 0;
  #open: TransactionRecorder | undefined;

  constructor(
    readonly name: string,
    emit: (line: HistoryLine) => void,
  ) {
    this.#emit = emit;
  }

  /**
   * Starts a transaction. `tx` may be given here or when it ends; without one it is `<session>#<seq>`.
   * @throws InvariantViolation while another one of this session is open
   */
  begin(tx?: string): TransactionRecorder {
    invariant(this.#open === undefined, () => `session "${this.name}" already has an open transaction`);
    const seq = this.#seq++;
    this.#open = new TransactionRecorder((status, ops, id) => {
      this.#open = undefined;
      this.#emit({ session: this.name, seq, tx: id ?? tx ?? `${this.name}#${seq}`, status, ops });
    });
    return this.#open;
  }

  /** A value for the next write, unique in the whole history. */
  nextValue(): string {
    return uniqueValue(this.name, this.#values++);
  }

  /** Ends the session: an open transaction is recorded as `unknown`. */
  close(): void {
    this.#open?.unknown();
  }
}

/**
 * One transaction while it runs. Operations are kept in the order of the calls, so that a read after an own write can
 * be judged; a client of the paper's mixes reads first and writes then. Every method throws InvariantViolation once it
 * ended.
 */
export class TransactionRecorder {
  readonly #finish: (status: HistoryStatus, ops: readonly HistoryOp[], tx: string | undefined) => void;
  readonly #ops: HistoryOp[] = [];
  #ended = false;

  constructor(finish: (status: HistoryStatus, ops: readonly HistoryOp[], tx: string | undefined) => void) {
    this.#finish = finish;
  }

  /** The result of a read; null when there was no version. */
  read(key: string, value: string | null): this {
    return this.#add({ f: 'r', k: key, v: value });
  }

  /** A written value; null for a delete. */
  write(key: string, value: string | null): this {
    return this.#add({ f: 'w', k: key, v: value });
  }

  /** The cluster reported that it committed. */
  committed(tx?: string): void {
    this.#end('committed', tx);
  }

  /** It certainly never takes effect: the client gave up before the commit, or the cluster reported an abort. */
  aborted(tx?: string): void {
    this.#end('aborted', tx);
  }

  /** The commit was sent and no outcome was received. */
  unknown(tx?: string): void {
    this.#end('unknown', tx);
  }

  #add(op: HistoryOp): this {
    invariant(!this.#ended, 'the transaction has already ended');
    this.#ops.push(op);
    return this;
  }

  #end(status: HistoryStatus, tx: string | undefined): void {
    invariant(!this.#ended, 'the transaction has already ended');
    this.#ended = true;
    this.#finish(status, this.#ops, tx);
  }
}

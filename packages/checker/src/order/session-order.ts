import { type IndexedHistory, NONE } from '../input/indexed-history.js';
import { type Groups, groupBy } from '../input/ints.js';

/**
 * Session order among the transactions that count.
 *
 * An unknown transaction follows the earlier commits of its session, and precedes none: its commit may take effect
 * after any later one of its session.
 */
export class SessionOrder {
  /** Transactions of each session, in order. */
  readonly members: Groups;
  /** Position of a transaction in its session. */
  readonly rank: Int32Array;
  /** The committed transaction right before it in its session, or `NONE`. */
  readonly prev: Int32Array;
  /** The number of an unknown transaction among the unknown ones that count; `NONE` for the others. */
  readonly indeterminateId: Int32Array;
  readonly indeterminateCount: number;
  /** The transaction that represents the final state: it comes after every other. `NONE` without final states. */
  readonly final: number;

  readonly #history: IndexedHistory;

  constructor(history: IndexedHistory, included: Uint8Array) {
    this.#history = history;
    const sessionOf = history.txSession.view().map((session, tx) => (included[tx] === 1 ? session : NONE));
    this.members = groupBy(sessionOf, history.sessions.length);
    this.rank = new Int32Array(history.size);
    this.prev = new Int32Array(history.size).fill(NONE);
    this.indeterminateId = new Int32Array(history.size).fill(NONE);
    this.indeterminateCount = this.#walkSessions();
    this.final = history.final;
  }

  #walkSessions(): number {
    const { starts, items } = this.members;
    let indeterminate = 0;
    for (let session = 0; session + 1 < starts.length; session++) {
      let last = NONE;
      for (let i = starts[session]!; i < starts[session + 1]!; i++) {
        const tx = items[i]!;
        this.rank[tx] = i - starts[session]!;
        this.prev[tx] = last;
        if (this.#history.txStatus[tx] === 'unknown') this.indeterminateId[tx] = indeterminate++;
        else last = tx;
      }
    }
    return indeterminate;
  }

  /** The session of a transaction. */
  sessionOf(tx: number): number {
    return this.#history.txSession.at(tx);
  }

  /** How many transactions a session has. */
  countOf(session: number): number {
    return this.members.starts[session + 1]! - this.members.starts[session]!;
  }

  /** Whether others of its session may come after it. */
  isOrdered(tx: number): boolean {
    return this.indeterminateId[tx] === NONE;
  }

  /** The transaction at a position of a session. */
  at(session: number, rank: number): number {
    return this.members.items[this.members.starts[session]! + rank]!;
  }
}

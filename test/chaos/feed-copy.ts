/** A copy of the data, made of the messages of a change feed, each of which must follow the one before. */
import type { Timestamp } from '@isochron/core';
import type { ChangedTransaction, ChangesMessage } from '@isochron/sdk';

export class FeedCopy {
  readonly documents = new Map<string, unknown>();
  /** The position behind the last message. */
  cursor: string | undefined;
  /** Transactions so far. */
  transactions = 0;
  readonly #wrong: (what: string) => void;
  #last: Pick<ChangedTransaction, 'timestamp' | 'id'> = { timestamp: 0, id: '' };
  #to: Timestamp | undefined;

  /** @param wrong called with what is wrong in a message */
  constructor(wrong: (what: string) => void) {
    this.#wrong = wrong;
  }

  take({ from, to, cursor, transactions }: ChangesMessage): void {
    if (this.#to !== undefined && from !== this.#to) this.#wrong(`is at ${this.#to}, and a message begins at ${from}`);
    for (const one of transactions) {
      this.#checkPlace(one, from, to);
      this.#last = one;
      for (const { key, value } of one.writes) {
        if (value === undefined) this.documents.delete(key);
        else this.documents.set(key, value);
      }
    }
    this.transactions += transactions.length;
    this.#to = to;
    this.cursor = cursor;
  }

  /** Each transaction once, in the order of timestamps and ids. */
  #checkPlace({ timestamp, id }: ChangedTransaction, from: Timestamp, to: Timestamp): void {
    const last = this.#last;
    const isLater = timestamp > last.timestamp || (timestamp === last.timestamp && id > last.id);
    if (!isLater || timestamp <= from || timestamp > to)
      this.#wrong(`received ${id} of ${timestamp} after ${last.id} of ${last.timestamp}, in (${from}, ${to}]`);
  }
}

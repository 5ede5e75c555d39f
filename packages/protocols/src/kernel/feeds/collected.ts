/** What an answer consists of, while it is collected: transactions, or the net contents of keys (LQ4). */
import type { Content, QualifiedKey, Timestamp, TxId } from '@isochron/core';
import { contentLength, Update } from '@isochron/core';
import type { ChangedTx, KeyChanges } from './messages.js';
import { changeBytes } from './pages.js';

export interface Collected {
  /** Estimated size. */
  readonly bytes: number;
  readonly isEmpty: boolean;
  /** Adds a transaction that comes after all others in the total order. */
  add(tx: ChangedTx): void;
}

/** The transactions themselves. */
export class CollectedTransactions implements Collected {
  readonly transactions: ChangedTx[] = [];
  bytes = 0;

  get isEmpty(): boolean {
    return this.transactions.length === 0;
  }

  add(tx: ChangedTx): void {
    this.transactions.push(tx);
    this.bytes += changeBytes({ tx });
  }
}

/** Times of replaced contents of one key: a reader that needs more of them reads anew. */
const MAX_REPLACED = 65;

interface CommittedWrite {
  readonly ct: Timestamp;
  readonly txId: TxId;
  readonly content: Content;
}

/**
 * For each key the contents from its newest put or delete on, or all its updates where it has neither: what a reader
 * has to fold into its document (F1), and nothing that a later put replaces.
 */
export class NetContents implements Collected {
  readonly #of = new Map<QualifiedKey, CommittedWrite[]>();
  readonly #replaced = new Map<QualifiedKey, Timestamp[]>();
  bytes = 0;

  get isEmpty(): boolean {
    return this.#of.size === 0;
  }

  /** In the order in which the keys were first written. */
  get changes(): KeyChanges[] {
    return [...this.#of].map(([key, contents]) => ({ key, contents, replaced: this.#replaced.get(key) }));
  }

  add({ ct, txId, writes }: ChangedTx): void {
    for (const { key, value: content } of writes) {
      const known = this.#of.get(key);
      const written = { ct, txId, content };
      this.bytes += bytesOf(key, content);
      if (known !== undefined && content instanceof Update) known.push(written);
      else {
        for (const one of known ?? []) this.bytes -= bytesOf(key, one.content);
        if (known !== undefined) this.#replace(key, known);
        this.#of.set(key, [written]);
      }
    }
  }

  #replace(key: QualifiedKey, contents: readonly CommittedWrite[]): void {
    const replaced = this.#replaced.get(key) ?? [];
    this.#replaced.set(key, [...replaced, ...contents.map(({ ct }) => ct)].slice(0, MAX_REPLACED));
  }
}

const bytesOf = (key: QualifiedKey, content: Content): number => 64 + key.length + contentLength(content);

/**
 * Adds transactions, and ends with the group with which the estimated size reaches the limit: a position is a
 * timestamp, so all transactions of one are in one answer (CF1).
 *
 * @param transactions all up to `end`, in order
 * @returns the timestamp up to which everything is collected
 */
export function collect(
  into: Collected,
  transactions: readonly ChangedTx[],
  end: Timestamp,
  limitBytes: number,
): Timestamp {
  let last: Timestamp | undefined;
  for (const tx of transactions) {
    if (last !== undefined && tx.ct !== last && into.bytes >= limitBytes) return last;
    into.add(tx);
    last = tx.ct;
  }
  return end;
}

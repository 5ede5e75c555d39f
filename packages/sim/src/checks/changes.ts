import { type NodeId, type Timestamp, type TxId, Update } from '@isochron/core';
import type { ChangedTx } from '@isochron/protocols';
import type { ChangesAnswer, FeedObserver } from '../clients/feed-reader.js';
import type { Check, CheckContext } from './check.js';
import type { Committed, Ledger, LedgerListener } from './ledger.js';

/**
 * The change feed is complete, in order and whole (CF1): a message has exactly the transactions that are committed in
 * its range, each with all its writes, and none is committed at or below its end later. Messages of a reader follow one
 * another without a gap, over all nodes (CF2). Damaged transactions may be there or not.
 */
export class ChangesAreComplete implements Check, LedgerListener, FeedObserver {
  readonly name = 'changes-are-complete';
  readonly #committed = new Map<TxId, Committed>();
  readonly #positions = new Map<string, Timestamp>();
  #lostData = false;
  /** The lowest beginning and the highest end of all messages. */
  #from = Number.POSITIVE_INFINITY;
  #to: Timestamp = 0;

  constructor(
    readonly context: CheckContext,
    readonly ledger: Ledger,
    /** Whether no cursor of a run can be older than the retention. */
    readonly keepsAll: boolean,
  ) {
    ledger.listen(this);
  }

  onCommitted(tx: Committed): void {
    this.#committed.set(tx.txId, tx);
    if (tx.ct > this.#from && tx.ct <= this.#to && !this.#isUncertain(tx.txId))
      this.#fail(`${tx.txId} is committed at ${tx.ct}, and the feed has passed ${this.#to}`, [tx.txId]);
  }

  onDataLoss(): void {
    this.#lostData = true;
  }

  beganFeed(reader: string, at: Timestamp, gone: boolean): void {
    if (gone && this.keepsAll && !this.#lostData) this.#fail(`the cursor of ${reader} was refused as gone`, [reader]);
    this.#positions.set(reader, at);
  }

  received(reader: string, node: NodeId, { from, to, transactions }: ChangesAnswer): void {
    const position = this.#positions.get(reader);
    if (from !== position) this.#fail(`${node} goes on at ${from} for ${reader}, which is at ${position}`, [node]);
    this.#positions.set(reader, to);
    this.#from = Math.min(this.#from, from);
    this.#to = Math.max(this.#to, to);
    this.#inOrder(node, from, to, transactions);
    for (const tx of transactions) this.#whole(node, tx);
    const given = new Set(transactions.map(({ txId }) => txId));
    for (const { txId, ct } of this.#committed.values())
      if (ct > from && ct <= to && !given.has(txId) && !this.#isUncertain(txId))
        this.#fail(`${node} leaves ${txId} of ${ct} out of (${from}, ${to}]`, [txId, node]);
  }

  #inOrder(node: NodeId, from: Timestamp, to: Timestamp, transactions: readonly ChangedTx[]): void {
    let [last, lastId] = [from, '￿'];
    for (const { txId, ct } of transactions) {
      if (ct > to || ct < last || (ct === last && txId <= lastId))
        this.#fail(`${node} gives ${txId} of ${ct} after ${lastId} of ${last}, in (${from}, ${to}]`, [txId, node]);
      [last, lastId] = [ct, txId];
    }
  }

  #whole(node: NodeId, { txId, ct, writes }: ChangedTx): void {
    if (this.#isUncertain(txId)) return;
    const known = this.#committed.get(txId);
    if (known?.ct !== ct) {
      this.#fail(`${node} gives ${txId} of ${ct}, which is committed at ${known?.ct}`, [txId, node]);
      return;
    }
    const expected = [...known.slices.values()].flatMap((slice) => slice.writes);
    if (textOf(expected) !== textOf(writes))
      this.#fail(`${node} gives ${txId} with ${textOf(writes)} instead of ${textOf(expected)}`, [txId, node]);
  }

  #isUncertain(txId: TxId): boolean {
    return this.ledger.isDamaged(txId);
  }

  #fail(message: string, about: readonly string[]): void {
    this.context.fail(this.name, message, about);
  }
}

const textOf = (writes: ChangedTx['writes']): string =>
  writes
    .map(({ key, value }) => `${key}=${value instanceof Update ? value.operations : String(value)}`)
    .sort()
    .join(' ');

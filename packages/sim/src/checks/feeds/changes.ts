import {
  contentLength,
  type DurableFact,
  type KeyWrite,
  type NodeId,
  type PartitionId,
  type Timestamp,
  type TxId,
  wallOf,
} from '@isochron/core';
import type { ChangedTx } from '@isochron/protocols';
import type { ReaderPlan } from '../../plan/plan.js';
import type { ChangesAnswer } from '../../protocols/http.js';
import type { Check, CheckContext } from '../check.js';
import { textOf } from '../evidence/documents.js';
import type { CommittedTx, Ledger, LedgerListener } from '../evidence/ledger.js';
import { isLate } from '../evidence/slices.js';

/** How long logs keep transactions behind stable time, ms; undefined if their size may end that earlier. */
export type Retention = number | undefined;

/**
 * The change feed is complete, in order and whole (CF1): a message has exactly the transactions that are committed in
 * its range, each with all its writes in the scope (CF3), and none is committed at or below its end later. Messages of
 * a reader follow one another without a gap, over all nodes; a cursor is refused only when it is older than the
 * retention (CF2). Messages end with the group that reaches the size that the reader asked for (CF6). Damaged
 * transactions may be there or not. A late write without effect is left out; once a replica has collected the versions
 * that show the effect, a cursor below the late write may be refused, too (F9).
 */
export class ChangesAreComplete implements Check, LedgerListener {
  readonly name = 'changes-are-complete';
  readonly #committed = new Map<TxId, CommittedTx>();
  readonly #positions = new Map<string, Timestamp>();
  /** The highest floor of garbage collection that a replica of a partition has ever had. */
  readonly #floors = new Map<PartitionId, Timestamp>();
  #lostData = false;
  /** The highest end of all messages. */
  #to: Timestamp = 0;

  constructor(
    readonly context: CheckContext,
    readonly ledger: Ledger,
    readonly retention: Retention,
    /** The highest stable time of all nodes. */
    readonly stable: () => Timestamp,
  ) {
    ledger.listen(this);
  }

  onCommitted(tx: CommittedTx): void {
    this.#committed.set(tx.txId, tx);
    if (tx.ct <= this.#to && !this.ledger.isDamaged(tx.txId))
      this.#fail(`${tx.txId} is committed at ${tx.ct}, and the feed has passed ${this.#to}`, [tx.txId]);
  }

  onDataLoss(): void {
    this.#lostData = true;
  }

  durable(_node: NodeId, records: readonly DurableFact[]): void {
    for (const record of records) {
      if (record.kind !== 'horizon' || record.horizon !== 'gcFloor') continue;
      this.#floors.set(record.partition, Math.max(record.upTo, this.#floors.get(record.partition) ?? 0));
    }
  }

  feedBegan({ name }: ReaderPlan, at: Timestamp): void {
    this.#positions.set(name, at);
    this.#to = Math.max(this.#to, at);
  }

  feedGone({ name }: ReaderPlan, cursor: Timestamp): void {
    if (this.retention === undefined || this.#lostData) return;
    const ageMs = wallOf(this.stable()) - wallOf(cursor);
    if (ageMs >= this.retention || [...this.#committed.values()].some((tx) => this.#isCollected(tx, cursor))) return;
    this.#fail(`the cursor ${cursor} of ${name} was refused, ${ageMs} ms behind stable time`, [name]);
  }

  feedReceived(
    { name, prefix, limitBytes }: ReaderPlan,
    node: NodeId,
    { from, to, transactions }: ChangesAnswer,
  ): void {
    const position = this.#positions.get(name);
    if (from !== position) this.#fail(`${node} goes on at ${from} for ${name}, which is at ${position}`, [node]);
    if (to < from) this.#fail(`${node} goes back from ${from} to ${to}`, [node]);
    this.#positions.set(name, to);
    this.#to = Math.max(this.#to, to);
    this.#inOrder(node, from, to, transactions);
    this.#bounded(node, limitBytes, transactions);
    for (const tx of transactions) this.#whole(node, prefix, tx);
    const given = new Set(transactions.map(({ txId }) => txId));
    for (const tx of this.#committed.values()) {
      const { txId, ct } = tx;
      if (ct <= from || ct > to || given.has(txId) || !this.#hasToGive(tx, prefix)) continue;
      if (this.ledger.isDeferred(txId, ct)) continue;
      if (!this.ledger.isDamaged(txId))
        this.#fail(`${node} leaves ${txId} of ${ct} out of (${from}, ${to}]`, [txId, node]);
    }
  }

  #inOrder(node: NodeId, from: Timestamp, to: Timestamp, transactions: readonly ChangedTx[]): void {
    let [last, lastId] = [from, '￿'];
    for (const { txId, ct } of transactions) {
      if (ct > to || ct < last || (ct === last && txId <= lastId))
        this.#fail(`${node} gives ${txId} of ${ct} after ${lastId} of ${last}, in (${from}, ${to}]`, [txId, node]);
      [last, lastId] = [ct, txId];
    }
  }

  #bounded(node: NodeId, limitBytes: number, transactions: readonly ChangedTx[]): void {
    const lastCt = transactions.at(-1)?.ct;
    const before = transactions.filter(({ ct }) => ct !== lastCt).reduce((sum, tx) => sum + lengthOf(tx), 0);
    if (before >= limitBytes) this.#fail(`${node} goes on after ${before} bytes, of ${limitBytes}`, [node]);
  }

  #whole(node: NodeId, prefix: string, { txId, ct, writes }: ChangedTx): void {
    if (this.ledger.isDamaged(txId)) return;
    const known = this.ledger.committed(txId);
    if (known?.ct !== ct) {
      this.#fail(`${node} gives ${txId} of ${ct}, which is committed at ${known?.ct}`, [txId, node]);
      return;
    }
    const isGiven = ({ key }: KeyWrite) => writes.some((write) => write.key === key);
    const expected = writesIn(known, prefix).filter((write) => this.#isGiven(write, known) ?? isGiven(write));
    if (writes.length === 0 || textOfWrites(expected) !== textOfWrites(writes))
      this.#fail(`${node} gives ${txId} with ${textOfWrites(writes)} instead of ${textOfWrites(expected)}`, [
        txId,
        node,
      ]);
  }

  #hasToGive(tx: CommittedTx, prefix: string): boolean {
    return writesIn(tx, prefix).some((write) => this.#isGiven(write, tx) === true);
  }

  /** Whether the feed gives a write; undefined where it may be there or not. */
  #isGiven(write: KeyWrite, tx: CommittedTx): boolean | undefined {
    if (!isLate(tx)) return true;
    const chain = this.ledger.chain(write.key);
    if (chain.some(({ txId }) => this.ledger.isDamaged(txId))) return undefined;
    return this.ledger.hasEffect(write, tx);
  }

  /** Whether a replica may not know any more which writes of a late transaction above a cursor have an effect. */
  #isCollected(tx: CommittedTx, cursor: Timestamp): boolean {
    const isGone = ({ key }: KeyWrite) => {
      const floor = this.#floors.get(this.context.topology.partitionOf(key)) ?? 0;
      return this.ledger.chain(key).some(({ ts }) => ts > tx.ct && ts <= floor);
    };
    return isLate(tx) && tx.ct > cursor && writesIn(tx, '').some(isGone);
  }

  #fail(message: string, about: readonly string[]): void {
    this.context.fail(this.name, message, about);
  }
}

/** The writes of a transaction in a scope. */
const writesIn = ({ slices }: CommittedTx, prefix: string): ChangedTx['writes'] =>
  [...slices.values()].flatMap(({ writes }) => writes.filter(({ key }) => key.startsWith(prefix)));

/** The length of the keys and contents alone. */
const lengthOf = ({ writes }: ChangedTx): number =>
  writes.reduce((sum, { key, value }) => sum + key.length + contentLength(value), 0);

const textOfWrites = (writes: ChangedTx['writes']): string =>
  writes
    .map(({ key, value }) => `${key}=${textOf(value)}`)
    .sort()
    .join(' ');

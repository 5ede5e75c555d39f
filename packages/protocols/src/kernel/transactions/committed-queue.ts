import {
  type LoggedTx,
  type PartitionId,
  type PreparedRecord,
  type Timestamp,
  TransientMap,
  type TxId,
  writesBytes,
} from '@isochron/core';
import { CounterIndex } from './write-counters.js';

/** A committed transaction's slice that is not applied yet. */
export interface Committed extends Pick<LoggedTx, 'txId' | 'writes' | 'deps' | 'siblings' | 'needs' | 'at'> {
  readonly ct: Timestamp;
  /** Whether each replica keeps the outcome. */
  readonly repeatable?: boolean | undefined;
  readonly attempt: number;
  readonly digest: string;
  /** The prepare. Has the decision, `ct`, once the decision is on its way to the disk: reported, or of one phase. */
  readonly record: PreparedRecord;
}

/** All transactions of one commit timestamp (P4). */
export interface CommittedGroup {
  readonly ct: Timestamp;
  readonly txs: readonly Committed[];
}

/** Committed^m_n: ordered by commit timestamp, drained from the front. */
export class CommittedQueue {
  readonly counters: CounterIndex;
  #items: Committed[] = [];
  readonly #byId = new TransientMap<TxId, Committed>();
  #bytes = 0;

  constructor(partition: PartitionId) {
    this.counters = new CounterIndex(partition);
  }

  get size(): number {
    return this.#items.length;
  }

  /** Estimated memory of their writes. */
  get bytes(): number {
    return this.#bytes;
  }

  get(txId: TxId): Committed | undefined {
    return this.#byId.get(txId);
  }

  minCt(): Timestamp | undefined {
    return this.#items[0]?.ct;
  }

  values(): IterableIterator<Committed> {
    return this.#byId.values();
  }

  /** Takes a transaction out: a lost disk took a part of it (D10). */
  remove(tx: Committed): void {
    this.#dropLookups(tx);
    this.#items.splice(this.#items.indexOf(tx), 1);
  }

  add(tx: Committed): void {
    this.#byId.set(tx.txId, tx);
    this.#bytes += writesBytes(tx.writes);
    this.counters.add(tx.txId, tx.writes, tx.ct);
    let at = this.#items.length;
    while (at > 0 && this.#items[at - 1]!.ct > tx.ct) at--;
    this.#items.splice(at, 0, tx);
  }

  #dropLookups({ txId, writes }: Committed): void {
    this.#byId.delete(txId);
    this.#bytes -= writesBytes(writes);
    this.counters.remove(txId, writes);
  }

  /** Replaces the prepare of a transaction. */
  keep(tx: Committed, record: PreparedRecord): void {
    const kept = { ...tx, record };
    this.#byId.set(tx.txId, kept);
    this.#items[this.#items.indexOf(tx)] = kept;
  }

  /** Removes every transaction with `ct <= bound` (P2) and returns them as groups, lowest first (P4). */
  drain(bound: Timestamp): CommittedGroup[] {
    let count = 0;
    while (count < this.#items.length && this.#items[count]!.ct <= bound) count++;
    const groups: { ct: Timestamp; txs: Committed[] }[] = [];
    for (const tx of this.#items.splice(0, count)) {
      this.#dropLookups(tx);
      const last = groups.at(-1);
      if (last?.ct === tx.ct) last.txs.push(tx);
      else groups.push({ ct: tx.ct, txs: [tx] });
    }
    return groups;
  }
}

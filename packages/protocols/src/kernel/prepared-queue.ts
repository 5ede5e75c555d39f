import { invariant, type PreparedRecord, type Timestamp, type TxId, type WallMs } from '@isochron/core';

/** A prepared transaction and since when this process knows it. */
export interface Prepared {
  readonly txId: TxId;
  readonly record: PreparedRecord;
  readonly since: WallMs;
}

/** Transactions with a proposed timestamp that wait for their outcome (Prepared^m_n). Inserted in the order of `pt`. */
export class PreparedQueue {
  readonly #byId = new Map<TxId, Prepared>();
  #highest: Timestamp = 0;

  get size(): number {
    return this.#byId.size;
  }

  add(prepared: Prepared): void {
    invariant(prepared.record.pt > this.#highest, 'proposed timestamps rise');
    this.#highest = prepared.record.pt;
    this.#byId.set(prepared.txId, prepared);
  }

  get(txId: TxId): Prepared | undefined {
    return this.#byId.get(txId);
  }

  remove(txId: TxId): void {
    this.#byId.delete(txId);
  }

  /** The lowest proposed timestamp: the Map keeps the order of insertion, which is the order of `pt`. */
  minPt(): Timestamp | undefined {
    const first = this.#byId.values().next();
    return first.done ? undefined : first.value.record.pt;
  }

  values(): IterableIterator<Prepared> {
    return this.#byId.values();
  }
}

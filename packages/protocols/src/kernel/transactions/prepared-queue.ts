import {
  invariant,
  type NodeId,
  type PreparedRecord,
  type Timestamp,
  TransientMap,
  type TxId,
  type WallMs,
  writesBytes,
} from '@isochron/core';
import type { Resolution } from './resolution.js';

/** A prepared transaction, and since when this process has it. */
export interface Prepared {
  readonly txId: TxId;
  readonly record: PreparedRecord;
  readonly since: WallMs;
  /** The questions about its overdue decision (D2). */
  resolution?: Resolution | undefined;
  /** The node that lost its disk and decides about it: no commit message and no vote does meanwhile (D10). */
  waitsFor?: NodeId | undefined;
}

/** Transactions with a proposed timestamp that wait for their outcome (Prepared^m_n). Inserted in the order of `pt`. */
export class PreparedQueue {
  readonly #byId = new TransientMap<TxId, Prepared>();
  #highest: Timestamp = 0;
  #bytes = 0;

  get size(): number {
    return this.#byId.size;
  }

  /** Estimated memory of their writes. */
  get bytes(): number {
    return this.#bytes;
  }

  add(prepared: Prepared): void {
    invariant(prepared.record.pt > this.#highest, 'proposed timestamps rise');
    this.#highest = prepared.record.pt;
    this.#byId.set(prepared.txId, prepared);
    this.#bytes += writesBytes(prepared.record.writes);
  }

  get(txId: TxId): Prepared | undefined {
    return this.#byId.get(txId);
  }

  remove(txId: TxId): void {
    const prepared = this.#byId.get(txId);
    if (prepared === undefined) return;
    this.#byId.delete(txId);
    this.#bytes -= writesBytes(prepared.record.writes);
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

import {
  invariant,
  type NodeId,
  type PartitionId,
  type PreparedRecord,
  type Timestamp,
  TransientMap,
  type TxId,
  type WallMs,
  writesBytes,
} from '@isochron/core';
import type { Address } from '../../machine.js';
import type { Resolution } from './resolution.js';
import { CounterIndex } from './write-counters.js';

/** A prepared transaction, and since when this process has it. */
export interface Prepared {
  readonly txId: TxId;
  readonly record: PreparedRecord;
  readonly since: WallMs;
  /** Further nodes that have sent the same prepare (D4), so that they may send its decision. */
  repeatedBy?: Set<NodeId>;
  /** The questions about its overdue decision (D2). */
  resolution?: Resolution | undefined;
  /** The node that lost its disk and decides about it: no commit message and no vote does meanwhile (D10). */
  waitsFor?: NodeId | undefined;
}

/** Whether a node has sent the prepare: the decision is taken from such a node, or found with the cohorts (D2, D12). */
export const isCoordinator = ({ record, repeatedBy }: Prepared, { node }: Address): boolean =>
  record.coordinator === node || repeatedBy?.has(node) === true;

/** A node has sent a prepare that is known here already, with the same writes: it may be the one that decides (D4). */
export function addCoordinator(prepared: Prepared, from: Address): void {
  if (isCoordinator(prepared, from)) return;
  prepared.repeatedBy ??= new Set();
  prepared.repeatedBy.add(from.node);
}

/** Transactions with a proposed timestamp that wait for their outcome (Prepared^m_n). Inserted in the order of `pt`. */
export class PreparedQueue {
  readonly counters: CounterIndex;
  readonly #byId = new TransientMap<TxId, Prepared>();
  #highest: Timestamp = 0;
  #bytes = 0;

  constructor(partition: PartitionId) {
    this.counters = new CounterIndex(partition);
  }

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
    this.counters.add(prepared.txId, prepared.record.writes, prepared.record.pt);
  }

  get(txId: TxId): Prepared | undefined {
    return this.#byId.get(txId);
  }

  remove(txId: TxId): void {
    const prepared = this.#byId.get(txId);
    if (prepared === undefined) return;
    this.#byId.delete(txId);
    this.#bytes -= writesBytes(prepared.record.writes);
    this.counters.remove(txId, prepared.record.writes);
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

import type { OutcomeRecord, Timestamp, TxId } from '@isochron/core';
import type { WriteSeq } from '../../machine.js';

/** How many outcomes stay in memory at least; of outcomes on disk, at most twice as many stay. */
const KEPT = 4_096;

/** Outcomes that are evicted together: constant work for each of them. */
class Generation {
  readonly records = new Map<TxId, OutcomeRecord>();
  /** The last one's write. */
  seq: WriteSeq = 0;
  /** The highest timestamp among them. */
  latest: Timestamp = 0;

  add(txId: TxId, record: OutcomeRecord, seq: WriteSeq): void {
    this.records.set(txId, record);
    this.seq = seq;
    this.latest = Math.max(this.latest, record.ts);
  }
}

/**
 * The newest outcomes of a partition: those on their way to the disk, which its reader may not show yet, and enough
 * others to recognise a new transaction without the disk. An outcome's timestamp is never below the `sentAfter` of its
 * transaction. So a transaction with a `sentAfter` above all evicted ones is in here, or has no outcome.
 */
export class RecentOutcomes {
  #young = new Generation();
  #old = new Generation();
  #persisted: WriteSeq = 0;
  #completeAbove: Timestamp;

  /** @param completeAbove no outcome on disk has a higher timestamp */
  constructor(completeAbove: Timestamp) {
    this.#completeAbove = completeAbove;
  }

  add(txId: TxId, record: OutcomeRecord, seq: WriteSeq): void {
    this.#young.add(txId, record, seq);
    if (this.#young.records.size < KEPT || this.#old.seq > this.#persisted) return;
    this.#completeAbove = Math.max(this.#completeAbove, this.#old.latest);
    this.#old = this.#young;
    this.#young = new Generation();
  }

  persisted(upTo: WriteSeq): void {
    this.#persisted = upTo;
  }

  get(txId: TxId): OutcomeRecord | undefined {
    return this.#young.records.get(txId) ?? this.#old.records.get(txId);
  }

  /** Whether a transaction with this `sentAfter` that is not in here has no outcome at all. */
  complete(sentAfter: Timestamp): boolean {
    return sentAfter > this.#completeAbove;
  }
}

import type { OutcomeRecord, Timestamp, TxId } from '@isochron/core';
import type { WriteSeq } from '../../machine.js';

/** How many outcomes stay in memory. */
const KEPT = 8_192;

/**
 * The newest outcomes of a partition: those on their way to the disk, which its reader may not show yet, and enough others to
 * know without the disk that a new transaction is new. An outcome's timestamp is never below the `birth` of its transaction,
 * so one born after everything that was let go either is in here or has no outcome.
 */
export class RecentOutcomes {
  readonly #kept = new Map<TxId, { readonly record: OutcomeRecord; readonly seq: WriteSeq }>();
  #persisted: WriteSeq = 0;
  #completeAbove: Timestamp;

  /** @param completeAbove no outcome on disk has a higher timestamp */
  constructor(completeAbove: Timestamp) {
    this.#completeAbove = completeAbove;
  }

  add(txId: TxId, record: OutcomeRecord, seq: WriteSeq): void {
    this.#kept.delete(txId);
    this.#kept.set(txId, { record, seq });
    if (this.#kept.size > KEPT) this.#letGo();
  }

  persisted(upTo: WriteSeq): void {
    this.#persisted = upTo;
  }

  get(txId: TxId): OutcomeRecord | undefined {
    return this.#kept.get(txId)?.record;
  }

  /** Whether a transaction of this birth that is not in here has no outcome at all. */
  complete(birth: Timestamp): boolean {
    return birth > this.#completeAbove;
  }

  #letGo(): void {
    for (const [txId, { record, seq }] of this.#kept) {
      if (this.#kept.size <= KEPT || seq > this.#persisted) return;
      this.#kept.delete(txId);
      this.#completeAbove = Math.max(this.#completeAbove, record.ts);
    }
  }
}

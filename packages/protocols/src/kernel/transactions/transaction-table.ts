import { IsochronError, RecentMap, type Timestamp, TransientMap, type TxId, type WallMs } from '@isochron/core';
import type { Snapshot } from './snapshots.js';

/** How an interactive transaction left the table. */
export type Ended = 'committed' | 'ended' | 'expired';

interface Context {
  readonly snapshot: Snapshot;
  /** The lowest entry of its snapshot. */
  readonly oldest: Timestamp;
  readonly expiresAt: WallMs;
}

/** How many ended transactions are kept at least, so that the refusal of a late request has its reason. */
const REMEMBERED = 10_000;

/**
 * The coordinator's open transactions (TX in Alg. 2) with a lease: a client that disappears pins neither memory nor
 * `sOld` for longer than `maxTransactionMs` (P9).
 */
export class TransactionTable {
  readonly #open = new TransientMap<TxId, Context>();
  readonly #ended = new RecentMap<TxId, { why: Ended; snapshot: Snapshot }>(REMEMBERED);

  constructor(readonly maxTransactionMs: number) {}

  get size(): number {
    return this.#open.size;
  }

  open(txId: TxId, snapshot: Snapshot, oldest: Timestamp, now: WallMs): void {
    this.#open.set(txId, { snapshot, oldest, expiresAt: now + this.maxTransactionMs });
  }

  snapshot(txId: TxId): Snapshot | undefined {
    return this.#open.get(txId)?.snapshot;
  }

  ended(txId: TxId): { why: Ended; snapshot: Snapshot } | undefined {
    return this.#ended.get(txId);
  }

  end(txId: TxId, why: Ended): void {
    const context = this.#open.get(txId);
    if (context === undefined) return;
    this.#open.delete(txId);
    this.#ended.set(txId, { why, snapshot: context.snapshot });
  }

  /** Ends those whose lease is over: they were opened in the order of their leases. */
  expire(now: WallMs): number {
    let expired = 0;
    for (const [txId, { expiresAt }] of this.#open) {
      if (expiresAt > now) break;
      this.end(txId, 'expired');
      expired++;
    }
    return expired;
  }

  /** Lowest entry of a snapshot in use; undefined when none is open. */
  oldest(): Timestamp | undefined {
    let oldest: Timestamp | undefined;
    for (const open of this.#open.values()) if (oldest === undefined || open.oldest < oldest) oldest = open.oldest;
    return oldest;
  }

  /** The error for a request whose transaction is not open. */
  whyNotOpen(txId: TxId): IsochronError {
    const why = this.#ended.get(txId)?.why;
    if (why === 'expired') {
      const seconds = this.maxTransactionMs / 1000;
      return new IsochronError('TRANSACTION_EXPIRED', `A transaction stays open for ${seconds} s; start a new one.`);
    }
    if (why !== undefined)
      return new IsochronError('TRANSACTION_FINISHED', 'The transaction has ended; start a new one.');
    return new IsochronError('TRANSACTION_UNKNOWN', 'This node has no such open transaction; start a new one.');
  }
}

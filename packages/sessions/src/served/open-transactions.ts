/** Limits the transactions that clients have open on a node: those of all clients, and those of each. */
import { IsochronError, Quota, TransientMap, type TxId } from '@isochron/core';
import type { LimitCounts } from './limit-counts.js';
import type { ServingLimits } from './serving-limits.js';

interface Open {
  readonly client: string;
  readonly until: number;
}

/** Counts from the start to the end, or until the lease is over: a transaction that ended elsewhere lapses. */
export class OpenTransactions {
  readonly #quota: Quota;
  /** In the order of their leases. */
  readonly #open = new TransientMap<TxId, Open>();

  constructor(
    limits: ServingLimits,
    /** How long a transaction may be open, ms. */
    readonly lifetimeMs: number,
    /** A clock, ms. */
    readonly now: () => number,
    readonly counts: LimitCounts,
  ) {
    this.#quota = new Quota(limits.openTransactions, limits.openTransactionsPerClient);
  }

  /**
   * @param txId as nodes store it
   * @returns whether it takes a place: not where it is open already
   * @throws IsochronError `OVERLOADED`
   */
  begin(client: string, txId: TxId): boolean {
    const now = this.now();
    this.#lapse(now);
    if (this.#open.has(txId)) return false;
    if (!this.#quota.take(client)) {
      this.counts.reached('openTransactions');
      const detail = 'Too many transactions are open. End some of them, or wait until they have expired.';
      throw new IsochronError('OVERLOADED', detail);
    }
    this.#open.set(txId, { client, until: now + this.lifetimeMs });
    return true;
  }

  end(txId: TxId): void {
    const open = this.#open.get(txId);
    if (open === undefined) return;
    this.#open.delete(txId);
    this.#quota.give(open.client);
  }

  #lapse(now: number): void {
    for (const [txId, { until }] of this.#open) {
      if (until > now) return;
      this.end(txId);
    }
  }
}

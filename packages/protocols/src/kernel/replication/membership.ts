import type { Timestamp, TxId } from '@isochron/core';

/** How many ids of lost transactions are kept for the status page. */
const REPORTED = 100;

/**
 * Whether this node's disk can be trusted, and what it is known to have lost (D10). A node that has not joined promises nothing: it
 * prepares nothing, sends no version clock, and serves no snapshot.
 */
export class Membership {
  #joined: boolean;
  #lostUpTo: Timestamp;
  #retiring: string | undefined;
  /** Transactions that were decided without a cohort's lost memory; the newest last. */
  readonly #lost: TxId[] = [];

  constructor(joined: boolean, lostUpTo: Timestamp) {
    this.#joined = joined;
    this.#lostUpTo = lostUpTo;
  }

  get joined(): boolean {
    return this.#joined;
  }

  /** Transactions born below may have been known here and are not any more; 0 when nothing was ever lost. */
  get lostUpTo(): Timestamp {
    return this.#lostUpTo;
  }

  /** Why the node prepares for being rebuilt; undefined when it does not. */
  get retiring(): string | undefined {
    return this.#retiring;
  }

  /** Whether new commits may begin here. */
  get accepts(): boolean {
    return this.#joined && this.#retiring === undefined;
  }

  get lost(): readonly TxId[] {
    return this.#lost;
  }

  join(lostUpTo: Timestamp): void {
    this.#joined = true;
    this.#lostUpTo = lostUpTo;
  }

  retire(reason: string): void {
    this.#retiring ??= reason;
  }

  report(txId: TxId): void {
    this.#lost.push(txId);
    if (this.#lost.length > REPORTED) this.#lost.shift();
  }
}

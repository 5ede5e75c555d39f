import type { NodeId, Timestamp } from '@isochron/core';

/**
 * Whether this node's disk can be trusted, and its known losses (D10). A node that has not joined promises nothing: it
 * prepares nothing, sends no version clock, and serves no snapshot.
 */
export class Membership {
  #joined: boolean;
  #incarnation: Timestamp;
  /** Other nodes that have lost their disks and have not settled their losses yet. */
  readonly unsettledPeers = new Set<NodeId>();
  #retiring: string | undefined;
  #unsettledAfter: Timestamp;

  /** @param unsettledAfter as {@link unsettledAfter}; 0 without anything to settle */
  constructor(joined: boolean, incarnation: Timestamp, unsettledAfter: Timestamp) {
    this.#joined = joined;
    this.#incarnation = incarnation;
    this.#unsettledAfter = unsettledAfter;
  }

  get joined(): boolean {
    return this.#joined;
  }

  /** Transactions with a `sentAfter` below may have been lost with a disk here; 0 when no disk was lost. */
  get incarnation(): Timestamp {
    return this.#incarnation;
  }

  /** Why the node prepares for being rebuilt; undefined when it does not. */
  get retiring(): string | undefined {
    return this.#retiring;
  }

  /**
   * Whether the losses of the lost disk are settled (`transactions/settlement.ts`). Until then the node publishes no
   * version clock and decides nothing.
   */
  get settled(): boolean {
    return this.#unsettledAfter === 0;
  }

  /** Stable time at the loss: transactions above are to be settled. */
  get unsettledAfter(): Timestamp {
    return this.#unsettledAfter;
  }

  /** Whether new commits may begin here. */
  get accepts(): boolean {
    return this.#joined && this.settled && this.#retiring === undefined;
  }

  join(incarnation: Timestamp, unsettledAfter: Timestamp): void {
    this.#joined = true;
    this.#incarnation = incarnation;
    this.#unsettledAfter = unsettledAfter;
  }

  settle(): void {
    this.#unsettledAfter = 0;
  }

  retire(reason: string): void {
    this.#retiring ??= reason;
  }
}

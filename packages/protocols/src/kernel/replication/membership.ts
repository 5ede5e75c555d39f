import type { NodeId, Timestamp } from '@isochron/core';

/**
 * Whether this node's disk can be trusted, and what it is known to have lost (D10). A node that has not joined promises nothing: it
 * prepares nothing, sends no version clock, and serves no snapshot.
 */
export class Membership {
  #joined: boolean;
  #incarnation: Timestamp;
  /** Other nodes that have lost their disks, and not decided yet what was lost with them. */
  readonly unsettledPeers = new Set<NodeId>();
  #retiring: string | undefined;
  #unsettledAfter: Timestamp;

  /** @param unsettledAfter as {@link unsettledAfter}; 0 when there is nothing to settle */
  constructor(joined: boolean, incarnation: Timestamp, unsettledAfter: Timestamp) {
    this.#joined = joined;
    this.#incarnation = incarnation;
    this.#unsettledAfter = unsettledAfter;
  }

  get joined(): boolean {
    return this.#joined;
  }

  /** Transactions born below may have been known here and are not any more; 0 when nothing was ever lost. */
  get incarnation(): Timestamp {
    return this.#incarnation;
  }

  /** Why the node prepares for being rebuilt; undefined when it does not. */
  get retiring(): string | undefined {
    return this.#retiring;
  }

  /**
   * Whether it is settled what the lost disk has taken with it (`transactions/settlement.ts`). Until then the node
   * publishes no version clock and decides nothing.
   */
  get settled(): boolean {
    return this.#unsettledAfter === 0;
  }

  /** Stable time at the loss: what is to be settled lies above. */
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

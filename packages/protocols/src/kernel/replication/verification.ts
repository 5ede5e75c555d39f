import type { NodeId, PartitionId, RegionId, WallMs } from '@isochron/core';
import type { RollbackWatch } from './rollback-watch.js';

/**
 * `verifying`: the node decides nothing, because no peer replica of some partition has reported yet. `verified`: every
 * peer replica has confirmed that the disk was not rolled back. `unverified`: the node continues without the
 * confirmation of some of them.
 */
export type VerificationState = 'verifying' | 'verified' | 'unverified';

/** The state of the verification of a node's disk. */
export interface VerificationStatus {
  readonly state: VerificationState;
  /** Nodes with a peer replica that has not reported since the start. */
  readonly missing: readonly NodeId[];
  /** Whether one of the partitions has no report from any peer replica: the wait ended with `verifyTimeoutMs`. */
  readonly timedOut: boolean;
}

/**
 * The verification of a node's disk (D10): after a start the node decides and acknowledges nothing until a peer replica
 * of each of its partitions has reported the groups that it received from the node. The replicas share one disk, so
 * they wait together: a report that one partition was rolled back gives up all of them. `verifyTimeoutMs` bounds the
 * wait, from the first link to another node. A node that reached none within the limit continues, and waits once more
 * when its first link comes up, before it shows other nodes data from its disk.
 */
export class Verification {
  readonly #watches = new Map<PartitionId, RollbackWatch>();
  #deadline: WallMs = Number.POSITIVE_INFINITY;
  #isLinked = false;
  #over = false;
  #timedOut = false;

  /** @param nodeOf the node that has a region's replica of a partition */
  constructor(
    readonly timeoutMs: number,
    readonly nodeOf: (partition: PartitionId, region: RegionId) => NodeId,
  ) {}

  /** The watch of a partition's replica; replaces an earlier one. */
  watch(partition: PartitionId, watch: RollbackWatch): void {
    this.#watches.set(partition, watch);
  }

  /** The node runs. */
  start(now: WallMs): void {
    this.#deadline = Math.min(this.#deadline, now + this.timeoutMs);
  }

  /** A link to another node has come up. */
  linked(now: WallMs): void {
    if (this.#isLinked) return;
    this.#isLinked = true;
    this.#over = false;
    this.#deadline = now + this.timeoutMs;
  }

  /** Whether the node must decide nothing yet. */
  waits(now: WallMs): boolean {
    if (this.#over) return false;
    const settled = this.#every((watch) => watch.settled(now));
    this.#timedOut = !settled && now >= this.#deadline;
    this.#over = settled || this.#timedOut;
    return !this.#over;
  }

  status(now: WallMs): VerificationStatus {
    const waits = this.waits(now);
    const missing = new Set<NodeId>();
    for (const [partition, watch] of this.#watches)
      for (const region of watch.missing) missing.add(this.nodeOf(partition, region));
    const state = waits ? 'verifying' : missing.size === 0 ? 'verified' : 'unverified';
    return { state, missing: [...missing].sort(), timedOut: this.#timedOut && missing.size > 0 };
  }

  #every(holds: (watch: RollbackWatch) => boolean): boolean {
    for (const watch of this.#watches.values()) if (!holds(watch)) return false;
    return true;
  }
}

/**
 * One-phase commit (P11). If the replicas of all cohorts are on the coordinator's node, they share the clock and the
 * disk, and need no agreement. One tick of the clock is the commit timestamp, and every cohort writes the decided slice
 * in the same step, so that one durable batch has all of the transaction or nothing of it.
 *
 * A cohort declines a transaction that it would not simply prepare: a known id, a request that it would refuse or ask
 * its peers about. Then nothing is written, and prepares are sent: they find the outcome of the transaction, and write
 * the refusal.
 */
import type { PartitionId, Timestamp, WallMs } from '@isochron/core';
import type { Effects } from '../../machine.js';
import type { NodeState } from '../node-state.js';
import type { Cohort } from './cohort.js';
import type { PrepareReq, TransactionMessage } from './messages.js';

/** A slice that is committed without a prepare, and its cohort. */
interface LocalSlice {
  readonly cohort: Cohort;
  readonly request: PrepareReq;
}

export class OnePhase {
  readonly counters = { onePhaseCommits: 0 };
  readonly #cohorts: ReadonlyMap<PartitionId, Cohort>;

  /** @param cohorts of all replicas on this node */
  constructor(
    readonly state: NodeState,
    cohorts: readonly Cohort[],
  ) {
    this.#cohorts = new Map(cohorts.map((cohort) => [cohort.partition, cohort]));
  }

  /**
   * Commits a transaction of several partitions if every cohort is here and accepts it.
   *
   * @param prepares the messages to each cohort otherwise
   * @returns its commit timestamp, durable with this step's batch; undefined if nothing was done
   */
  commit(
    prepares: ReadonlyMap<PartitionId, PrepareReq>,
    now: WallMs,
    out: Effects<TransactionMessage>,
  ): Timestamp | undefined {
    const { clock, verification, activity } = this.state;
    // A sole cohort commits in one phase on any node.
    if (prepares.size < 2 || verification.waits(now)) return undefined;
    const slices = this.#slices(prepares, now);
    const first = slices?.[0];
    if (slices === undefined || first === undefined) return undefined;
    // All slices carry the same snapshot, `ht` and sentAfter.
    const { ht, ust, sentAfter } = first.request;
    const ct = clock.propose(now, Math.max(ht, ust, sentAfter), out);
    for (const { cohort, request } of slices) cohort.commitAtOnce(request, ct, this.state.node, out);
    activity.wake(now, out);
    this.counters.onePhaseCommits++;
    return ct;
  }

  #slices(prepares: ReadonlyMap<PartitionId, PrepareReq>, now: WallMs): readonly LocalSlice[] | undefined {
    const slices: LocalSlice[] = [];
    for (const [partition, request] of prepares) {
      const cohort = this.#cohorts.get(partition);
      if (cohort === undefined || !cohort.takesAtOnce(request, now)) return undefined;
      slices.push({ cohort, request });
    }
    return slices;
  }
}

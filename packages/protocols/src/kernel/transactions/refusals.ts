import type { ErrorCode, PartitionId, Timestamp, WallMs } from '@isochron/core';
import { type NodeState, takesNoWrites } from '../node-state.js';
import type { CommitIdentity, PrepareReq } from './messages.js';

/** Why a cohort does not prepare. */
export interface PrepareRefusal {
  readonly code: ErrorCode;
  readonly detail: string;
  /** Whether the attempt can never commit any more: then a tombstone is written. */
  readonly durable: boolean;
}

/**
 * Why a cohort must not prepare a transaction that is new to it; undefined when it may (D5, D10, D11, K2, T1).
 *
 * @param rememberedFrom the cohort may have known a transaction with a lower sentAfter
 * @param pendingBytes size of its undecided and unapplied transactions
 */
export function refusalOf(
  request: PrepareReq,
  now: WallMs,
  { node, settings, clock, writable }: NodeState,
  rememberedFrom: Timestamp,
  pendingBytes: number,
): PrepareRefusal | undefined {
  if (request.sentAfter < rememberedFrom) {
    const detail = 'The commit is older than the outcomes kept here; whether it happened cannot be known.';
    return { code: 'OUTCOME_FORGOTTEN', detail, durable: false };
  }
  const full = writable();
  if (full !== undefined) {
    return { code: full, detail: takesNoWrites(node, full), durable: true };
  }
  if (pendingBytes > settings.maxPendingBytes) {
    const detail = 'Too many transactions wait for an undecided one on this replica; try again later.';
    return { code: 'OVERLOADED', detail, durable: true };
  }
  if (clock.problem !== undefined) {
    return { code: 'CLOCK_DRIFT', detail: `${node} takes no writes now: ${clock.problem}.`, durable: true };
  }
  if (Math.max(request.ht, request.ust, request.sentAfter) > clock.latest(now, settings.maxClockDriftMs)) {
    const detail = 'The session has seen a timestamp from the future.';
    return { code: 'TIMESTAMP_IN_FUTURE', detail, durable: true };
  }
  return undefined;
}

/** Whether a peer's identity makes sense (D12): the replica is in its list, and each cohort in it exists, once. */
export function isCohortOf(
  { home, cohorts, avoid }: CommitIdentity,
  own: PartitionId,
  { topology, region }: NodeState,
): boolean {
  return (
    topology.regions.includes(home) &&
    topology.isAvoidList(avoid ?? []) &&
    cohorts.every((partition, i) => partition < topology.partitions.length && partition > (cohorts[i - 1] ?? -1)) &&
    cohorts.includes(own) &&
    topology.cohort(own, home, avoid).region === region
  );
}

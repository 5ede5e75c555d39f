import { type ErrorCode, type PartitionId, packWall, type Timestamp, type WallMs } from '@isochron/core';
import { type NodeState, takesNoWrites } from '../node-state.js';
import type { CommitIdentity, PrepareReq } from './messages.js';

/** Refusals that a cohort wrote down: this attempt can never commit. Other refusals decide nothing about it. */
export const DURABLE_REFUSALS: ReadonlySet<ErrorCode> = new Set([
  'TRANSACTION_ABORTED',
  'CLOCK_DRIFT',
  'TIMESTAMP_IN_FUTURE',
  'STORAGE_FULL',
  'OVERLOADED',
]);

/** Refusals because the id belongs to another transaction. */
export const OTHER_TRANSACTION: ReadonlySet<ErrorCode> = new Set(['TX_ID_REUSED', 'ATTEMPT_MISMATCH']);

/** Why a cohort does not prepare. */
export interface PrepareRefusal {
  readonly code: ErrorCode;
  readonly detail: string;
  /** Whether the attempt can never commit any more: then a tombstone is written. */
  readonly durable: boolean;
}

/**
 * Why a cohort must not prepare a transaction that is new to it; undefined when it may (D5, D10, D11, K2, M6, T1).
 *
 * @param rememberedFrom the cohort may have known a transaction with a lower sentAfter
 * @param pendingBytes size of its undecided and unapplied transactions
 */
export function refusalOf(
  request: PrepareReq,
  now: WallMs,
  state: NodeState,
  rememberedFrom: Timestamp,
  pendingBytes: number,
): PrepareRefusal | undefined {
  const { node, settings, clock, writable, maps } = state;
  if (request.sentAfter < rememberedFrom) {
    return { ...unremembered(request.sentAfter, now, state), durable: false };
  }
  if (request.identity.map < maps.current.version) return OF_AN_OLD_MAP;
  if (maps.isLeaving || maps.hasLeft) return LEAVING;
  if (!maps.current.isMember(node)) return AWAY;
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

/**
 * The refusal of a write whose outcome may have been known (D5, D10): it is older than the outcomes that are kept, or a
 * lost disk had it.
 */
export function unremembered(
  sentAfter: Timestamp,
  now: WallMs,
  { drift, settings }: NodeState,
): Pick<PrepareRefusal, 'code' | 'detail'> {
  return sentAfter < packWall(drift.stampable(now) - settings.outcomeRetentionMs) ? FORGOTTEN : LOST;
}

const OF_AN_OLD_MAP: PrepareRefusal = {
  code: 'TRANSACTION_ABORTED',
  detail: 'The attempt belongs to an older map of the cluster; the next attempt belongs to the present one.',
  durable: true,
};
const LEAVING: PrepareRefusal = {
  code: 'TRANSACTION_ABORTED',
  detail: 'The node of a cohort is about to close; the next attempt avoids it.',
  durable: true,
};
const AWAY: PrepareRefusal = {
  code: 'OUTCOME_PENDING',
  detail: 'The node of a cohort is suspended; send the same commit again until it is a member.',
  durable: false,
};
const FORGOTTEN = {
  code: 'OUTCOME_FORGOTTEN',
  detail: 'The write is older than the outcomes that are kept; whether it happened cannot be known.',
} as const;
const LOST = {
  code: 'OUTCOME_LOST',
  detail: 'A disk was lost after the write was made; whether an earlier sending of it happened cannot be known.',
} as const;

/**
 * Whether a peer's identity makes sense (D12): this node has adopted its map (M6), the replica is in its list,
 * and each cohort in it exists, once.
 */
export function isCohortOf(
  { map, home, cohorts, avoid }: CommitIdentity,
  own: PartitionId,
  { maps, region }: NodeState,
): boolean {
  const topology = map <= maps.current.version ? maps.at(map) : undefined;
  return (
    topology?.regions.includes(home) === true &&
    topology.isAvoidList(avoid ?? []) &&
    cohorts.every((partition, i) => partition < topology.partitions.length && partition > (cohorts[i - 1] ?? -1)) &&
    cohorts.includes(own) &&
    topology.cohort(own, home, avoid).region === region
  );
}

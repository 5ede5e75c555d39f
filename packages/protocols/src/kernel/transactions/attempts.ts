/** The attempts of a commit that its request names (D4). */
import { IsochronError, type PartitionId, type Topology } from '@isochron/core';
import type { NodeState } from '../node-state.js';
import type { CommitIdentity, CommitReq } from './messages.js';
import { isRepeatable } from './repeats.js';
import type { SnapshotRules } from './snapshots.js';

/** @throws IsochronError INVALID_REQUEST if the request's lists of attempts do not fit the placement, or one another */
export function checkAttempts({ attemptRegions, avoids, maps }: CommitReq, topology: Topology): void {
  const unknown = attemptRegions.find((home) => !topology.regions.includes(home));
  if (attemptRegions.length === 0 || unknown !== undefined) {
    throw new IsochronError('INVALID_REQUEST', `A commit names its home region; "${unknown ?? ''}" is none.`);
  }
  const { length } = attemptRegions;
  if (avoids !== undefined && !(avoids.length === length && avoids.every((avoid) => topology.isAvoidList(avoid)))) {
    const detail = 'The regions to avoid are one list for each attempt, sorted and without repetition.';
    throw new IsochronError('INVALID_REQUEST', detail);
  }
  if (maps !== undefined && maps.length !== length)
    throw new IsochronError('INVALID_REQUEST', 'The maps are one number for each attempt.');
}

/** Rounds of one map: the attempts that commit again have the numbers from this many times the version on (M8). */
const ROUNDS = 1000;

/**
 * The identity of each attempt, the same anywhere: a function of the request alone (D4). If all cohorts must be in the
 * home, an attempt that avoids its home has another one.
 *
 * An attempt may commit again what a map has deferred, if that map suspended nodes after the map of the first attempt,
 * which a request under an Idempotency-Key does not name. The node that returns, the session and other senders of the
 * request may all do so: number and cohorts follow from the map and the round alone (M8).
 */
export function attemptsOf(
  request: CommitReq,
  cohorts: readonly PartitionId[],
  { cohortsAtHome }: Pick<SnapshotRules, 'cohortsAtHome'>,
  { topology, maps }: Pick<NodeState, 'topology' | 'maps'>,
): CommitIdentity[] {
  const { txId, attemptRegions, avoids } = request;
  return attemptRegions.map((home, attempt) => {
    const map = request.maps?.[attempt] ?? 0;
    if (commitsAgain(request, map, maps)) {
      const round = attempt - request.maps!.indexOf(map);
      return { txId, attempt: map * ROUNDS + round, home: topology.regions[0]!, map, cohorts };
    }
    const avoid = avoids?.[attempt] ?? [];
    if (avoid.length === 0) return { txId, attempt, home, map, cohorts };
    if (cohortsAtHome) return { txId, attempt, home: topology.homeOf(home, avoid), map, cohorts };
    return { txId, attempt, home, map, cohorts, avoid };
  });
}

/** Whether an attempt under this map may commit again what a map has deferred. */
export function commitsAgain(
  { snapshot, sentAfter, maps: [first = 0] = [] }: CommitReq,
  map: number,
  maps: NodeState['maps'],
): boolean {
  const isKeyed = snapshot !== null && isRepeatable({ sentAfter, ust: snapshot });
  return maps.suspendsBetween(isKeyed ? 0 : first, map);
}

/** The map of an attempt that commits again, by its number; undefined for any other attempt. */
export const mapOfRound = (attempt: number): number | undefined =>
  attempt < ROUNDS ? undefined : Math.floor(attempt / ROUNDS);

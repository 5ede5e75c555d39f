/** The attempts of a commit that its request names (D4). */
import { IsochronError, type PartitionId, type Topology } from '@isochron/core';
import type { Addresses, NodeState } from '../node-state.js';
import type { CommitIdentity, CommitReq, CommitResp } from './messages.js';
import { isRepeatable } from './repeats.js';
import type { SnapshotRules } from './snapshots.js';

/** The fields of a request that fix the attempts. */
type AttemptsRequest = Pick<
  CommitReq,
  'txId' | 'attemptRegions' | 'avoids' | 'maps' | 'snapshot' | 'sentAfter' | 'queue'
>;

/** @throws IsochronError INVALID_REQUEST if the request's lists of attempts do not fit the placement, or one another */
export function checkAttempts(
  { attemptRegions, avoids, maps }: Pick<CommitReq, 'attemptRegions' | 'avoids' | 'maps'>,
  topology: Topology,
): void {
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

/** Rounds of one map: their attempts have the numbers from this many times the version on (M8). */
const ROUNDS = 1000;

/**
 * The identity of each attempt, the same anywhere: a function of the request alone (D4). If all cohorts must be in the
 * home, an attempt that avoids its home has another one.
 *
 * An attempt may commit again what a map has deferred, if that map suspended nodes after the map of the first attempt,
 * which a request under an Idempotency-Key does not name. The node that returns, the session and other senders of the
 * request may all do so: number and cohorts follow from the map and the round alone (M8).
 *
 * A request under an Idempotency-Key names the maps of the node that sends it. Attempts of different maps may have
 * different cohorts, so the number of an attempt follows from the map and the round, too.
 */
export function attemptsOf(
  request: AttemptsRequest,
  cohorts: readonly PartitionId[],
  { cohortsAtHome }: Pick<SnapshotRules, 'cohortsAtHome'>,
  { topology, maps }: Pick<NodeState, 'topology' | 'maps'>,
): CommitIdentity[] {
  const { txId, attemptRegions, avoids } = request;
  return attemptRegions.map((home, index) => {
    const map = request.maps?.[index] ?? 0;
    const ofMap = map * ROUNDS + index - (request.maps?.indexOf(map) ?? 0);
    if (commitsAgain(request, map, maps)) return { txId, attempt: ofMap, home: topology.regions[0]!, map, cohorts };
    const attempt = isKeyed(request) ? ofMap : index;
    const avoid = avoids?.[index] ?? [];
    if (avoid.length === 0) return { txId, attempt, home, map, cohorts };
    if (cohortsAtHome) return { txId, attempt, home: topology.homeOf(home, avoid), map, cohorts };
    return { txId, attempt, home, map, cohorts, avoid };
  });
}

/** Whether an attempt under this map may commit again what a map has deferred. */
function commitsAgain(request: AttemptsRequest, map: number, maps: NodeState['maps']): boolean {
  const [first = 0] = request.maps ?? [];
  return maps.suspendsBetween(isKeyed(request) ? 0 : first, map);
}

/**
 * Whether an attempt never commits, because a cohort is on a node that is no member in the map of the attempt: such a
 * node prepares nothing in this map. The other cohorts prepare nothing either: that would hold stable time back.
 */
export function neverCommits({ map, home, avoid, cohorts }: CommitIdentity, maps: NodeState['maps']): boolean {
  const topology = maps.at(map)!;
  return !topology.isWhole && cohorts.some((one) => !topology.isMember(topology.cohort(one, home, avoid).node));
}

/** Whether an attempt of this map begins behind the fence of the map (M9), when earlier maps have decided theirs. */
export const waitsForFence = (request: CommitReq, map: number, maps: NodeState['maps']): boolean =>
  (map > 0 && isKeyed(request)) || commitsAgain(request, map, maps);

/** M6: a node does not know the cohorts of a map that it has not adopted. @throws IsochronError NOT_READY */
export function refuseHigherMap(maps: CommitReq['maps'] = [], { version }: Topology): void {
  if (maps.every((map) => map <= version)) return;
  throw new IsochronError('NOT_READY', 'This node has not adopted the newest map of the cluster yet; use another one.');
}

/** Where an attempt that has committed has taken effect (M10). */
export function placeOf(
  identity: CommitIdentity,
  addresses: Addresses,
  { stableSnapshots, topology }: Pick<NodeState, 'stableSnapshots' | 'topology'>,
): Pick<CommitResp, 'nodes' | 'map'> {
  if (!stableSnapshots) return {};
  const nodes = new Set(identity.cohorts.map((partition) => addresses.cohort(partition, identity).node));
  return { nodes: [...nodes].map((node) => topology.numberOf(node)), map: identity.map };
}

/**
 * Whether a request comes under an Idempotency-Key: other nodes may have sent the request, in other maps. A counted
 * commit names all its attempts.
 */
export const isKeyed = ({ snapshot, sentAfter, queue }: Pick<CommitReq, 'snapshot' | 'sentAfter' | 'queue'>): boolean =>
  queue === undefined && snapshot !== null && isRepeatable({ sentAfter, ust: snapshot });

/** The map of an attempt that commits again, by its number; undefined for any other attempt. */
export const mapOfRound = (attempt: number): number | undefined =>
  attempt < ROUNDS ? undefined : Math.floor(attempt / ROUNDS);

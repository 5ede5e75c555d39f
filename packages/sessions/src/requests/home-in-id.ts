/**
 * Where a write over HTTP is decided, as part of its transaction id (D4, retries anywhere). A repetition through any
 * node of any region has only the id, and must be the same attempt with the same cohorts. So the id names the home and
 * the regions that the attempt avoids:
 *
 * - the id of a node: the region of the node, and the regions that did not answer it;
 * - the id of an Idempotency-Key: the region that the key names (`virginia:…`), or a region that the text of the key
 *   selects, the same one everywhere. Such an attempt avoids no region, as a repetition could not know which.
 */
import {
  hashKey,
  type IsochronError,
  packWall,
  type RegionId,
  type Timestamp,
  type Topology,
  type TxId,
} from '@isochron/core';
import type { CommitReq } from '@isochron/protocols';

/** The attempt of a write: the same in every repetition. */
export interface HomeInId {
  readonly home: RegionId;
  /** The avoided regions, sorted. */
  readonly avoid: readonly RegionId[];
}

/** Characters of the random part of an id. */
export const RANDOM_PART = 22;
const MARK = '-A';
/**
 * After the random part: the mark, the position of the home in the cluster file, and the avoided regions as bits in the
 * same order, both in base 36.
 */
const NAMED = /^[A-Za-z0-9_-]{22}-A([0-9a-z]{1,2})(?:-([0-9a-z]{1,9}))?\./;
/** More regions do not fit in the bits. */
const MAX_AVOIDED = 40;

/** The part of a new id before its counter. @param random a text of {@link RANDOM_PART} characters */
export function partWithHome(random: string, { home, avoid }: HomeInId, { regions }: Topology): string {
  const named = regions.slice(0, MAX_AVOIDED).filter((region) => avoid.includes(region));
  const marked = `${random}${MARK}${regions.indexOf(home).toString(36)}`;
  if (named.length === 0 || named.length === regions.length) return marked;
  const bits = named.reduce((sum, region) => sum + 2 ** regions.indexOf(region), 0);
  return `${marked}-${bits.toString(36)}`;
}

/** The attempt that an id names; undefined for the ids of sessions, whose clients name their attempts. */
export function homeInId(txId: TxId, { regions }: Topology): HomeInId | undefined {
  if (!txId.startsWith(MARK, RANDOM_PART)) return undefined;
  const [, position, avoided = '0'] = NAMED.exec(txId) ?? [];
  const home = position === undefined ? undefined : regions[Number.parseInt(position, 36)];
  if (home === undefined) return undefined;
  const bits = Number.parseInt(avoided, 36);
  return { home, avoid: regions.filter((_, i) => i < MAX_AVOIDED && Math.floor(bits / 2 ** i) % 2 === 1).sort() };
}

/**
 * The first attempt of a commit over HTTP, on whatever node: its id names the home; it belongs to the node's map.
 * Without a home in the id it is here.
 */
export function attemptInId(
  txId: TxId,
  node: { readonly topology: Topology; readonly region: RegionId; map(): number },
): Pick<CommitReq, 'attemptRegions' | 'avoids' | 'maps'> {
  const { home, avoid } = homeInId(txId, node.topology) ?? { home: node.region, avoid: [] };
  const version = node.map();
  return {
    attemptRegions: [home],
    ...(avoid.length === 0 ? {} : { avoids: [avoid] }),
    ...(version === 0 ? {} : { maps: [version] }),
  };
}

/** Further attempts of a commit over HTTP, and the pause before each: a node may be leaving. */
export const MORE_ATTEMPTS = 8;
export const ATTEMPT_PAUSE_MS = 250;

/** Whether a commit has had no effect, and its next attempt may: a cohort has durably refused the present one (D4). */
export const mayTryAgain = ({ code }: IsochronError, { attemptRegions }: Pick<CommitReq, 'attemptRegions'>): boolean =>
  code === 'TRANSACTION_ABORTED' && attemptRegions.length <= MORE_ATTEMPTS;

/** The attempts of a commit over HTTP, and one more in the node's map, with the same home and no regions to avoid. */
export function withNextAttempt(
  { attemptRegions, avoids, maps }: Pick<CommitReq, 'attemptRegions' | 'avoids' | 'maps'>,
  node: { map(): number },
): Pick<CommitReq, 'attemptRegions' | 'avoids' | 'maps'> {
  return {
    attemptRegions: [...attemptRegions, attemptRegions.at(-1)!],
    avoids: [...(avoids ?? attemptRegions.map(() => [])), []],
    maps: [...(maps ?? attemptRegions.map(() => 0)), node.map()],
  };
}

/** The home of the writes of an Idempotency-Key. */
export function homeOfKey(key: string, { regions }: Topology): RegionId {
  const named = key.slice(0, Math.max(0, key.indexOf(':')));
  return regions.find((region) => region === named) ?? regions[hashKey(key) % regions.length]!;
}

/** Attempts of a write, as many as those of a session's frame. */
const MAX_ATTEMPTS = 16;

/**
 * The attempts of a single operation in a region, whose dependencies only that region is known to have: attempt `n` is
 * in the `n`th region from the home on, counted round, wherever the write is repeated. So each attempt has one region,
 * and those before the last are settled first (D4).
 *
 * @param round how often the attempts of all regions are known to have failed
 * @returns undefined after the last round
 */
export function attemptsAt(
  region: RegionId,
  home: RegionId,
  round: number,
  { regions }: Topology,
): RegionId[] | undefined {
  const [from, count] = [regions.indexOf(home), regions.length];
  const length = ((regions.indexOf(region) - from + count) % count) + 1 + round * count;
  if (length > MAX_ATTEMPTS) return undefined;
  return Array.from({ length }, (_, n) => regions[(from + n) % count]!);
}

/** Longest time in which a request with an Idempotency-Key may be repeated, ms. */
const REPEAT_MS = 600_000;

/**
 * The `sentAfter` of a write that may be a repetition (D5): it lies back by the window in which repeating is safe, 10
 * minutes or half the retention of outcomes where that is less. The `pt` of the first sending is still above that, and
 * a node that has dropped outcomes since then refuses instead of writing twice.
 *
 * The result lies below stable time, also while stable time stands still: so every node recognises a write that may be
 * a repetition.
 */
export const repeatedSentAfter = (ust: Timestamp, nowMs: number, outcomeRetentionMs: number): Timestamp =>
  Math.max(0, Math.min(ust - 1, packWall(nowMs - Math.min(REPEAT_MS, outcomeRetentionMs / 2))));

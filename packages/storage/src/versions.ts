/** Versions and lists of them: sizes, order, and the version that a snapshot shows. */
import {
  type Belongs,
  compareVersions,
  contentLength,
  type Dependency,
  type Deps,
  isPlain,
  type StoredVersion,
  type Timestamp,
  timeOf,
  Update,
  type Version,
} from '@isochron/core';

/** Estimate of the heap, and of the bytes on disk and on the wire, that dependencies take. */
export const depsBytes = (deps: Deps | undefined): number => (deps === undefined ? 0 : 32 + 9 * deps.length);

/** The same of dependencies that name keys. */
export const dependsBytes = (depends: readonly Dependency[] | undefined): number =>
  depends?.reduce((sum, { key }) => sum + 100 + key.length, 32) ?? 0;

/** The part of a version that varies in size: its value and its dependencies. */
export const contentBytes = ({ value, deps, depends }: StoredVersion): number =>
  contentLength(value) + depsBytes(deps) + dependsBytes(depends);

/** The freshest of `versions` (oldest first) at or below a snapshot. */
export function visibleIn(versions: readonly StoredVersion[], snapshot: Timestamp): StoredVersion | undefined {
  let i = versions.length - 1;
  // Snapshots are recent: the version is nearly always among the last few.
  for (const near = i - 8; i >= 0 && i > near; i--) {
    const version = versions[i]!;
    if (version.ts <= snapshot) return version;
  }
  return i < 0 ? undefined : versions[indexAtOrBelow(versions, snapshot, i)];
}

/** The freshest of `versions` (oldest first) that belongs to a snapshot. */
export function freshestIn(versions: readonly StoredVersion[], belongs: Belongs): StoredVersion | undefined {
  for (let i = versions.length - 1; i >= 0; i--) {
    const version = versions[i]!;
    if (belongs(version)) return version;
  }
  return undefined;
}

/** Index of the newest of `versions[0..high]` at or below a timestamp, -1 without such a version. */
export function indexAtOrBelow(versions: readonly StoredVersion[], ts: Timestamp, high = versions.length - 1): number {
  let low = 0;
  let above = high + 1;
  while (low < above) {
    const middle = (low + above) >>> 1;
    if (versions[middle]!.ts <= ts) low = middle + 1;
    else above = middle;
  }
  return low - 1;
}

/**
 * Inserts a version in its place in `versions`, oldest first. If it is there already it stays `known`; but its fold,
 * which a peer has collected, replaces an update or a late write.
 */
export function insertSorted(versions: StoredVersion[], version: StoredVersion): 'inserted' | 'replaced' | 'known' {
  let i = versions.length;
  for (; i > 0; i--) {
    const order = compareVersions(versions[i - 1]!, version);
    if (order === 0) return replaceByFold(versions, i - 1, version);
    if (order < 0) break;
  }
  if (i === versions.length) versions.push(version);
  else versions.splice(i, 0, version);
  return 'inserted';
}

/** The fold of a late write that has no effect has a later time: that of the change which has overtaken the write. */
function replaceByFold(versions: StoredVersion[], at: number, version: StoredVersion): 'replaced' | 'known' {
  const known = versions[at]!;
  const isFolded = known.value instanceof Update || timeOf(version) > timeOf(known);
  if (version.value instanceof Update || !isFolded) return 'known';
  versions[at] = version;
  return 'replaced';
}

/** Whether a version is the fold of all versions up to it. */
export const isFold = (versions: readonly StoredVersion[], at: number): boolean =>
  isPlain(versions[at]!) || (at === 0 && !(versions[at]!.value instanceof Update));

/**
 * The timestamp up to which a version counts as collectable under a floor. An update at the floor itself stays: the
 * snapshot of exactly its timestamp has to show which version made the document (F7).
 */
export const collectable = (version: StoredVersion, floor: Timestamp): Timestamp =>
  isPlain(version) ? floor : floor - 1;

/** Replaces a version in `versions` by its fold, if it is there. */
export function settleIn(versions: StoredVersion[], fold: Version): void {
  const at = indexAtOrBelow(versions, fold.ts);
  for (let i = at; i >= 0 && versions[i]!.ts === fold.ts; i--)
    if (compareVersions(versions[i]!, fold) === 0) versions[i] = fold;
}

/** Versions and lists of them: sizes, order, and the version that a snapshot shows. */
import {
  type Belongs,
  compareVersions,
  contentLength,
  type Dependency,
  type Deps,
  invariant,
  isPlain,
  type StoredVersion,
  type Timestamp,
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

/** A version as reads return it. */
export function asRead(version: StoredVersion): Version {
  invariant(isPlain(version), 'an update is folded before it is read');
  return version;
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

/** Inserts a version in its place in `versions`, oldest first. Returns its index, or -1 when it was there already. */
export function insertSorted(versions: StoredVersion[], version: StoredVersion): number {
  let i = versions.length;
  for (; i > 0; i--) {
    const order = compareVersions(versions[i - 1]!, version);
    if (order === 0) return -1;
    if (order < 0) break;
  }
  if (i === versions.length) versions.push(version);
  else versions.splice(i, 0, version);
  return i;
}

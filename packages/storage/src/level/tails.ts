import {
  type Belongs,
  compareVersions,
  isPlain,
  type StoredVersion,
  type Timestamp,
  type Version,
} from '@isochron/core';
import type { Changes } from '../checkpoint/changes.js';
import { corrupt } from '../failure.js';
import type { Chain } from '../memory/chain.js';
import type { Folder } from '../memory/folds.js';
import { collectable, contentBytes, freshestIn, insertSorted, settleIn, visibleIn } from '../versions.js';
import { type Disk, type DiskSnapshot, readNow } from './disk.js';
import type { PartitionKeys } from './disk-keys.js';
import { openSegment, sealSegment } from './records.js';

/** A new segment is closed at either of these; a late version may still be put into it. */
const SEGMENT_VERSIONS = 16;
const SEGMENT_BYTES = 16 * 1024;
/** A segment that late versions made longer is divided. */
const MAX_SEGMENT_VERSIONS = 64;

/** Names the segments of a key. */
export interface TailRef {
  readonly keys: PartitionKeys;
  readonly key: string;
  readonly first: number;
  readonly last: number;
}

export const tailOf = ({ partition: { keys }, key, first, last }: Chain): TailRef => ({ keys, key, first, last });

/** Cuts versions (oldest first) into segments. */
export function cutSegments(versions: readonly StoredVersion[]): StoredVersion[][] {
  const segments: StoredVersion[][] = [];
  let current: StoredVersion[] = [];
  let bytes = 0;
  for (const version of versions) {
    if (current.length > 0 && (current.length === SEGMENT_VERSIONS || bytes > SEGMENT_BYTES)) {
      segments.push(current);
      current = [];
      bytes = 0;
    }
    current.push(version);
    bytes += contentBytes(version);
  }
  if (current.length > 0) segments.push(current);
  return segments;
}

function openStored(bytes: Buffer | undefined, diskKey: string): StoredVersion[] {
  if (bytes === undefined) throw corrupt(diskKey, 'missing', 'it is missing');
  return openSegment(bytes, diskKey);
}

/**
 * The part of long chains that is not in their heads. LevelDB has no synchronous iterator, so segments have consecutive
 * numbers and are found by binary search: usually the newest one has the version.
 */
export class Tails {
  constructor(
    readonly disk: Disk,
    readonly changes: Changes,
  ) {}

  /** Puts a segment, or replaces one; readable at once. */
  write({ partition, key }: Chain, segment: number, versions: readonly StoredVersion[]): void {
    this.changes.put(partition.keys.segment(key, segment), versions, sealSegment);
  }

  /** Removes a segment. */
  remove({ partition, key }: Chain, segment: number): void {
    this.changes.del(partition.keys.segment(key, segment));
  }

  /** A segment that LevelDB does not hold. */
  #pending(diskKey: string): readonly StoredVersion[] | undefined {
    return this.changes.pending(diskKey) as readonly StoredVersion[] | undefined;
  }

  /** The versions of a segment, as a copy that the caller owns; through a `view`, as they were on disk then. */
  read(tail: TailRef, segment: number, view?: DiskSnapshot): StoredVersion[] {
    const diskKey = tail.keys.segment(tail.key, segment);
    const pending = view === undefined ? this.#pending(diskKey) : undefined;
    if (pending !== undefined) return [...pending];
    return openStored(readNow(this.disk, diskKey, view), diskKey);
  }

  /**
   * The versions of all segments, oldest first, without blocking the thread; undefined when a commit or the collector
   * changes the segments meanwhile.
   */
  async readAll(chain: Chain): Promise<StoredVersion[] | undefined> {
    const { first, last, tailCount, partition, key } = chain;
    const diskKeys: string[] = [];
    for (let segment = first; segment <= last; segment++) diskKeys.push(partition.keys.segment(key, segment));
    const pending = diskKeys.map((diskKey) => this.#pending(diskKey));
    const stored = await this.disk.getMany(diskKeys);
    // Each removal raises `first`, and each added version is counted.
    if (chain.first !== first || chain.tailCount !== tailCount) return undefined;
    return diskKeys.flatMap((diskKey, i) => pending[i] ?? openStored(stored[i], diskKey));
  }

  /** Every version of a chain, oldest first, read synchronously. */
  whole(chain: Chain): StoredVersion[] {
    const tail = tailOf(chain);
    const versions: StoredVersion[] = [];
    for (let segment = tail.first; segment <= tail.last; segment++) versions.push(...this.read(tail, segment));
    return [...versions, ...chain.versions.slice(chain.headStart)];
  }

  /** The freshest version that belongs to a snapshot. */
  find(tail: TailRef, belongs: Belongs): StoredVersion | undefined {
    for (let segment = tail.last; segment >= tail.first; segment--) {
      const found = freshestIn(this.read(tail, segment), belongs);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** The freshest version at or below a snapshot. */
  visible(tail: TailRef, snapshot: Timestamp, view?: DiskSnapshot): StoredVersion | undefined {
    const found = this.#newest(tail, (oldest) => oldest.ts <= snapshot, view);
    return found === undefined ? undefined : visibleIn(found.versions, snapshot);
  }

  /**
   * Versions of the segments, newest first. `isBelow` holds for those that are wanted: all from one of them on down.
   */
  *newestFirst(tail: TailRef, isBelow: (version: StoredVersion) => boolean): Generator<StoredVersion> {
    const newest = this.#newest(tail, isBelow);
    if (newest === undefined) return;
    for (let segment = newest.segment; segment >= tail.first; segment--) {
      const versions = segment === newest.segment ? newest.versions : this.read(tail, segment);
      for (let i = versions.length - 1; i >= 0; i--) if (isBelow(versions[i]!)) yield versions[i]!;
    }
  }

  /** The newest segment whose oldest version fits; `fits` holds for all segments below it too. */
  #newest(tail: TailRef, fits: (oldest: StoredVersion) => boolean, view?: DiskSnapshot) {
    let found: { segment: number; versions: StoredVersion[] } | undefined;
    let low = tail.first;
    let high = tail.last;
    for (let middle = high; low <= high; middle = (low + high) >> 1) {
      const versions = this.read(tail, middle, view);
      if (fits(versions[0]!)) {
        found = { segment: middle, versions };
        low = middle + 1;
      } else high = middle - 1;
    }
    return found;
  }

  /** Adds late versions, older than the chain's head. Returns those that were not there so already. */
  insert(chain: Chain, late: readonly StoredVersion[]): StoredVersion[] {
    const tail = tailOf(chain);
    const edits = new Map<number, StoredVersion[]>();
    const added = late.filter((version) => {
      const segment = this.#newest(tail, (oldest) => compareVersions(oldest, version) <= 0)?.segment ?? tail.first;
      const versions = edits.get(segment) ?? this.read(tail, segment);
      edits.set(segment, versions);
      const done = insertSorted(versions, version);
      if (done === 'inserted') chain.tailCount++;
      return done !== 'known';
    });
    this.#divide(tail, edits, chain);
    for (const [segment, versions] of edits) this.write(chain, segment, versions);
    for (let gone = chain.last + 1; gone <= tail.last; gone++) this.remove(chain, gone);
    return added;
  }

  /** Cuts all segments from the lowest overlong one on anew, so that their numbers stay consecutive. */
  #divide(tail: TailRef, edits: Map<number, StoredVersion[]>, chain: Chain): void {
    const overlong = [...edits].filter(([, versions]) => versions.length > MAX_SEGMENT_VERSIONS).map(([n]) => n);
    if (overlong.length === 0) return;
    const from = Math.min(...overlong);
    const versions: StoredVersion[] = [];
    for (let n = from; n <= tail.last; n++) {
      versions.push(...(edits.get(n) ?? this.read(tail, n)));
      edits.delete(n);
    }
    const segments = cutSegments(versions);
    segments.forEach((segment, i) => {
      edits.set(from + i, segment);
    });
    chain.last = from + segments.length - 1;
  }

  /**
   * Removes segments, oldest first, that lie below the newest version at or below the floor; at most `budget` of them.
   * The version above them, if it is an update, becomes the fold of all (F3). Returns how many were removed.
   */
  collect(chain: Chain, floor: Timestamp, budget: number, folder: Folder): number {
    const tail = tailOf(chain);
    let removed = 0;
    let below: Version | undefined;
    for (let oldest: StoredVersion[] | undefined; removed < budget && chain.segments > 0; removed++) {
      const next = chain.segments > 1 ? this.read(tail, chain.first + 1) : undefined;
      const above = next === undefined ? chain.versions[chain.headStart]! : next[0]!;
      if (above.ts > collectable(above, floor)) break;
      const gone = oldest ?? this.read(tail, chain.first);
      below = folder.over(below, gone);
      chain.tailCount -= gone.length;
      this.remove(chain, chain.first++);
      oldest = next;
    }
    if (removed > 0) this.#settleOldest(chain, below, folder);
    return removed;
  }

  /** The oldest version of the chain is the fold of everything that was below it. */
  #settleOldest(chain: Chain, below: Version | undefined, folder: Folder): void {
    const segment = chain.segments > 0 ? this.read(tailOf(chain), chain.first) : undefined;
    const oldest = segment === undefined ? chain.versions[chain.headStart]! : segment[0]!;
    if (isPlain(oldest)) return;
    const fold = folder.over(below, [oldest])!;
    settleIn(chain.versions, fold);
    if (segment === undefined) return;
    settleIn(segment, fold);
    this.write(chain, chain.first, segment);
  }
}

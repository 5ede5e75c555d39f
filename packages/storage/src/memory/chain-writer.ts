import { compareVersions, isPlain, type StoredVersion, type Timestamp } from '@isochron/core';
import type { Changes } from '../checkpoint/changes.js';
import { cutSegments, type Tails } from '../level/tails.js';
import { contentBytes, indexAtOrBelow, insertSorted, isFold } from '../versions.js';
import { type Chain, Removal } from './chain.js';
import type { ChainCache } from './chain-cache.js';
import type { Folder, KeptFolds } from './folds.js';

/** A head that outgrows either of these moves its older versions to a segment, and keeps at least one. */
const HEAD_VERSIONS = 8;
const HEAD_BYTES = 4096;
/** The versions that it keeps then: some room to grow, so that not every write spills. */
const KEPT_VERSIONS = 4;
const KEPT_BYTES = 2048;
/** Older versions that stay in memory behind the head: reads lag behind writes. */
const MEMORY_VERSIONS = 256;
const MEMORY_BYTES = 128 * 1024;
/** Their sizes are summed up once in this many writes, or whenever versions are large. */
const MEMORY_CHECK = 32;
const LARGE_BYTES = MEMORY_BYTES / MEMORY_CHECK;
/** At most this many segments are removed in one visit. */
const SEGMENTS_PER_VISIT = 64;

/** Changes chains in memory, and adds the changes to the next checkpoint. */
export class ChainWriter {
  constructor(
    readonly tails: Tails,
    readonly cache: ChainCache,
    readonly changes: Changes,
    readonly folder: Folder,
  ) {}

  /** Carries out the chain's next `count` staged changes, and prunes. */
  add(chain: Chain, count: number): void {
    this.#rewrite(chain, () => {
      let changed = this.#change(chain, count);
      changed = this.#prune(chain) || changed;
      return this.#spill(chain) || changed;
    });
    const { gcFloor } = chain.partition.horizons;
    chain.partition.track(chain, ripeAt(chain, gcFloor));
  }

  /** Late versions are added together, but none is moved past a removal. */
  #change(chain: Chain, count: number): boolean {
    let changed = false;
    let late: StoredVersion[] | undefined;
    for (let i = 0; i < count; i++) {
      const change = chain.staged![i]!;
      chain.changed(change);
      if (chain.folds !== null) dropFolds(chain.folds, change);
      if (change instanceof Removal) {
        if (late !== undefined) changed = this.#addLate(chain, late) || changed;
        late = undefined;
        changed = this.#remove(chain, change) || changed;
      } else if (chain.isDeep(change)) {
        late ??= [];
        late.push(change);
      } else {
        const done = insertSorted(chain.versions, change);
        if (done === 'inserted') chain.headCount++;
        changed = done !== 'known' || changed;
      }
    }
    return late === undefined ? changed : this.#addLate(chain, late) || changed;
  }

  /**
   * Takes a version out. A chain with segments is read as a whole and becomes all head, from which `#spill` cuts new
   * segments: removals are rare, since only a lost disk needs them. Segment numbers go on behind the old ones, see
   * `Tails.readAll`.
   */
  #remove(chain: Chain, removal: Removal): boolean {
    const versions = chain.whole ? chain.versions : this.tails.whole(chain);
    const kept = versions.filter((version) => !removal.matches(version));
    if (kept.length === versions.length) return false;
    this.#removeSegments(chain);
    chain.versions = kept;
    chain.headCount = kept.length;
    return true;
  }

  /** Removes the versions that the floor allows. Returns false when it stopped at its budget. */
  tidy(chain: Chain): boolean {
    const { gcFloor } = chain.partition.horizons;
    let removed = 0;
    this.#rewrite(chain, () => {
      removed = this.tails.collect(chain, gcFloor, SEGMENTS_PER_VISIT, this.folder);
      if (removed > 0 && chain.segments === 0) chain.versions.splice(0, chain.headStart);
      return this.#prune(chain) || removed > 0;
    });
    const done = removed < SEGMENTS_PER_VISIT;
    chain.partition.track(chain, done ? Math.max(gcFloor + 1, ripeAt(chain, gcFloor)) : 0);
    return done;
  }

  #rewrite(chain: Chain, change: () => boolean): void {
    this.changes.beforeChange(chain);
    const { counters } = chain.partition;
    const versions = chain.headCount + chain.tailCount;
    if (!change()) return;
    counters.versions += chain.headCount + chain.tailCount - versions;
    this.changes.changed(chain);
    const stored = chain.headCount > 0;
    const untidy = chain.isUntidy();
    counters.keys += Number(stored) - Number(chain.stored);
    counters.untidy += Number(untidy) - Number(chain.untidy);
    chain.stored = stored;
    chain.untidy = untidy;
    this.#trim(chain);
    if (chain.needsMeasuring) this.cache.resize(chain);
  }

  #addLate(chain: Chain, late: readonly StoredVersion[]): boolean {
    const { whole } = chain;
    const added = this.tails.insert(chain, late);
    for (const version of added) {
      // Below the oldest version in memory there may be others that are not: memory must stay without a gap.
      if (whole || compareVersions(version, chain.versions[0]!) >= 0) insertSorted(chain.versions, version);
    }
    return added.length > 0;
  }

  /** The cheap part of pruning, from memory alone; the collector does the rest. */
  #prune(chain: Chain): boolean {
    const { versions } = chain;
    const floor = chain.partition.horizons.gcFloor;
    let keep = indexAtOrBelow(versions, floor);
    if (keep < chain.headStart || keep < 0 || chain.segments > SEGMENTS_PER_VISIT) return false;
    if (!isPlain(versions[keep]!)) {
      // The collector folds segments.
      keep = chain.segments > 0 ? -1 : indexAtOrBelow(versions, floor - 1);
      if (keep < 0) return false;
    }
    const isFolded = this.#foldAt(versions, keep);
    chain.folds?.dropUpTo(versions[keep]!);
    // A tombstone goes with the last version that it hides.
    const from = versions[keep]!.value === null ? keep + 1 : keep;
    if (from === 0 && chain.segments === 0) return isFolded;
    this.#removeSegments(chain);
    versions.splice(0, from);
    chain.headCount = versions.length;
    return true;
  }

  /** Makes a version the fold of all versions up to it. Returns false for a version that is its own fold. */
  #foldAt(versions: StoredVersion[], at: number): boolean {
    if (isFold(versions, at)) return false;
    versions[at] = this.folder.over(undefined, versions.slice(0, at + 1))!;
    return true;
  }

  #removeSegments(chain: Chain): void {
    for (; chain.first <= chain.last; chain.first++) this.tails.remove(chain, chain.first);
    chain.tailCount = 0;
  }

  #spill(chain: Chain): boolean {
    if (!isOverfull(chain)) return false;
    const { versions } = chain;
    let kept = 1;
    for (let bytes = contentBytes(versions.at(-1)!); kept < KEPT_VERSIONS; kept++) {
      bytes += contentBytes(versions.at(-1 - kept)!);
      if (bytes > KEPT_BYTES) break;
    }
    const spilled = versions.slice(chain.headStart, versions.length - kept);
    for (const segment of cutSegments(spilled)) {
      this.tails.write(chain, ++chain.last, segment);
    }
    chain.tailCount += spilled.length;
    chain.headCount = kept;
    return true;
  }

  #trim(chain: Chain): void {
    const { versions } = chain;
    let oldest = chain.headStart;
    const due = oldest > MEMORY_VERSIONS || oldest % MEMORY_CHECK === 0 || contentBytes(versions.at(-1)!) > LARGE_BYTES;
    if (oldest === 0 || !due) return;
    for (let bytes = 0; oldest > 0 && bytes <= MEMORY_BYTES; oldest--) bytes += contentBytes(versions[oldest - 1]!);
    if (oldest === 0 && chain.headStart <= MEMORY_VERSIONS) return;
    // Half at once, so that a hot chain is not moved at every write.
    versions.splice(0, Math.max(oldest, chain.headStart - MEMORY_VERSIONS / 2));
  }
}

/** Drops the kept folds that a change concerns. A removal names no region: the lowest one may be it. */
function dropFolds(folds: KeptFolds, change: StoredVersion | Removal): void {
  folds.dropFrom(change instanceof Removal ? { ts: change.ts, txId: change.txId, region: '' } : change);
}

/** Whether the head holds more than it should. */
function isOverfull(chain: Chain): boolean {
  if (chain.headCount <= 1) return false;
  if (chain.headCount > HEAD_VERSIONS) return true;
  let bytes = 0;
  for (let i = chain.headStart; i < chain.versions.length; i++) bytes += contentBytes(chain.versions[i]!);
  return bytes > HEAD_BYTES;
}

/** The floor from which on a part of an untidy chain can be collected. */
export function ripeAt(chain: Chain, floor: Timestamp): Timestamp {
  if (chain.segments > 0) return floor + 1;
  return chain.versions[chain.headCount > 1 ? 1 : 0]?.ts ?? 0;
}

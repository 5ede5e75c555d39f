/** Folds of updates and late writes into the document below them (F1), and the results that a chain keeps (F3). */
import { compareVersions, foldVersions, isPlain, type StoredVersion, type Version } from '@isochron/core';

/** Updates between two kept results when many are folded at once. */
const PART = 256;
/** Results that one chain keeps, and their bytes. */
const MAX_KEPT = 16;
const MAX_KEPT_BYTES = 4 * 1024 * 1024;

/** Folds updates, and counts them. */
export class Folder {
  /** Updates that were folded so far. */
  folded = 0;

  /** The fold of versions, oldest first, over the fold of everything below them; undefined if there is nothing. */
  over(below: Version | undefined, versions: readonly StoredVersion[]): Version | undefined {
    let base = below;
    let updates = versions.length;
    while (updates > 0 && !isPlain(versions[updates - 1]!)) updates--;
    const plain = versions[updates - 1];
    if (plain !== undefined && isPlain(plain)) base = plain;
    return updates === versions.length ? base : this.#fold(base, versions.slice(updates));
  }

  /**
   * The fold that ends with an update.
   * @param older the versions of the snapshot below it, newest first, read as far as they are needed
   * @param kept results of the chain, from which the fold may begin and to which it adds
   */
  upTo(newest: StoredVersion, older: Iterable<StoredVersion>, kept?: KeptFolds): Version {
    const { result: known, position = 0 } = kept?.atOrBelow(newest) ?? {};
    let base = known;
    const updates: StoredVersion[] = [];
    for (const version of above(known, newest, older)) {
      if (isPlain(version)) {
        base = version;
        break;
      }
      updates.push(version);
    }
    updates.reverse();
    for (let i = 0; i < updates.length; i += PART) {
      base = this.#fold(base, updates.slice(i, i + PART));
      kept?.keep(base, position + i + PART);
    }
    return base!;
  }

  #fold(base: Version | undefined, updates: readonly StoredVersion[]): Version {
    this.folded += updates.length;
    return foldVersions(base, updates);
  }
}

/** A version and those below it, as far as they lie above a known fold. */
function* above(known: Version | undefined, newest: StoredVersion, older: Iterable<StoredVersion>) {
  if (known !== undefined && compareVersions(newest, known) === 0) return;
  yield newest;
  for (const version of older) {
    if (known !== undefined && compareVersions(version, known) <= 0) return;
    yield version;
  }
}

/** A result, and the number of updates that were folded into it and those before it. */
interface Kept {
  readonly result: Version;
  readonly position: number;
}

/**
 * Results of a chain, each the fold of all versions up to the one that it is named after. Reads add to them; a change
 * of the chain drops those that it concerns. The older a snapshot is, the wider are the gaps between them.
 */
export class KeptFolds {
  /** Oldest first. */
  readonly #kept: Kept[] = [];
  bytes = 0;

  /** The newest one at or below a version. */
  atOrBelow(version: StoredVersion): Kept | undefined {
    return this.#kept.findLast(({ result }) => compareVersions(result, version) <= 0);
  }

  keep(result: Version, position: number): void {
    const at = this.#kept.findLastIndex((other) => compareVersions(other.result, result) < 0) + 1;
    this.#kept.splice(at, 0, { result, position });
    this.bytes += sizeOf(result);
    while (this.#kept.length > MAX_KEPT || (this.bytes > MAX_KEPT_BYTES && this.#kept.length > 2)) this.#thin();
  }

  /** A version was added, replaced or removed: results that contain its place are wrong. */
  dropFrom(version: Pick<StoredVersion, 'ts' | 'txId' | 'region'>): void {
    while (this.#kept.length > 0 && compareVersions(this.#kept.at(-1)!.result, version) >= 0)
      this.bytes -= sizeOf(this.#kept.pop()!.result);
  }

  /** Versions up to this one were collected: a tombstone among them may have left nothing that hides older results. */
  dropUpTo(version: StoredVersion): void {
    while (this.#kept.length > 0 && compareVersions(this.#kept[0]!.result, version) <= 0)
      this.bytes -= sizeOf(this.#kept.shift()!.result);
  }

  /** Drops the one whose gap, when it is gone, is the smallest for its age. */
  #thin(): void {
    const newest = this.#kept.at(-1)!.position;
    let thinnest = 1;
    let least = Number.POSITIVE_INFINITY;
    for (let i = 1; i < this.#kept.length - 1; i++) {
      const gap = this.#kept[i + 1]!.position - this.#kept[i - 1]!.position;
      const share = gap / (newest - this.#kept[i]!.position + 1);
      if (share < least) [least, thinnest] = [share, i];
    }
    this.bytes -= sizeOf(this.#kept.splice(thinnest, 1)[0]!.result);
  }
}

const sizeOf = ({ value }: Version): number => 200 + (value?.length ?? 0);

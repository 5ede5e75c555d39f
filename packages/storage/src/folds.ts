/** Folds of updates into the document below them (F1), and the results that a chain keeps (F3). */
import { compareVersions, Fold, isPlain, type StoredVersion, Update, type Version } from '@isochron/core';

/** Updates between two kept results when many are folded at once. */
const PART = 256;
/** Results that one chain keeps, and their bytes; when there are more, every second one goes. */
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
    const known = kept?.atOrBelow(newest);
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
      kept?.keep(base);
    }
    return base!;
  }

  #fold(base: Version | undefined, updates: readonly StoredVersion[]): Version {
    const fold = new Fold(base?.value ?? null, base === undefined ? undefined : originOf(base));
    for (const { ts, txId, value } of updates) if (value instanceof Update) fold.apply(value, { ts, txId });
    this.folded += updates.length;
    const newest = updates.at(-1)!;
    const { origin } = fold;
    const isOwn = origin === undefined || (origin.ts === newest.ts && origin.txId === newest.txId);
    return { ...newest, value: fold.result(), ...(isOwn ? {} : { origin }) };
  }
}

const originOf = ({ ts, txId, origin }: Version) => origin ?? { ts, txId };

/** A version and those below it, as far as they lie above a known fold. */
function* above(known: Version | undefined, newest: StoredVersion, older: Iterable<StoredVersion>) {
  if (known !== undefined && compareVersions(newest, known) === 0) return;
  yield newest;
  for (const version of older) {
    if (known !== undefined && compareVersions(version, known) <= 0) return;
    yield version;
  }
}

/**
 * Results of a chain, each the fold of all versions up to the one that it is named after. Reads add to them; a change
 * of the chain drops those that it concerns. Many are kept for the latest snapshots, few for old ones.
 */
export class KeptFolds {
  /** Oldest first. */
  #kept: Version[] = [];
  bytes = 0;

  /** The newest one at or below a version. */
  atOrBelow(version: StoredVersion): Version | undefined {
    for (let i = this.#kept.length - 1; i >= 0; i--)
      if (compareVersions(this.#kept[i]!, version) <= 0) return this.#kept[i];
    return undefined;
  }

  keep(result: Version): void {
    const at = this.#kept.findLastIndex((other) => compareVersions(other, result) < 0) + 1;
    this.#kept.splice(at, 0, result);
    this.bytes += sizeOf(result);
    if (this.#kept.length > MAX_KEPT || (this.bytes > MAX_KEPT_BYTES && this.#kept.length > 2)) this.#thin();
  }

  /** A version was added, replaced or removed: results that contain its place are wrong. */
  dropFrom(version: Pick<StoredVersion, 'ts' | 'txId' | 'region'>): void {
    while (this.#kept.length > 0 && compareVersions(this.#kept.at(-1)!, version) >= 0)
      this.bytes -= sizeOf(this.#kept.pop()!);
  }

  #thin(): void {
    const newest = this.#kept.length - 1;
    this.#kept = this.#kept.filter((_, i) => i % 2 === 0 || i === newest);
    this.bytes = this.#kept.reduce((sum, result) => sum + sizeOf(result), 0);
  }
}

const sizeOf = ({ value }: Version): number => 200 + (value?.length ?? 0);

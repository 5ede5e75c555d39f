/**
 * Finds the scopes that a key is in, without asking every scope (LQ6): named keys by the key, ranges by the prefix that
 * all their keys share.
 */
import { prefixEnd, type QualifiedKey } from '@isochron/core';
import { inRange, type KeyRange, type Scope } from './scope.js';

/** The holders of one entry. Most entries have one, which needs no set. */
class Holders<H> {
  #one: H | undefined;
  #more: Set<H> | undefined;

  add(holder: H): void {
    if (this.#more !== undefined) this.#more.add(holder);
    else if (this.#one === undefined) this.#one = holder;
    else {
      this.#more = new Set([this.#one, holder]);
      this.#one = undefined;
    }
  }

  /** Returns whether none is left. */
  delete(holder: H): boolean {
    if (this.#one === holder) this.#one = undefined;
    this.#more?.delete(holder);
    return this.#one === undefined && (this.#more?.size ?? 0) === 0;
  }

  visit(visit: (holder: H) => void): void {
    if (this.#one !== undefined) visit(this.#one);
    this.#more?.forEach(visit);
  }
}

interface RangeEntry<H> extends KeyRange {
  readonly holders: Holders<H>;
}

/** The ranges whose keys share one prefix, by their bounds. */
type Bucket<H> = Map<string, RangeEntry<H>>;

export class ScopeIndex<H extends object> {
  readonly #keys = new Map<QualifiedKey, Holders<H>>();
  /** By the length of the prefix, then by the prefix. */
  readonly #ranges = new Map<number, Map<string, Bucket<H>>>();

  add({ keys, ranges }: Scope, holder: H): void {
    for (const key of keys) entry(this.#keys, key, () => new Holders<H>()).add(holder);
    for (const range of ranges) {
      const prefix = sharedPrefix(range);
      const buckets = entry(this.#ranges, prefix.length, () => new Map<string, Bucket<H>>());
      const bucket = entry(buckets, prefix, () => new Map<string, RangeEntry<H>>());
      entry(bucket, boundsOf(range), () => ({ ...range, holders: new Holders<H>() })).holders.add(holder);
    }
  }

  /** A scope that the holder has added, and has no second time. */
  delete({ keys, ranges }: Scope, holder: H): void {
    for (const key of keys) if (this.#keys.get(key)?.delete(holder)) this.#keys.delete(key);
    for (const range of ranges) this.#deleteRange(range, holder);
  }

  /** Calls `visit` with each holder of a scope that has the key, perhaps more than once. */
  find(key: QualifiedKey, visit: (holder: H) => void): void {
    this.#keys.get(key)?.visit(visit);
    for (const [length, buckets] of this.#ranges) {
      const bucket = key.length < length ? undefined : buckets.get(key.slice(0, length));
      if (bucket === undefined) continue;
      for (const range of bucket.values()) if (inRange(range, key)) range.holders.visit(visit);
    }
  }

  #deleteRange(range: KeyRange, holder: H): void {
    const prefix = sharedPrefix(range);
    const buckets = this.#ranges.get(prefix.length);
    const bucket = buckets?.get(prefix);
    const bounds = boundsOf(range);
    if (bucket?.get(bounds)?.holders.delete(holder)) bucket.delete(bounds);
    if (bucket?.size === 0) buckets!.delete(prefix);
    if (buckets?.size === 0) this.#ranges.delete(prefix.length);
  }
}

/** The longest prefix that every key of a range surely has. */
export function sharedPrefix({ start, end }: KeyRange): string {
  if (end === null) return '';
  if (start !== '' && end === prefixEnd(start)) return start;
  let length = 0;
  while (length < start.length && start[length] === end[length]) length++;
  return start.slice(0, length);
}

/** A name of a range. */
const boundsOf = ({ start, end, level }: KeyRange): string => JSON.stringify([start, end, level]);

function entry<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

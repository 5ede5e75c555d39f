/** What a reader follows: named keys, and ranges of keys. */
import { compareKeys, isOfLevel, type PartitionId, prefixEnd, type QualifiedKey, type Topology } from '@isochron/core';

/** Keys from `start` on, below `end`; null for no end. */
export interface KeyRange {
  readonly start: QualifiedKey;
  readonly end: QualifiedKey | null;
  /** Only keys of this level (`levelOf`); absent for all. */
  readonly level?: number | undefined;
}

/** Some keys and ranges, in any order. They may overlap. */
export interface Scope {
  readonly keys: readonly QualifiedKey[];
  readonly ranges: readonly KeyRange[];
}

/** The scope of all keys with a prefix: `''` for all, `todos/` for a keyspace. */
export const prefixScope = (prefix: QualifiedKey): Scope => ({
  keys: [],
  ranges: [{ start: prefix, end: prefix === '' ? null : prefixEnd(prefix) }],
});

/** Whether a range has a key. */
export const inRange = ({ start, end, level }: KeyRange, key: QualifiedKey): boolean =>
  compareKeys(start, key) <= 0 && (end === null || compareKeys(key, end) < 0) && isOfLevel(level, key);

/** The partitions that have keys of a scope. A range lies in one keyspace, or begins at `''` and has all of them. */
export function partitionsOf({ keys, ranges }: Scope, topology: Topology): ReadonlySet<PartitionId> {
  const found = new Set(keys.map((key) => topology.partitionOf(key)));
  for (const { start } of ranges) {
    const all = start === '' ? topology.partitions : topology.partitionsOf(start.slice(0, start.indexOf('/')));
    for (const { id } of all) found.add(id);
  }
  return found;
}

/** The union of scopes, to ask which keys it has. */
export class ScopeUnion {
  /** The named ones. */
  readonly keys: ReadonlySet<QualifiedKey>;
  /** Those of each level, and those of all levels: sorted, and apart from one another. */
  readonly #ranges: readonly (readonly KeyRange[])[];

  constructor(scopes: Iterable<Scope>) {
    const all = [...scopes];
    this.keys = new Set(all.flatMap(({ keys }) => keys));
    const ranges = all.flatMap((scope) => scope.ranges);
    const levels = [...new Set(ranges.map(({ level }) => level))];
    this.#ranges = levels.map((level) => apart(ranges.filter((range) => range.level === level)));
  }

  get hasRanges(): boolean {
    return this.#ranges.length > 0;
  }

  has(key: QualifiedKey): boolean {
    if (this.keys.has(key)) return true;
    return this.#ranges.some((ranges) => {
      const range = ranges[lastFrom(ranges, key)];
      return range !== undefined && inRange(range, key);
    });
  }
}

/** The last range that begins at or below a key; -1 without any. */
function lastFrom(ranges: readonly KeyRange[], key: QualifiedKey): number {
  let [low, high] = [-1, ranges.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (compareKeys(ranges[middle]!.start, key) <= 0) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The same keys, as ranges that do not touch one another; all of them are of one level. */
function apart(ranges: readonly KeyRange[]): KeyRange[] {
  const merged: KeyRange[] = [];
  for (const range of [...ranges].sort((a, b) => compareKeys(a.start, b.start))) {
    const last = merged.at(-1);
    if (last === undefined || (last.end !== null && compareKeys(last.end, range.start) < 0)) merged.push(range);
    else merged[merged.length - 1] = { ...last, end: furthest(last.end, range.end) };
  }
  return merged;
}

const furthest = (a: QualifiedKey | null, b: QualifiedKey | null): QualifiedKey | null =>
  a === null || b === null ? null : compareKeys(a, b) > 0 ? a : b;

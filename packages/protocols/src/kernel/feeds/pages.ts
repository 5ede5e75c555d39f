/** Pages of the logs of partitions, kept a while in memory for the readers that follow them. */
import type { Change, PartitionId, QualifiedKey, Timestamp } from '@isochron/core';
import { contentLength } from '@isochron/core';
import type { ScopeUnion } from './scope.js';

/** All transactions of a partition with `after < ct <= upTo`, in order. */
export interface LogRangePage {
  readonly partition: PartitionId;
  readonly after: Timestamp;
  readonly upTo: Timestamp;
  readonly changes: readonly Change[];
}

/** Estimated size of a page without transactions. */
const EMPTY_BYTES = 256;
/** A page that continues one of at most this size is added to it: readers that are behind take fewer steps. */
const MERGE_BYTES = 16 * 1024;

/** Estimated size of a transaction. */
export const changeBytes = ({ tx }: Pick<Change, 'tx'>): number =>
  tx.writes.reduce((sum, { key, value }) => sum + 32 + key.length + contentLength(value), 96);

/** The transactions of a page above a timestamp. */
export function changesAfter({ changes }: LogRangePage, ts: Timestamp): readonly Change[] {
  let [low, high] = [0, changes.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (changes[middle]!.ct <= ts) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? changes : changes.slice(low);
}

const changesByKey = new WeakMap<LogRangePage, ReadonlyMap<QualifiedKey, readonly Change[]>>();

/** The changes of a page by the keys that they write: made once for all readers that look for a few keys. */
function byKey(page: LogRangePage): ReadonlyMap<QualifiedKey, readonly Change[]> {
  const known = changesByKey.get(page);
  if (known !== undefined) return known;
  const index = new Map<QualifiedKey, Change[]>();
  for (const change of page.changes)
    for (const { key } of change.tx.writes) {
      const changes = index.get(key);
      if (changes === undefined) index.set(key, [change]);
      else if (changes.at(-1) !== change) changes.push(change);
    }
  changesByKey.set(page, index);
  return index;
}

/**
 * The transactions of a page above a timestamp that a scope may have: those of its keys, or all where it has ranges, or
 * about as many keys as the page has transactions.
 */
export function changesFor(page: LogRangePage, ts: Timestamp, { keys, hasRanges }: ScopeUnion): readonly Change[] {
  if (hasRanges || keys.size > page.changes.length) return changesAfter(page, ts);
  const index = byKey(page);
  const found = new Set<Change>();
  for (const key of keys) for (const change of index.get(key) ?? []) if (change.ct > ts) found.add(change);
  return [...found].sort((a, b) => a.ct - b.ct);
}

interface Kept {
  page: LogRangePage;
  bytes: number;
}

export class Pages {
  readonly #of = new Map<PartitionId, Kept[]>();
  /** All of them, the oldest first. */
  readonly #all = new Set<Kept>();
  #bytes = 0;

  constructor(readonly limitBytes: number) {}

  /** Adds a page; the oldest ones go while all take more than the limit. */
  add(page: LogRangePage): void {
    const pages = this.#of.get(page.partition) ?? [];
    this.#of.set(page.partition, pages);
    const bytes = page.changes.reduce((sum, change) => sum + changeBytes(change), 0);
    const last = pages.at(-1);
    if (last?.page.upTo === page.after && last.bytes <= MERGE_BYTES) this.#merge(last, page, bytes);
    else this.#add(pages, page, bytes + EMPTY_BYTES);
  }

  /** A page that begins at or below a timestamp and ends above it. */
  find(partition: PartitionId, ts: Timestamp): LogRangePage | undefined {
    const pages = this.#of.get(partition);
    return pages?.findLast(({ page }) => page.after <= ts && page.upTo > ts)?.page;
  }

  #merge(last: Kept, { upTo, changes }: LogRangePage, bytes: number): void {
    const all = changes.length === 0 ? last.page.changes : [...last.page.changes, ...changes];
    last.page = { ...last.page, upTo, changes: all };
    last.bytes += bytes;
    this.#bytes += bytes;
    this.#shrink(last);
  }

  #add(pages: Kept[], page: LogRangePage, bytes: number): void {
    const kept = { page, bytes };
    pages.push(kept);
    this.#all.add(kept);
    this.#bytes += bytes;
    this.#shrink(kept);
  }

  #shrink(newest: Kept): void {
    for (const oldest of this.#all) {
      if (this.#bytes <= this.limitBytes) return;
      if (oldest === newest) continue;
      this.#all.delete(oldest);
      this.#bytes -= oldest.bytes;
      const pages = this.#of.get(oldest.page.partition)!;
      pages.splice(pages.indexOf(oldest), 1);
    }
  }
}

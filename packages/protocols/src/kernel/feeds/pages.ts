/** Pages of the logs of partitions, kept a while in memory for the readers that follow them. */
import type { Change, PartitionId, Timestamp } from '@isochron/core';
import { contentLength } from '@isochron/core';

/** All transactions of a partition with `after < ct <= upTo`. */
export interface LogRangePage {
  readonly partition: PartitionId;
  readonly after: Timestamp;
  readonly upTo: Timestamp;
  readonly changes: readonly Change[];
}

/** Estimated size of a page without transactions. */
const EMPTY_BYTES = 256;

/** Estimated size of a transaction. */
export const changeBytes = ({ tx }: Pick<Change, 'tx'>): number =>
  tx.writes.reduce((sum, { key, value }) => sum + 32 + key.length + contentLength(value), 96);

interface Kept {
  page: LogRangePage;
  readonly bytes: number;
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
    const last = pages.at(-1);
    if (last !== undefined && last.page.upTo === page.after && page.changes.length === 0) {
      last.page = { ...last.page, upTo: page.upTo };
      return;
    }
    const kept = { page, bytes: page.changes.reduce((sum, change) => sum + changeBytes(change), EMPTY_BYTES) };
    pages.push(kept);
    this.#all.add(kept);
    this.#bytes += kept.bytes;
    this.#shrink(kept);
  }

  /** A page that begins at or below a timestamp and ends above it. */
  find(partition: PartitionId, ts: Timestamp): LogRangePage | undefined {
    const pages = this.#of.get(partition);
    return pages?.findLast(({ page }) => page.after <= ts && page.upTo > ts)?.page;
  }

  #shrink(newest: Kept): void {
    for (const oldest of this.#all) {
      if (this.#bytes <= this.limitBytes || oldest === newest) return;
      this.#all.delete(oldest);
      this.#bytes -= oldest.bytes;
      const pages = this.#of.get(oldest.page.partition)!;
      pages.splice(pages.indexOf(oldest), 1);
    }
  }
}

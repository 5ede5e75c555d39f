import { type CopyPage, isPlain, type ListPage, type ListRange, type Timestamp } from '@isochron/core';
import type { BlockFiles } from '../changelog/block-files.js';
import { entriesOf } from '../changelog/block-reader.js';
import { type LogEntry, PageCutter } from '../changelog/log-entries.js';
import type { HeldLog } from '../changelog/log-page.js';
import { scan } from '../level/disk.js';
import { type DiskRange, type PartitionKeys, restOf } from '../level/disk-keys.js';
import { openHead } from '../level/records.js';
import type { Tails } from '../level/tails.js';
import type { Partition } from '../memory/partition.js';
import { visibleIn } from '../versions.js';
import { CopyBuilder } from './copy-page.js';
import { LATER, PageBuilder } from './list-page.js';

const headsIn = (keys: PartitionKeys, { start, end }: ListRange): DiskRange => ({
  gte: keys.head(start),
  lt: end === null ? keys.heads.lt : keys.head(end),
});

/** Reads one page of a listing from disk. */
export async function scanList(
  tails: Tails,
  { keys }: Partition,
  range: ListRange,
  snapshot: Timestamp,
): Promise<ListPage & Pick<PageBuilder, 'later'>> {
  const builder = new PageBuilder(range.limit);
  // The collector may remove segments meanwhile: heads and segments must come from one snapshot of the disk.
  const view = tails.disk.snapshot();
  const visit = (diskKey: string, bytes: Buffer) => {
    const key = restOf(diskKey);
    return builder.add(key, () => {
      const { versions, first, last } = openHead(bytes, diskKey);
      const version = visibleIn(versions, snapshot);
      const shown = version ?? (first > last ? version : tails.visible({ keys, key, first, last }, snapshot, view));
      return shown === undefined || isPlain(shown) ? shown : LATER;
    });
  };
  try {
    await scan(tails.disk, headsIn(keys, range), visit, view);
  } finally {
    await view.close();
  }
  return { entries: builder.entries, next: builder.next, later: builder.later };
}

/** Reads one page of whole chains from disk. */
export async function scanChains(tails: Tails, { keys }: Partition, range: ListRange): Promise<CopyPage> {
  const builder = new CopyBuilder(range.limit);
  const view = tails.disk.snapshot();
  const visit = (diskKey: string, bytes: Buffer) => {
    const key = restOf(diskKey);
    return builder.add(key, () => {
      const { versions, first, last } = openHead(bytes, diskKey);
      const whole = [];
      for (let segment = first; segment <= last; segment++) {
        whole.push(...tails.read({ keys, key, first, last }, segment, view));
      }
      return [...whole, ...versions];
    });
  };
  try {
    await scan(tails.disk, headsIn(keys, range), visit, view);
  } finally {
    await view.close();
  }
  return { chains: builder.chains, next: builder.next };
}

/** Puts entries, which come in order, into a page of the log. */
class PageFiller {
  readonly #cutter = new PageCutter();
  /** How far the page is complete, once it has all of them that it should. */
  #end: Timestamp | undefined;

  constructor(readonly page: HeldLog) {}

  get completeUpTo(): Timestamp {
    return this.#end ?? this.page.range.upTo;
  }

  /** Returns whether the page wants more. */
  add(entry: LogEntry): boolean {
    const { after, upTo } = this.page.range;
    if (entry.ct <= after) return true;
    if (entry.ct > upTo) this.#end = upTo;
    else {
      if (this.#cutter.endsBefore(entry)) this.#end = this.#cutter.lastCt;
      else this.page.fill(entry);
    }
    return this.#end === undefined;
  }
}

/** Reads one page of the log from disk. */
export async function scanLog(files: BlockFiles, partition: Partition, page: HeldLog): Promise<void> {
  const { upTo } = page.range;
  const after = Math.max(page.range.after, partition.horizons.logTruncatedUpTo);
  // Those of now: what a later checkpoint writes is in the page already.
  const blocks = partition.blocks.above(after).filter(({ first }) => first <= upTo);
  const filler = new PageFiller(page);
  for await (const entry of entriesOf(files, partition, blocks)) if (!filler.add(entry)) break;
  page.finish(filler.completeUpTo);
}

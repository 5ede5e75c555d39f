import { type Change, type CopyPage, isPlain, type ListPage, type ListRange, type Timestamp } from '@isochron/core';
import { type BlockMedia, entriesOf } from './block-reader.js';
import { CopyBuilder } from './copy-page.js';
import { type Disk, scan } from './disk.js';
import { type BlockName, type DiskRange, type PartitionKeys, restOf, timeAndTx } from './disk-keys.js';
import { LATER, PageBuilder } from './list-page.js';
import { type LogEntry, logEntry, PageCutter } from './log-entries.js';
import type { HeldLog } from './log-page.js';
import type { Partition } from './partition.js';
import { LOGGED, openAs, openHead, RECEIVED } from './records.js';
import type { Tails } from './tails.js';
import { visibleIn } from './versions.js';

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

/** The transactions that a record of the log holds. */
type Opener = (bytes: Buffer, diskKey: string) => Change;

const openOwn: Opener = (bytes, diskKey) => {
  const { ts, txId } = timeAndTx(restOf(diskKey));
  return { ct: ts, tx: { txId, ...openAs(LOGGED, bytes, diskKey) } };
};

const openReceived: Opener = (bytes, diskKey) => {
  const { ts, txId } = timeAndTx(restOf(diskKey));
  const { source, ...tx } = openAs(RECEIVED, bytes, diskKey);
  return { ct: ts, tx: { txId, ...tx }, source };
};

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
export async function scanLog(media: BlockMedia, partition: Partition, page: HeldLog): Promise<void> {
  const { keys, horizons, entriesUpTo } = partition;
  const { upTo } = page.range;
  const after = Math.max(page.range.after, horizons.logTruncatedUpTo);
  // Those of now: what a later checkpoint writes is in the page already.
  const blocks = partition.blocks.above(after).filter(({ first }) => first <= upTo);
  let complete = await scanBlocks(media, partition, blocks, page);
  if (entriesUpTo > after) {
    // Blocks come first: they may replace these.
    complete = Math.min(complete, await scanEntries(media.disk, keys.logBetween(after, upTo), openOwn, page));
    complete = Math.min(complete, await scanEntries(media.disk, keys.receivedBetween(after, upTo), openReceived, page));
  }
  page.finish(complete);
}

/** Reads a page of blocks. Returns how far it is complete. */
async function scanBlocks(
  media: BlockMedia,
  partition: Partition,
  blocks: readonly BlockName[],
  page: HeldLog,
): Promise<Timestamp> {
  const filler = new PageFiller(page);
  for await (const entry of entriesOf(media, partition, blocks)) if (!filler.add(entry)) break;
  return filler.completeUpTo;
}

/** The same of one kind of record of earlier versions. */
async function scanEntries(disk: Disk, range: DiskRange, open: Opener, page: HeldLog): Promise<Timestamp> {
  const filler = new PageFiller(page);
  await scan(disk, range, (diskKey, bytes) => filler.add(logEntry(open(bytes, diskKey))));
  return filler.completeUpTo;
}

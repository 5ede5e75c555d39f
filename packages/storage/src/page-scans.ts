import { type Change, type CopyPage, isPlain, type ListPage, type ListRange, type Timestamp } from '@isochron/core';
import { CopyBuilder } from './copy-page.js';
import { type Disk, scan } from './disk.js';
import { type DiskRange, type PartitionKeys, restOf, timeAndTx } from './disk-keys.js';
import { LATER, PageBuilder } from './list-page.js';
import { logEntry, PageCutter } from './log-entries.js';
import type { HeldLog } from './log-page.js';
import type { Partition } from './partition.js';
import { LOG_BLOCK, LOGGED, openAs, openHead, RECEIVED } from './records.js';
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
type Opener = (bytes: Buffer, diskKey: string) => readonly Change[];

const openOwn: Opener = (bytes, diskKey) => {
  const { ts, txId } = timeAndTx(restOf(diskKey));
  return [{ ct: ts, tx: { txId, ...openAs(LOGGED, bytes, diskKey) } }];
};

const openReceived: Opener = (bytes, diskKey) => {
  const { ts, txId } = timeAndTx(restOf(diskKey));
  const { source, ...tx } = openAs(RECEIVED, bytes, diskKey);
  return [{ ct: ts, tx: { txId, ...tx }, source }];
};

const openBlock: Opener = (bytes, diskKey) => openAs(LOG_BLOCK, bytes, diskKey);

/** Reads one page of the log from disk. */
export async function scanLog(disk: Disk, { keys, horizons }: Partition, page: HeldLog): Promise<void> {
  const { upTo } = page.range;
  const after = Math.max(page.range.after, horizons.logTruncatedUpTo);
  const parts: readonly (readonly [DiskRange, Opener])[] = [
    [keys.logBetween(after, upTo), openOwn],
    [keys.receivedBetween(after, upTo), openReceived],
    [keys.blocksAbove(after), openBlock],
  ];
  let complete = upTo;
  for (const [range, open] of parts) complete = Math.min(complete, await scanPart(disk, range, open, page));
  page.finish(complete);
}

/** Reads a page of one kind of record. Returns how far it is complete. */
async function scanPart(disk: Disk, range: DiskRange, open: Opener, page: HeldLog): Promise<Timestamp> {
  const { after, upTo } = page.range;
  const cutter = new PageCutter();
  let end: Timestamp | undefined;
  await scan(disk, range, (diskKey, bytes) => {
    for (const change of open(bytes, diskKey)) {
      if (change.ct <= after) continue;
      if (change.ct > upTo) end = upTo;
      else {
        const entry = logEntry(change);
        if (cutter.endsBefore(entry)) end = cutter.lastCt;
        else page.fill(entry);
      }
      if (end !== undefined) return false;
    }
    return true;
  });
  return end ?? upTo;
}

import { type CopyPage, isPlain, type ListPage, type ListRange, type Timestamp } from '@isochron/core';
import { CopyBuilder } from './copy-page.js';
import { type Disk, scan } from './disk.js';
import { type DiskRange, type PartitionKeys, restOf, timeAndTx } from './disk-keys.js';
import { LATER, PageBuilder } from './list-page.js';
import { logEntry, PageCutter } from './log-entries.js';
import type { HeldLog } from './log-page.js';
import type { Partition } from './partition.js';
import { LOGGED, openAs, openHead } from './records.js';
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

/** Reads one page of the log from disk. */
export async function scanLog(disk: Disk, { keys, horizons }: Partition, page: HeldLog): Promise<void> {
  const cutter = new PageCutter();
  let cut = false;
  const range = keys.logBetween(Math.max(page.after, horizons.logTruncatedUpTo), page.upTo);
  await scan(disk, range, (diskKey, bytes) => {
    const { ts, txId } = timeAndTx(restOf(diskKey));
    const entry = logEntry(ts, { txId, ...openAs(LOGGED, bytes, diskKey) });
    cut = cutter.endsBefore(entry);
    if (!cut) page.fill(entry);
    return !cut;
  });
  page.finish(cut ? cutter.lastCt : page.upTo);
}

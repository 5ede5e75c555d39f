import {
  type Belongs,
  type CopyPage,
  invariant,
  type ListPage,
  type ListRange,
  type LogPage,
  type PartitionId,
  type QualifiedKey,
  type ReadNeeds,
  type Timestamp,
} from '@isochron/core';
import type { ChainReads } from './chain-reads.js';
import type { Changes } from './changes.js';
import type { Checkpoints } from './checkpoints.js';
import { COPY_CHAINS } from './copy-page.js';
import type { Disk } from './disk.js';
import { HeldPage } from './list-page.js';
import { HeldLog } from './log-page.js';
import { scanChains, scanList, scanLog } from './page-scans.js';
import type { Partition } from './partition.js';
import type { Partitions } from './partitions.js';
import type { Pipeline } from './pipeline.js';
import type { Tails } from './tails.js';

/** The needs that pages meet. */
export type PageNeeds = Extract<ReadNeeds, { kind: 'list' | 'log' | 'copy' }>;

/** The parts that pages are read from. */
export interface PageParts {
  readonly disk: Disk;
  readonly tails: Tails;
  readonly partitions: Partitions;
  readonly changes: Changes;
  readonly checkpoints: Checkpoints;
  readonly pipeline: Pipeline;
  readonly chains: ChainReads;
}

/**
 * Pages of listings, of the replication log and of copies: prefetched from LevelDB, and completed with the changes that
 * it lacks.
 */
export class Pages {
  constructor(readonly parts: PageParts) {}

  /** The keys of a range with a value in a snapshot. */
  list(partitionId: PartitionId, range: ListRange, snapshot: Timestamp | Belongs): ListPage {
    const { chains } = this.parts;
    if (typeof snapshot === 'function') {
      const lookUp = (key: QualifiedKey) => chains.find(partitionId, key, snapshot);
      return this.#listed(partitionId, range, 'any').take(snapshot, lookUp);
    }
    const lookUp = (key: QualifiedKey) => chains.read(partitionId, key, snapshot);
    return this.#listed(partitionId, range, snapshot).take(({ ts }) => ts <= snapshot, lookUp);
  }

  /** The log after a timestamp, up to another. */
  log(partitionId: PartitionId, after: Timestamp, upTo: Timestamp): LogPage {
    const { log, logs, horizons } = this.parts.partitions.of(partitionId);
    const from = Math.max(after, horizons.logTruncatedUpTo);
    if (log.covers(from)) return log.page(from, upTo);
    const page = logs.get(HeldLog.nameOf(after, upTo));
    invariant(page !== undefined, 'a page of the log must be prefetched before it is read');
    logs.dropUsedSoon();
    return page.take(horizons.logTruncatedUpTo);
  }

  /** Whole chains from a key on. */
  copy(partitionId: PartitionId, start: QualifiedKey): CopyPage {
    const { copies } = this.parts.partitions.of(partitionId);
    const page = copies.take(start);
    invariant(page !== undefined, 'a page of a copy must be prefetched before it is read');
    return page;
  }

  /** Whether memory has the needed page. */
  resident(partition: Partition, needs: PageNeeds): boolean {
    switch (needs.kind) {
      case 'list':
        return partition.lists.get(HeldPage.nameOf(needs.range, needs.snapshot)) !== undefined;
      case 'log': {
        const after = Math.max(needs.after, partition.horizons.logTruncatedUpTo);
        return partition.log.covers(after) || partition.logs.get(HeldLog.nameOf(needs.after, needs.upTo)) !== undefined;
      }
      case 'copy':
        return false; // a page of another copy may be older than the durable state
    }
  }

  /** Reads the needed page. */
  async load(partition: Partition, needs: PageNeeds): Promise<void> {
    if (needs.kind === 'list') await this.#loadList(partition, needs.range, needs.snapshot);
    else if (needs.kind === 'copy') await this.#loadCopy(partition, needs.start);
    else if (!this.resident(partition, needs)) await this.#loadLog(partition, needs.after, needs.upTo);
  }

  #listed(partitionId: PartitionId, range: ListRange, snapshot: Timestamp | 'any'): HeldPage {
    const { lists } = this.parts.partitions.of(partitionId);
    const page = lists.get(HeldPage.nameOf(range, snapshot));
    invariant(page !== undefined, 'a listing must be prefetched before it is read');
    lists.dropUsedSoon();
    return page;
  }

  #loadList(partition: Partition, range: ListRange, snapshot: Timestamp | 'any'): Promise<void> {
    const { pipeline, changes, tails } = this.parts;
    const page = new HeldPage(range, snapshot);
    return partition.lists.load(HeldPage.nameOf(range, snapshot), page, async () => {
      await pipeline.settled();
      // LevelDB has the old values of these keys: they are looked up again when the page is used.
      for (const { key } of changes.chainsOf(partition)) page.touch(key, 0);
      if (snapshot === 'any') return page.fill(await scanChains(tails, partition, range));
      const { later, ...listed } = await scanList(tails, partition, range, snapshot);
      for (const key of later) page.touch(key, 0);
      page.fill(listed);
    });
  }

  #loadLog(partition: Partition, after: Timestamp, upTo: Timestamp): Promise<void> {
    const { pipeline, changes, disk } = this.parts;
    return partition.logs.load(HeldLog.nameOf(after, upTo), new HeldLog(after, upTo), async (page) => {
      await pipeline.settled();
      for (const entry of changes.entriesOf(partition)) if (entry.ct > after && entry.ct <= upTo) page.fill(entry);
      await scanLog(disk, partition, page);
    });
  }

  /** Reads a page anew for each caller: it must hold everything that is durable at the call. */
  async #loadCopy(partition: Partition, start: QualifiedKey): Promise<void> {
    const { pipeline, checkpoints, tails } = this.parts;
    await pipeline.settled();
    await checkpoints.run();
    partition.copies.put(start, await scanChains(tails, partition, { start, end: null, limit: COPY_CHAINS }));
  }
}

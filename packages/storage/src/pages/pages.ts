import {
  type Belongs,
  type ChangesPage,
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
import type { BlockFiles } from '../changelog/block-files.js';
import { changesPage, type LogRange, logPage } from '../changelog/log-entries.js';
import { HeldLog } from '../changelog/log-page.js';
import type { Changes } from '../checkpoint/changes.js';
import type { Checkpoints } from '../checkpoint/checkpoints.js';
import { logStartOf } from '../horizons.js';
import type { Partitions } from '../level/partitions.js';
import type { Tails } from '../level/tails.js';
import type { ChainReads } from '../memory/chain-reads.js';
import type { Partition } from '../memory/partition.js';
import type { Pipeline } from '../pipeline.js';
import { COPY_CHAINS } from './copy-page.js';
import { HeldPage } from './list-page.js';
import { scanChains, scanList, scanLog } from './page-scans.js';

/** The needs that pages meet. */
export type PageNeeds = Extract<ReadNeeds, { kind: 'list' | 'log' | 'changes' | 'copy' }>;

/** The parts that pages are read from. */
export interface PageParts {
  readonly files: BlockFiles;
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
    const partition = this.parts.partitions.of(partitionId);
    const { log, horizons } = partition;
    const from = Math.max(after, logStartOf(horizons));
    if (log.covers(from)) return logPage(log.entries, { after: from, upTo });
    return this.#logged(partition, { after, upTo }).takeLog(horizons);
  }

  /** The transactions of all regions after a timestamp, up to another. */
  changes(partitionId: PartitionId, after: Timestamp, upTo: Timestamp): ChangesPage {
    const partition = this.parts.partitions.of(partitionId);
    const { log, horizons } = partition;
    const from = Math.max(after, horizons.logTruncatedUpTo);
    if (log.covers(from)) return changesPage(log.entries, { after: from, upTo }, horizons.logTruncatedUpTo);
    return this.#logged(partition, { after, upTo }).takeChanges(horizons);
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
      case 'log':
      case 'changes': {
        const { horizons, log, logs } = partition;
        const start = needs.kind === 'log' ? logStartOf(horizons) : horizons.logTruncatedUpTo;
        return log.covers(Math.max(needs.after, start)) || logs.get(HeldLog.nameOf(needs)) !== undefined;
      }
      case 'copy':
        return false; // a page of another copy may be older than the durable state
    }
  }

  /** Reads the needed page. */
  async load(partition: Partition, needs: PageNeeds): Promise<void> {
    if (needs.kind === 'list') await this.#loadList(partition, needs.range, needs.snapshot);
    else if (needs.kind === 'copy') await this.#loadCopy(partition, needs.start);
    else if (!this.resident(partition, needs)) await this.#loadLog(partition, needs);
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
      const changed = changes.keysOf(partition);
      if (snapshot === 'any') return page.fill(await scanChains(tails, partition, range), changed);
      const { later, ...listed } = await scanList(tails, partition, range, snapshot);
      page.fill(listed, changed);
      for (const key of later) page.touch(key, 0);
    });
  }

  #logged({ logs }: Partition, range: LogRange): HeldLog {
    const page = logs.get(HeldLog.nameOf(range));
    invariant(page !== undefined, 'a page of the log must be prefetched before it is read');
    logs.dropUsedSoon();
    return page;
  }

  #loadLog(partition: Partition, { after, upTo }: LogRange): Promise<void> {
    const { pipeline, changes, files } = this.parts;
    const range = { after, upTo };
    return partition.logs.load(HeldLog.nameOf(range), new HeldLog(range), async (page) => {
      await pipeline.settled();
      for (const entry of changes.entriesOf(partition, range)) page.addEarlier(entry);
      await scanLog(files, partition, page);
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

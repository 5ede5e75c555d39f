import type { OutcomeRecord, PartitionId, QualifiedKey, Timestamp, TxId } from '@isochron/core';
import { LogBlocks } from '../changelog/log-blocks.js';
import type { LogTail } from '../changelog/log-entries.js';
import type { HeldLog } from '../changelog/log-page.js';
import { newHorizons } from '../horizons.js';
import { PartitionKeys } from '../level/disk-keys.js';
import type { Counters } from '../level/records.js';
import { HeldCopies } from '../pages/copy-page.js';
import type { HeldPage } from '../pages/list-page.js';
import { PrefetchedPages } from '../pages/prefetched-pages.js';

/** Keys that a partition's collector keeps as worth a visit. Its walk over the disk finds the others. */
const MAX_GARBAGE = 20_000;

/** The LevelDB store's state in memory of one partition. */
export class Partition {
  readonly keys: PartitionKeys;
  /** Outcomes whose batch is not durable yet. */
  readonly outcomes = new Map<TxId, OutcomeRecord>();
  readonly horizons = newHorizons();
  readonly lists = new PrefetchedPages<HeldPage>();
  readonly logs = new PrefetchedPages<HeldLog>();
  readonly copies = new HeldCopies();
  readonly blocks = new LogBlocks();
  counters: { -readonly [C in keyof Counters]: Counters[C] } = { keys: 0, versions: 0, untidy: 0, cursor: '' };
  /**
   * Untidy keys, in the order in which they will be ripe, and the floor from which on a part of them can be collected.
   */
  readonly garbage = new Map<QualifiedKey, Timestamp>();
  /** The floor rose: one step of the walk over the disk is due. */
  walkDue = false;
  /** Outcomes below the horizon may be left on disk: those that the index lists from this disk key on. */
  forgetting: string | undefined;

  constructor(
    readonly id: PartitionId,
    readonly log: LogTail,
  ) {
    this.keys = new PartitionKeys(id);
  }

  /** Adds an untidy key to the garbage; a key that is there already keeps its turn. A tidy one is removed. */
  track({ key, untidy }: { readonly key: QualifiedKey; readonly untidy: boolean }, ripe: Timestamp): void {
    if (!untidy) this.garbage.delete(key);
    else if (!this.garbage.has(key) && this.garbage.size < MAX_GARBAGE) this.garbage.set(key, ripe);
  }
}

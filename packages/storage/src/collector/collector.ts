import type { QualifiedKey, TxId } from '@isochron/core';
import type { Changes } from '../checkpoint/changes.js';
import { type Disk, scan } from '../level/disk.js';
import { restOf } from '../level/disk-keys.js';
import { OUTCOME, OUTCOME_IDS, openAs, openHead } from '../level/records.js';
import { Chain } from '../memory/chain.js';
import type { ChainLoader } from '../memory/chain-loader.js';
import { type ChainWriter, ripeAt } from '../memory/chain-writer.js';
import type { Partition } from '../memory/partition.js';

/** Chains, heads and outcomes in one slice: one or two milliseconds. */
const SLICE_CHAINS = 128;
const SLICE_HEADS = 128;
const SLICE_OUTCOMES = 256;

/**
 * Drops the records that the horizons allow (P9, D5), a slice at a time between two commits; the next checkpoint takes
 * the changes to disk. Untidy keys queue up as they are written; a slow walk over the disk finds those that the queue
 * lost in a restart. Without garbage it costs nothing.
 */
export class Collector {
  readonly #due = new Set<Partition>();

  constructor(
    readonly disk: Disk,
    readonly loader: ChainLoader,
    readonly writer: ChainWriter,
    readonly changes: Changes,
  ) {}

  /** A horizon of the partition rose. */
  wake(partition: Partition): void {
    this.#due.add(partition);
  }

  get idle(): boolean {
    return this.#due.size === 0;
  }

  /** Does one slice of one partition. After a crash it is done again. */
  async slice(): Promise<void> {
    const partition: Partition = this.#due.values().next().value!;
    this.#due.delete(partition);
    const versionsLeft = await this.#collect(partition);
    const outcomesLeft =
      partition.forgetting !== undefined && (await this.#dropOutcomes(partition, partition.forgetting));
    if (versionsLeft || outcomesLeft) this.#due.add(partition);
  }

  async #collect(partition: Partition): Promise<boolean> {
    const keys = this.#takeRipe(partition);
    let more = keys.length === SLICE_CHAINS;
    const walked = partition.walkDue && partition.counters.untidy > partition.garbage.size + keys.length;
    partition.walkDue = false;
    if (walked) await this.#walk(partition, keys);
    if (keys.length === 0 && !walked) return false;
    const chains = keys.map((key) => this.loader.pinned(partition, key));
    try {
      await this.loader.load(chains);
      for (const chain of chains) if (!this.writer.tidy(chain)) more = true;
      this.changes.counted(partition);
    } finally {
      for (const chain of chains) this.loader.cache.unpin(chain);
    }
    return more;
  }

  /** Takes keys from the front of the queue while the floor has reached them. */
  #takeRipe(partition: Partition): QualifiedKey[] {
    const keys: QualifiedKey[] = [];
    for (const [key, ripe] of partition.garbage) {
      if (ripe > partition.horizons.gcFloor || keys.length === SLICE_CHAINS) break;
      partition.garbage.delete(key);
      keys.push(key);
    }
    return keys;
  }

  /** One step of the walk: adds ripe keys to `keys` and queues the untidy ones that are not ripe yet. */
  async #walk(partition: Partition, keys: QualifiedKey[]): Promise<void> {
    const { heads } = partition.keys;
    const known = new Set(keys);
    const gcFloor = partition.horizons.gcFloor;
    let seen = 0;
    let next = '';
    await scan(this.disk, { gte: heads.gte + partition.counters.cursor, lt: heads.lt }, (diskKey, bytes) => {
      const key = restOf(diskKey);
      if (seen++ === SLICE_HEADS) {
        next = key;
        return false;
      }
      const chain = new Chain(partition, key);
      chain.fill(openHead(bytes, diskKey));
      if (!chain.untidy || known.has(key) || partition.garbage.has(key)) return true;
      const ripe = ripeAt(chain, gcFloor);
      if (ripe <= gcFloor || chain.segments > 0) keys.push(key);
      else partition.track(chain, ripe);
      return true;
    });
    partition.counters.cursor = next;
  }

  /** Drops outcomes below the horizon by their time index, from a disk key on. Returns whether there may be more. */
  async #dropOutcomes(partition: Partition, from: string): Promise<boolean> {
    const { keys, horizons } = partition;
    const ids: TxId[] = [];
    const { gte, lt } = keys.outcomesBelow(horizons.forgottenUpTo);
    partition.forgetting = undefined;
    await scan(this.disk, { gte: from > gte ? from : gte, lt }, (diskKey, bytes) => {
      if (ids.length >= SLICE_OUTCOMES) {
        partition.forgetting = diskKey;
        return false;
      }
      for (const txId of openAs(OUTCOME_IDS, bytes, diskKey)) ids.push(txId);
      this.changes.del(diskKey);
      return true;
    });
    // A later attempt may have ended since: another list has it, perhaps one that the present checkpoint writes.
    const due = ids.filter((txId) => this.changes.outcomeOf(partition, txId) === undefined);
    const outcomes = await this.disk.getMany(due.map((txId) => keys.outcome(txId)));
    due.forEach((txId, i) => {
      const name = keys.outcome(txId);
      const bytes = outcomes[i];
      if (bytes !== undefined && openAs(OUTCOME, bytes, name).ts < horizons.forgottenUpTo) this.changes.del(name);
    });
    return partition.forgetting !== undefined;
  }
}

import type { QualifiedKey } from '@isochron/core';
import { Chain } from './chain.js';
import type { ChainLoader } from './chain-loader.js';
import { type ChainWriter, ripeAt } from './chain-writer.js';
import { type Batch, type Disk, scan } from './disk.js';
import { restOf, timeAndTx } from './disk-keys.js';
import type { Partition } from './partition.js';
import { COUNTERS, OUTCOME, openAs, openHead, sealAs } from './records.js';

/** Chains, heads and outcomes that one slice looks at: one or two milliseconds. */
const SLICE_CHAINS = 128;
const SLICE_HEADS = 128;
const SLICE_OUTCOMES = 256;

/**
 * Drops what the horizons allow (P9, D5), a slice at a time between two commits. Untidy keys queue up as they are written; a
 * slow walk over the disk finds those that the queue lost in a restart. Only work that is there costs anything.
 */
export class Collector {
  readonly #due = new Set<Partition>();

  constructor(
    readonly disk: Disk,
    readonly loader: ChainLoader,
    readonly writer: ChainWriter,
  ) {}

  /** A horizon of the partition rose. */
  wake(partition: Partition): void {
    this.#due.add(partition);
  }

  get idle(): boolean {
    return this.#due.size === 0;
  }

  /** Does one slice of one partition. Not synced: what a crash undoes is done again. */
  async slice(): Promise<void> {
    const partition: Partition = this.#due.values().next().value!;
    this.#due.delete(partition);
    const versionsLeft = await this.#collect(partition);
    const outcomesLeft = partition.forgetting && (await this.#forget(partition));
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
      const batch = this.disk.batch();
      for (const chain of chains) if (!this.writer.tidy(chain, batch)) more = true;
      await this.#write(partition, batch);
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

  async #write(partition: Partition, batch: Batch): Promise<void> {
    const { counters, keys } = partition;
    batch.put(keys.counters, sealAs(COUNTERS, counters, keys.counters));
    await batch.write();
    this.writer.tails.flushed();
  }

  /** Drops outcomes below the horizon by their time index. Returns whether there may be more. */
  async #forget(partition: Partition): Promise<boolean> {
    const { keys, horizons } = partition;
    const due: { diskKey: string; txId: string }[] = [];
    await scan(this.disk, keys.outcomesBelow(horizons.forgottenUpTo), (diskKey) => {
      due.push({ diskKey, txId: timeAndTx(restOf(diskKey)).txId });
      return due.length < SLICE_OUTCOMES;
    });
    partition.forgetting = due.length === SLICE_OUTCOMES;
    if (due.length === 0) return false;
    const outcomes = await this.disk.getMany(due.map(({ txId }) => keys.outcome(txId)));
    const batch = this.disk.batch();
    due.forEach(({ diskKey, txId }, i) => {
      batch.del(diskKey);
      const name = keys.outcome(txId);
      const bytes = outcomes[i];
      // A later attempt may have ended since: its entry in the index is another one.
      if (bytes !== undefined && openAs(OUTCOME, bytes, name).ts < horizons.forgottenUpTo) batch.del(name);
    });
    await batch.write();
    return partition.forgetting;
  }
}

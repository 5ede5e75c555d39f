/**
 * The changes that are in the durable log and not yet in LevelDB, as their net effect: a record that was put and
 * removed again since the last checkpoint costs LevelDB nothing, and a record that changed a hundred times is written
 * once.
 */
import type { OutcomeRecord, PreparedRecord, TxId } from '@isochron/core';
import type { BlockFiles } from '../changelog/block-files.js';
import { contentOfBlock, cutBlocks } from '../changelog/log-blocks.js';
import { entriesIn, insertEntry, type LogEntry, type LogRange, mergeEntries } from '../changelog/log-entries.js';
import type { Batch } from '../level/disk.js';
import type { BlockName } from '../level/disk-keys.js';
import {
  COUNTERS,
  type Counters,
  LOG_BLOCK,
  OUTCOME,
  OUTCOME_IDS,
  PREPARED,
  seal,
  sealAs,
  sealHead,
} from '../level/records.js';
import type { Chain } from '../memory/chain.js';
import type { ChainCache } from '../memory/chain-cache.js';
import type { Partition } from '../memory/partition.js';
import { type Run, SortedKeys } from './sorted-keys.js';

/** A record to be put. It is packed when the checkpoint writes it. */
interface Put {
  readonly content: unknown;
  readonly seal: Seal<never>;
}

/** Packs the content of the record of a disk key. */
export type Seal<T> = (content: T, diskKey: string) => Buffer;

const sealPrepared: Seal<PreparedRecord> = (record, diskKey) => sealAs(PREPARED, record, diskKey);

/** The changes of one partition between two checkpoints. */
class PartitionChanges {
  /** Keys of the chains. */
  readonly keys = new SortedKeys();
  readonly outcomes = new Map<TxId, OutcomeRecord>();
  /** In the order of the replication log. */
  readonly log: LogEntry[] = [];
  /** As they will be written, once a checkpoint has begun. */
  counters: Counters | undefined;
  /** The blocks that the checkpoint writes, in order. */
  readonly blocks: BlockName[] = [];
}

/** The changes between two checkpoints. */
class ChangeSet {
  /** By disk key; null removes the record. */
  readonly records = new Map<string, Put | null>();
  readonly chains = new Set<Chain>();
  readonly partitions = new Map<Partition, PartitionChanges>();

  of(partition: Partition): PartitionChanges {
    let changes = this.partitions.get(partition);
    if (changes === undefined) {
      changes = new PartitionChanges();
      this.partitions.set(partition, changes);
    }
    return changes;
  }

  get isEmpty(): boolean {
    return this.records.size === 0 && this.chains.size === 0 && this.partitions.size === 0;
  }
}

/** Chains with changes are pinned until a checkpoint has written them. */
export class Changes {
  #next = new ChangeSet();
  /** The changes that the checkpoint on its way writes, and their batch. */
  #current: { readonly set: ChangeSet; readonly batch: Batch } | undefined;
  /** Disk keys of the prepared transactions that LevelDB holds, or will with the checkpoint on its way. */
  readonly #prepared = new Set<string>();

  constructor(
    readonly cache: ChainCache,
    readonly files: BlockFiles,
  ) {}

  get isEmpty(): boolean {
    return this.#next.isEmpty;
  }

  /** Puts a record. */
  put<T>(diskKey: string, content: T, seal: Seal<T>): void {
    this.#next.records.set(diskKey, { content, seal });
  }

  /** Removes a record, whether it is there or not. */
  del(diskKey: string): void {
    this.#next.records.set(diskKey, null);
  }

  /** The content that replaces a record; undefined when the record is as on disk, null when it is removed. */
  pending(diskKey: string): unknown {
    const { records } = this.#next;
    const put = records.has(diskKey) ? records.get(diskKey) : this.#current?.set.records.get(diskKey);
    return put === null || put === undefined ? put : put.content;
  }

  /** Adds a prepared transaction that LevelDB holds. */
  preparedOnDisk(diskKey: string): void {
    this.#prepared.add(diskKey);
  }

  /** Keeps a prepared transaction, or removes it. */
  prepared({ keys }: Partition, txId: TxId, record: PreparedRecord | null): void {
    const diskKey = keys.prepared(txId);
    if (record !== null) this.put(diskKey, record, sealPrepared);
    else if (this.#prepared.has(diskKey)) this.del(diskKey);
    else this.#next.records.delete(diskKey);
  }

  outcome(partition: Partition, txId: TxId, record: OutcomeRecord): void {
    this.#next.of(partition).outcomes.set(txId, record);
  }

  /** The outcome of a transaction, if LevelDB does not hold it. */
  outcomeOf(partition: Partition, txId: TxId): OutcomeRecord | undefined {
    return (
      this.#next.partitions.get(partition)?.outcomes.get(txId) ??
      this.#current?.set.partitions.get(partition)?.outcomes.get(txId)
    );
  }

  log(partition: Partition, entry: LogEntry): void {
    insertEntry(this.#next.of(partition).log, entry);
  }

  /** Log entries of a range that LevelDB does not hold. */
  entriesOf(partition: Partition, range: LogRange): LogEntry[] {
    const [older, newer] = this.#of(partition).map(({ log }) => entriesIn(log, range));
    return newer === undefined ? (older ?? []) : mergeEntries(older!, newer);
  }

  /** The changes of a partition that the checkpoint on its way writes, and the changes after it. */
  #of(partition: Partition): PartitionChanges[] {
    return [this.#current?.set, this.#next].flatMap((set) => set?.partitions.get(partition) ?? []);
  }

  /** Must be called before a chain changes: the checkpoint on its way writes the chain as it was when it began. */
  beforeChange(chain: Chain): void {
    if (chain.unwritten) this.#writeHead(chain, this.#current!.batch);
  }

  /** A chain has changed, and perhaps the counters of its partition. */
  changed(chain: Chain): void {
    const { keys } = this.#next.of(chain.partition);
    if (this.#next.chains.has(chain)) return;
    this.#next.chains.add(chain);
    keys.add(chain.key);
    this.cache.pin(chain);
  }

  /** The counters of a partition have changed. */
  counted(partition: Partition): void {
    this.#next.of(partition);
  }

  /** Keys of a partition whose chains differ from LevelDB. */
  keysOf(partition: Partition): Run[] {
    return this.#of(partition).flatMap(({ keys }) => keys.runs);
  }

  /**
   * Begins a checkpoint: from now on `write` puts the changes so far into the batch. Later changes belong to the next
   * checkpoint.
   */
  begin(batch: Batch): void {
    const set = this.#next;
    this.#next = new ChangeSet();
    this.#current = { set, batch };
    for (const chain of set.chains) chain.unwritten = true;
    for (const [partition, changes] of set.partitions) changes.counters = { ...partition.counters };
    for (const [diskKey, put] of set.records) {
      if (put === null) this.#prepared.delete(diskKey);
      else if (put.seal === sealPrepared) this.#prepared.add(diskKey);
    }
  }

  /**
   * Puts the changes into the batch, and gives the number of records of each step. `covered` is a part of the names of
   * lists of outcomes, which differ from checkpoint to checkpoint.
   */
  *write(covered: number): Generator<number> {
    const { set, batch } = this.#current!;
    for (const [diskKey, put] of set.records) {
      if (put === null) batch.del(diskKey);
      else batch.put(diskKey, put.seal(put.content as never, diskKey));
      yield 1;
    }
    for (const chain of set.chains) {
      if (chain.unwritten) this.#writeHead(chain, batch);
      yield 1;
    }
    for (const [partition, changes] of set.partitions) {
      for (const entries of cutBlocks(changes.log, partition.horizons.logTruncatedUpTo)) {
        changes.blocks.push(this.#writeBlock(partition, entries));
        yield entries.length;
      }
      yield* writeOutcomes(partition, changes.outcomes, covered, batch);
      batch.put(partition.keys.counters, sealAs(COUNTERS, changes.counters!, partition.keys.counters));
    }
  }

  /** LevelDB holds the changes of the checkpoint. Unpins its chains, a chain with each step. */
  *written(): Generator<number> {
    const { chains, partitions } = this.#current!.set;
    this.#current = undefined;
    for (const [partition, { blocks }] of partitions) {
      for (const block of blocks) {
        partition.blocks.add(block);
        this.files.named(block.place);
      }
    }
    for (const chain of chains) {
      this.cache.unpin(chain);
      yield 1;
    }
  }

  #writeBlock({ keys }: Partition, entries: readonly LogEntry[]): BlockName {
    const { batch } = this.#current!;
    const content = contentOfBlock(entries);
    const name = { ...content, place: this.files.add(sealAs(LOG_BLOCK, entries, keys.blockContent(content))) };
    const diskKey = keys.block(name);
    batch.put(diskKey, seal(null, diskKey));
    return name;
  }

  #writeHead(chain: Chain, batch: Batch): void {
    chain.unwritten = false;
    const diskKey = chain.partition.keys.head(chain.key);
    if (chain.headCount > 0) batch.put(diskKey, sealHead(chain, chain.headStart, diskKey));
    else if (chain.onDisk) batch.del(diskKey);
    chain.onDisk = chain.headCount > 0;
  }
}

/** Outcomes that one list names: as many as the collector drops in a slice. */
const LISTED_OUTCOMES = 256;

/** Outcomes, and lists of them by the time at which all outcomes of a list can be dropped. */
function* writeOutcomes(
  { keys, horizons: { forgottenUpTo } }: Partition,
  outcomes: ReadonlyMap<TxId, OutcomeRecord>,
  covered: number,
  batch: Batch,
): Generator<number> {
  let [ids, newest, lists] = [[] as TxId[], 0, 0];
  const list = (): void => {
    const diskKey = keys.outcomesUpTo(newest, covered, lists++);
    batch.put(diskKey, sealAs(OUTCOME_IDS, ids, diskKey));
    [ids, newest] = [[], 0];
  };
  for (const [txId, record] of outcomes) {
    const diskKey = keys.outcome(txId);
    if (record.ts < forgottenUpTo) batch.del(diskKey);
    else {
      batch.put(diskKey, sealAs(OUTCOME, record, diskKey));
      ids.push(txId);
      newest = Math.max(newest, record.ts);
      if (ids.length === LISTED_OUTCOMES) list();
    }
    yield 1;
  }
  if (ids.length > 0) list();
}

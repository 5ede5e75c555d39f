/** Takes the changes in the durable log to LevelDB, and frees the log. */
import type { Timestamp } from '@isochron/core';
import type { BlockFiles } from '../changelog/block-files.js';
import { CorruptRecord, type FirstFailure, unknownFormat } from '../failure.js';
import type { Disk } from '../level/disk.js';
import { CHECKPOINT } from '../level/disk-keys.js';
import type { Partitions } from '../level/partitions.js';
import { FOLDER_FORMAT, openCheckpoint, sealCheckpoint } from '../level/records.js';
import type { Partition } from '../memory/partition.js';
import type { DurableLog, Position } from '../wal/durable-log.js';
import { LogRecords } from '../wal/log-records.js';
import type { Changes } from './changes.js';

/** Records of a checkpoint in one turn of the event loop: about a millisecond. */
const SLICE = 256;

/** When a checkpoint is due. */
export interface CheckpointPolicy {
  /** Bytes of the log since the last one. */
  readonly bytes: number;
  /** Or time since the first change that it lacks, ms. */
  readonly ms: number;
  /** Or memory of the chains that must stay: with changes that it lacks, or waiting for a commit or for the disk. */
  readonly chainBytes: number;
}

/** The parts that a checkpoint works with. */
export interface CheckpointParts {
  readonly disk: Disk;
  readonly log: DurableLog;
  readonly files: BlockFiles;
  readonly partitions: Partitions;
  readonly changes: Changes;
  readonly failure: FirstFailure;
}

/**
 * A checkpoint is one batch of LevelDB: all changes since the one before it, and the position of the log that it
 * covers. So LevelDB is always as it was at that position, even after a crash in the middle. The blocks of the log that
 * the batch names are on disk before it. Once the batch is on disk, the log before the position may go.
 */
export class Checkpoints {
  /** Position of the first batch that memory does not hold. */
  #applied: Position;
  /** Position of the first batch that LevelDB lacks. */
  #covered: Position;
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  readonly #truncated = new Set<Partition>();

  constructor(
    readonly parts: CheckpointParts,
    readonly policy: CheckpointPolicy,
    readonly sync: boolean,
    covered: Position,
  ) {
    this.#applied = covered;
    this.#covered = covered;
  }

  /** Whether LevelDB holds all that memory does, or will with the checkpoint on its way. */
  get #isComplete(): boolean {
    return this.#applied === this.#covered && this.parts.changes.isEmpty;
  }

  /** A batch of this many bytes in the log is in memory now. */
  applied(position: Position, bytes: number): void {
    this.#applied = position + 1;
    this.#bytes += bytes;
  }

  /** The log of a partition was truncated: LevelDB can drop entries. */
  truncated(partition: Partition): void {
    this.#truncated.add(partition);
  }

  /** Begins a checkpoint if one is due, and schedules the next one. */
  schedule(): void {
    if (this.#running !== undefined || this.#isComplete) return;
    if (this.#isDue(1)) void this.run().catch(() => undefined);
    else this.#timer ??= setTimeout(() => void this.run().catch(() => undefined), this.policy.ms).unref();
  }

  /** Whether commits come faster than checkpoints, and must wait for one. */
  get isBehind(): boolean {
    return this.#isDue(2);
  }

  /** Whether some times as much as for one checkpoint has come together. */
  #isDue(times: number): boolean {
    const { bytes, chainBytes } = this.policy;
    return this.#bytes >= times * bytes || this.parts.changes.cache.pinnedBytes > times * chainBytes;
  }

  /**
   * Takes everything that is in memory now to LevelDB.
   * @throws IsochronError when that fails, or something failed before: nothing is written from then on
   */
  async run(): Promise<void> {
    this.parts.failure.check();
    // The present checkpoint may have begun without the latest changes; a checkpoint that follows has all of them.
    await this.#running;
    if (this.#running === undefined && this.#isComplete) return;
    this.#running ??= this.#next();
    await this.#running;
  }

  /** Waits for the present checkpoint, and for the next checkpoint if that is due already. */
  async stop(): Promise<void> {
    this.#cancel();
    while (this.#running !== undefined) await this.#running.catch(() => undefined);
    this.#cancel();
  }

  #cancel(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async #next(): Promise<void> {
    this.#cancel();
    try {
      await this.#write();
    } catch (error) {
      throw this.parts.failure.fail('Cannot write a checkpoint', error);
    } finally {
      this.#running = undefined;
    }
    this.schedule();
  }

  async #write(): Promise<void> {
    const covered = this.#applied;
    // The file of a block goes once its truncation is in LevelDB, and not only in the log behind the position.
    const truncated = [...this.#truncated].map(
      (partition) => [partition, partition.horizons.logTruncatedUpTo] as const,
    );
    this.#bytes = 0;
    this.#covered = covered;
    this.#truncated.clear();
    const batch = this.parts.disk.batch();
    this.parts.changes.begin(batch);
    this.parts.partitions.mark(batch);
    batch.put(CHECKPOINT, sealCheckpoint(covered));
    await this.#inSlices(this.parts.changes.write(covered));
    await this.parts.files.persist();
    await batch.write({ sync: this.sync });
    await this.#inSlices(this.parts.changes.written());
    for (const [partition, upTo] of truncated) await this.#clear(partition, upTo);
    await this.parts.files.removeUnused();
    await this.parts.log.cut(covered);
  }

  /** Does work in slices. Each step gives the number of records that it has dealt with. */
  async #inSlices(steps: Iterable<number>): Promise<void> {
    let done = 0;
    for (const records of steps) {
      if (this.parts.files.isFull) await this.parts.files.write();
      done += records;
      if (done < SLICE) continue;
      done = 0;
      await nextTurn();
    }
  }

  /** Removes truncated log entries. Not synced: after a crash it is done again. */
  async #clear({ keys, blocks }: Partition, upTo: Timestamp): Promise<void> {
    const { disk, files } = this.parts;
    const gone = blocks.truncate(upTo);
    if (gone.length > 0) await disk.clear(keys.blocksUpTo(upTo));
    for (const { place } of gone) files.unnamed(place);
  }
}

const nextTurn = (): Promise<void> => new Promise((done) => setImmediate(done));

/**
 * The position of the log that LevelDB covers. The log of a new folder begins with an empty record: a log without any
 * record is lost, not new.
 * @throws CorruptRecord
 */
export async function coveredBy(disk: Disk, log: DurableLog): Promise<Position> {
  const bytes = await disk.get(CHECKPOINT);
  if (bytes !== undefined) return openCheckpoint(bytes);
  const isNew = (await disk.keys({ limit: 1 }).all()).length === 0;
  if (!isNew && log.end === 0) throw unknownFormat('The data folder', 1, FOLDER_FORMAT);
  if (!isNew || log.end > 1)
    throw new CorruptRecord(
      null,
      'missing',
      'The log holds records, and LevelDB no position of it: its files are damaged',
    );
  if (log.end === 0) await log.append([EMPTY]);
  await disk.put(CHECKPOINT, sealCheckpoint(log.end), { sync: true });
  return log.end;
}

const EMPTY = new LogRecords().pack([]);

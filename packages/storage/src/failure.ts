import { IsochronError, type PartitionId } from '@isochron/core';
import { type RecordName, recordNameOf } from './level/disk-keys.js';

/**
 * The fields of errors of Node and of LevelDB. Checked by shape: `instanceof` fails for errors of another V8 context.
 */
interface ErrorLike {
  readonly message?: unknown;
  readonly code?: unknown;
  readonly cause?: unknown;
}

/** An error and its causes, outermost first. */
function* causes(error: unknown): Generator<ErrorLike> {
  for (let e = error; typeof e === 'object' && e !== null; e = (e as ErrorLike).cause) yield e;
}

/** The code of the innermost error that has one, for example `ENOSPC` or `LEVEL_LOCKED`. */
export function codeOf(error: unknown): string | undefined {
  let code: string | undefined;
  for (const e of causes(error)) if (typeof e.code === 'string') code = e.code;
  return code;
}

/** The innermost message, on one line. */
export function reasonOf(error: unknown): string {
  let message = String(error);
  for (const e of causes(error)) if (typeof e.message === 'string') message = e.message;
  return message.replace(/\s+/g, ' ').trim();
}

/**
 * The kinds of damage of a record.
 *
 * - `checksum`: it is not the record that was written under its key: flipped bits, or the record of another key.
 * - `truncated`: too short to be a record.
 * - `missing`: another record refers to it, and it is not there.
 * - `malformed`: written so, by a bug.
 * - `version`: whole, but in a format that this version of Isochron does not read. The disk is fine.
 * - `database`: LevelDB itself finds its files damaged, and cannot name the records.
 */
export type Damage = 'checksum' | 'truncated' | 'missing' | 'malformed' | 'version' | 'database';

/**
 * The disk does not hold the data that were written. Thrown, or rejected with, by opening, recovery, reads, prefetches
 * and commits. No part of the record was used.
 */
export class CorruptRecord extends IsochronError {
  constructor(
    /** Null when LevelDB does not name the record (`damage` is `database`), and for a record of the durable log. */
    readonly record: RecordName | null,
    readonly damage: Damage,
    message: string,
    cause?: unknown,
  ) {
    super(damage === 'version' ? 'STORAGE_FORMAT' : 'STORAGE_FAILED', message, { retryable: false, cause });
  }

  /** The partition that has lost data; null when it is the whole node, or unknown. */
  get partition(): PartitionId | null {
    return this.record?.partition ?? null;
  }
}

/** The error for a record on disk that is not the one that was written. */
export function corrupt(diskKey: string, damage: Damage, what: string): CorruptRecord {
  const shown = JSON.stringify(diskKey);
  return new CorruptRecord(recordNameOf(diskKey), damage, `The record ${shown} on disk is damaged: ${what}`);
}

/** The second sentence of every `STORAGE_FORMAT`. */
export const FORMAT_ADVICE =
  'Start the version of Isochron that wrote the data folder, or move the folder away: the node fetches its data anew';

/**
 * The error for data in a format that this version does not read.
 * @param what the subject of the message
 */
export function unknownFormat(what: string, format: unknown, known: number, diskKey?: string): CorruptRecord {
  const message = `${what} has format ${String(format)}, and this version of Isochron reads ${known}. ${FORMAT_ADVICE}`;
  return new CorruptRecord(diskKey === undefined ? null : recordNameOf(diskKey), 'version', message);
}

/** Whether an operation failed because the disk is full, or a quota is used up. */
export function isOutOfRoom(error: unknown): boolean {
  if (error instanceof IsochronError) return error.code === 'STORAGE_FULL';
  const code = codeOf(error);
  const full = /: (No space left on device|Disk quota exceeded)$/;
  return code === 'ENOSPC' || code === 'EDQUOT' || (code === 'LEVEL_IO_ERROR' && full.test(reasonOf(error)));
}

/** A disk operation went wrong. */
export function storageFailed(what: string, error: unknown): IsochronError {
  if (error instanceof IsochronError) return error;
  const message = `${what}: ${reasonOf(error)}`;
  if (isOutOfRoom(error)) return new IsochronError('STORAGE_FULL', `${message}. Make room.`, { cause: error });
  if (isDamage(error)) return new CorruptRecord(null, 'database', message, error);
  return new IsochronError('STORAGE_FAILED', message, { cause: error });
}

/** The first failure of a store. After it memory and disk may differ: nothing more is written. */
export class FirstFailure {
  #error: IsochronError | undefined;

  get error(): IsochronError | undefined {
    return this.#error;
  }

  /** Keeps the first failure, and returns it. */
  fail(what: string, error: unknown): IsochronError {
    this.#error ??= storageFailed(what, error);
    return this.#error;
  }

  /** @throws IsochronError when there was one */
  check(): void {
    if (this.#error !== undefined) throw this.#error;
  }
}

/** LevelDB reports lost and truncated files as I/O errors. */
function isDamage(error: unknown): boolean {
  const code = codeOf(error);
  const lost = /: (Invalid argument|No such file or directory)$/;
  return code === 'LEVEL_CORRUPTION' || (code === 'LEVEL_IO_ERROR' && lost.test(reasonOf(error)));
}

/** The error for a folder that cannot be opened, with advice. */
export function cannotOpen(location: string, error: unknown): IsochronError {
  if (error instanceof IsochronError) return error;
  if (isDamage(error)) return storageFailed(`Cannot use the data folder ${location}`, error);
  const advice: Record<string, string> = {
    LEVEL_LOCKED: 'another process uses it. Stop that process or choose another folder',
    EACCES: 'it is not writable. Change its owner or permissions, or choose another folder',
    EPERM: 'it is not writable. Change its owner or permissions, or choose another folder',
    ENOENT: 'it cannot be made there. Choose another folder',
    EROFS: 'it is on a read-only disk. Choose another folder',
    ENOTDIR: 'a part of its path is a file. Choose another folder',
    EEXIST: 'there is a file of that name. Choose another folder',
  };
  if (isOutOfRoom(error)) {
    const detail = `Cannot use the data folder ${location}: the disk is full. Make room or choose another folder`;
    return new IsochronError('STORAGE_FULL', detail, { cause: error });
  }
  const why = advice[codeOf(error) ?? ''] ?? reasonOf(error);
  return new IsochronError('STORAGE_FAILED', `Cannot use the data folder ${location}: ${why}`, {
    cause: error,
    retryable: false,
  });
}

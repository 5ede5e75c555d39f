import { IsochronError, type PartitionId } from '@isochron/core';
import { type RecordName, recordNameOf } from './disk-keys.js';

/** What errors of Node and of LevelDB carry. Asked by shape: `instanceof` fails for errors of another V8 context. */
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
 * What is wrong with a record.
 *
 * - `checksum`: it is not what was written under its key: flipped bits, or the record of another key.
 * - `truncated`: too short to be a record.
 * - `missing`: another record says that it is there, and it is not.
 * - `malformed`: written so, by an error of ours.
 * - `version`: whole, but in a format that this version does not know. The disk is fine: another version of Isochron reads it.
 * - `database`: LevelDB itself finds its files damaged, and cannot say which records are concerned.
 */
export type Damage = 'checksum' | 'truncated' | 'missing' | 'malformed' | 'version' | 'database';

/**
 * What is on disk is not what was written there. Thrown, or rejected with, by whatever meets it: opening, recovery, reads, prefetches,
 * commits. Nothing of the record was used.
 */
export class CorruptRecord extends IsochronError {
  constructor(
    /** Null when LevelDB does not say which record it is (`damage` is `database`), and for a record of the durable log. */
    readonly record: RecordName | null,
    readonly damage: Damage,
    message: string,
    cause?: unknown,
  ) {
    super('STORAGE_FAILED', message, { retryable: false, cause });
  }

  /** The partition that has lost something; null when it is the whole node, or not known. */
  get partition(): PartitionId | null {
    return this.record?.partition ?? null;
  }
}

/** A record on disk is not what was written there. */
export function corrupt(diskKey: string, damage: Damage, what: string): CorruptRecord {
  const shown = JSON.stringify(diskKey);
  return new CorruptRecord(recordNameOf(diskKey), damage, `The record ${shown} on disk is damaged: ${what}`);
}

/** Whether an operation failed because there is no room on the disk, or none left of a quota. */
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

/** The first failure of a store. After it memory and disk may differ: nothing is written any more. */
export class FirstFailure {
  #error: IsochronError | undefined;

  get error(): IsochronError | undefined {
    return this.#error;
  }

  /** Keeps the first one, and returns it. */
  fail(what: string, error: unknown): IsochronError {
    this.#error ??= storageFailed(what, error);
    return this.#error;
  }

  /** @throws IsochronError when there was one */
  check(): void {
    if (this.#error !== undefined) throw this.#error;
  }
}

/** Files that are lost or cut are I/O errors to LevelDB. */
function isDamage(error: unknown): boolean {
  const code = codeOf(error);
  const lost = /: (Invalid argument|No such file or directory)$/;
  return code === 'LEVEL_CORRUPTION' || (code === 'LEVEL_IO_ERROR' && lost.test(reasonOf(error)));
}

/** The folder cannot be opened: says what to do about it. */
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

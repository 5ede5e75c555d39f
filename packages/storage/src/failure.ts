import { IsochronError } from '@isochron/core';

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

/** A disk operation went wrong. */
export function storageFailed(what: string, error: unknown): IsochronError {
  if (error instanceof IsochronError) return error;
  return new IsochronError('STORAGE_FAILED', `${what}: ${reasonOf(error)}`, { cause: error });
}

/** A record on disk is not what was written there. */
export function damaged(name: string, what: string): IsochronError {
  const shown = JSON.stringify(name);
  return new IsochronError('STORAGE_FAILED', `The record ${shown} on disk is damaged: ${what}`, { retryable: false });
}

/** The folder cannot be opened: says what to do about it. */
export function cannotOpen(location: string, error: unknown): IsochronError {
  if (error instanceof IsochronError) return error;
  const advice: Record<string, string> = {
    LEVEL_LOCKED: 'another process uses it. Stop that process or choose another folder',
    EACCES: 'it is not writable. Change its owner or permissions, or choose another folder',
    EPERM: 'it is not writable. Change its owner or permissions, or choose another folder',
    ENOENT: 'it cannot be made there. Choose another folder',
    EROFS: 'it is on a read-only disk. Choose another folder',
    ENOTDIR: 'a part of its path is a file. Choose another folder',
    EEXIST: 'there is a file of that name. Choose another folder',
    ENOSPC: 'the disk is full. Make room or choose another folder',
  };
  const why = advice[codeOf(error) ?? ''] ?? reasonOf(error);
  return new IsochronError('STORAGE_FAILED', `Cannot use the data folder ${location}: ${why}`, {
    cause: error,
    retryable: false,
  });
}

/** Failures as one line on stderr and an exit code. */
import { types } from 'node:util';
import { IsochronError } from '@isochron/core/errors';
import { escaped } from './output.js';

/** Wrong usage of the command line: exit code 2. The message is the whole line after `error: `. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The user stopped the command: exit code 130, as a shell has it. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

/** A failure that already has its line, for instance from a child process. */
export class ReportedFailure extends Error {
  override readonly name = 'ReportedFailure';
}

/** A failure as the command reports it. */
export interface Failure {
  /** One line, without `error: `. */
  readonly line: string;
  readonly exitCode: number;
}

const oneLine = (text: string): string => escaped(text.replaceAll(/\s*\n\s*/g, ' ').trim());

/** Any error as one line and an exit code. */
export function failureOf(error: unknown): Failure {
  if (error instanceof UsageError) return { line: oneLine(error.message), exitCode: 2 };
  if (error instanceof Interrupted) return { line: oneLine(error.message), exitCode: 130 };
  if (error instanceof ReportedFailure) return { line: oneLine(error.message), exitCode: 1 };
  if (error instanceof IsochronError) {
    return { line: oneLine(`${error.code}: ${error.message}${reasonOf(error)}${adviceFor(error)}`), exitCode: 1 };
  }
  if (isSystemError(error)) return { line: oneLine(`${error.code}: ${systemSentence(error)}`), exitCode: 1 };
  return { line: oneLine(`INTERNAL: ${types.isNativeError(error) ? error.message : String(error)}`), exitCode: 1 };
}

/** Why no endpoint could be reached, as the last one of them had it. */
const reasonOf = ({ code, cause }: IsochronError): string =>
  code === 'CONNECTION_LOST' && cause instanceof IsochronError ? ` (${cause.message})` : '';

/** The command that looks up a commit that may have happened: the SDK's error has its id and `sentAfter`. */
const adviceFor = (error: IsochronError): string =>
  'txId' in error && 'sentAfter' in error
    ? `; ask later with: isochron transaction ${String(error.txId)} --sent-after ${String(error.sentAfter)}`
    : '';

interface SystemError extends Error {
  readonly code: string;
  readonly path?: string;
  readonly port?: number;
  readonly syscall?: string;
}

/** Whether an error is the operating system's, such as EADDRINUSE. */
export const isSystemError = (error: unknown): error is SystemError =>
  types.isNativeError(error) && 'code' in error && typeof error.code === 'string' && /^E[A-Z0-9]+$/.test(error.code);

/** The meaning of each code for the operator, and the remedy. */
function systemSentence(error: SystemError): string {
  const path = error.path ?? 'a file';
  switch (error.code) {
    case 'EADDRINUSE':
      return portInUse(error.port);
    case 'EADDRNOTAVAIL':
      return 'this machine does not have the address to listen on; correct the cluster file, --api-host, --metrics-host or --peer-listen';
    case 'EACCES':
    case 'EPERM':
      return error.port === undefined
        ? `no permission for ${path}; choose another place, or correct its permissions`
        : `no permission to listen on port ${error.port}; choose one above 1023`;
    case 'EROFS':
      return `${path} is on a read-only file system; choose another place`;
    case 'ENOENT':
      return isMaking(error) ? `${path} cannot be made; choose another place` : `${path} does not exist`;
    case 'ENOTDIR':
    case 'EEXIST':
      return `${path} is in the way, or not a folder; choose another place`;
    case 'EISDIR':
      return `${path} is a folder; name a file`;
    case 'ENOSPC':
      return `no space left for ${path}; free some, or choose another place`;
    default:
      return error.message;
  }
}

/** Whether the failed call was to create a file or folder. Names of drafts end like this. */
const isMaking = ({ syscall, path }: SystemError): boolean => syscall === 'mkdir' || path?.endsWith('.tmp') === true;

/** The remedy for a taken port. */
export const portInUse = (port: number | undefined, advice = 'choose another port in the cluster file'): string =>
  `port ${port ?? '(unknown)'} is in use: stop the program that uses it or ${advice}`;

import { IsochronError, isTimestamp, type Timestamp } from '@isochron/core';

/** Where a listing goes on. Says nothing that its caller could not say with `at` and `start`, so it carries no MAC. */
export interface Cursor {
  readonly keyspace: string;
  readonly prefix: string;
  readonly snapshot: Timestamp;
  /** First key (unqualified) of the page. */
  readonly start: string;
  /** Where this node keeps own writes that later pages show; null when there are none. */
  readonly overlay: string | null;
}

export const encodeCursor = ({ keyspace, prefix, snapshot, start, overlay }: Cursor): string =>
  Buffer.from(JSON.stringify([1, keyspace, prefix, snapshot, start, overlay])).toString('base64url');

/** @throws IsochronError `CURSOR_INVALID` */
export function decodeCursor(text: string): Cursor {
  const fields = parse(text);
  if (!Array.isArray(fields) || fields.length !== 6 || fields[0] !== 1) throw damaged();
  const [, keyspace, prefix, snapshot, start, overlay]: unknown[] = fields;
  if (typeof keyspace !== 'string' || typeof prefix !== 'string' || typeof start !== 'string') throw damaged();
  if (!isTimestamp(snapshot) || !(overlay === null || typeof overlay === 'string')) throw damaged();
  return { keyspace, prefix, snapshot, start, overlay };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch (cause) {
    throw damaged(cause);
  }
}

const damaged = (cause?: unknown): IsochronError =>
  new IsochronError('CURSOR_INVALID', 'The cursor is damaged. Start the listing again.', { cause });

import { IsochronError, isTimestamp } from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';
import type { SnapshotChecks } from '@isochron/sessions';

/** The position where a listing continues. It carries no MAC: a caller that changes it only reads another snapshot. */
export interface Cursor {
  readonly keyspace: string;
  readonly prefix: string;
  readonly snapshot: Snapshot;
  /** First key (unqualified) of the page. */
  readonly start: string;
  /** Where this node keeps own writes that later pages show; null when there are none. */
  readonly overlay: string | null;
}

export const encodeCursor = ({ keyspace, prefix, snapshot, start, overlay }: Cursor): string =>
  Buffer.from(
    JSON.stringify([
      1,
      keyspace,
      prefix,
      snapshot.ts,
      start,
      overlay,
      ...(snapshot.deps === undefined ? [] : [snapshot.deps]),
    ]),
  ).toString('base64url');

/** @throws IsochronError `CURSOR_INVALID` */
export function decodeCursor(text: string, checks: SnapshotChecks): Cursor {
  const fields = parse(text);
  const length = checks.entries === 0 ? 6 : 7;
  if (!Array.isArray(fields) || fields.length !== length || fields[0] !== 1) throw damaged();
  const [, keyspace, prefix, ts, start, overlay, deps]: unknown[] = fields;
  if (typeof keyspace !== 'string' || typeof prefix !== 'string' || typeof start !== 'string') throw damaged();
  if (!isTimestamp(ts) || !(overlay === null || typeof overlay === 'string')) throw damaged();
  if (checks.entries === 0) return { keyspace, prefix, snapshot: { ts }, start, overlay };
  if (!Array.isArray(deps) || !checks.fits(deps)) throw damaged();
  return { keyspace, prefix, snapshot: { ts, deps }, start, overlay };
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

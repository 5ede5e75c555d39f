import { isTimestamp } from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';
import type { SnapshotChecks } from '@isochron/sessions';
import { cursorFields, cursorText, damagedCursor } from './cursor-text.js';

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

const ADVICE = 'Start the listing again.';

export const encodeCursor = ({ keyspace, prefix, snapshot, start, overlay }: Cursor): string => {
  const { ts, deps } = snapshot;
  return cursorText([keyspace, prefix, ts, start, overlay, ...(deps === undefined ? [] : [deps])]);
};

/** @throws IsochronError `CURSOR_INVALID` */
export function decodeCursor(text: string, checks: SnapshotChecks): Cursor {
  const fields = cursorFields(text, checks.entries === 0 ? 5 : 6, ADVICE);
  const [keyspace, prefix, ts, start, overlay, deps] = fields;
  if (typeof keyspace !== 'string' || typeof prefix !== 'string' || typeof start !== 'string')
    throw damagedCursor(ADVICE);
  if (!isTimestamp(ts) || !(overlay === null || typeof overlay === 'string')) throw damagedCursor(ADVICE);
  if (checks.entries === 0) return { keyspace, prefix, snapshot: { ts }, start, overlay };
  if (!Array.isArray(deps) || !checks.fits(deps)) throw damagedCursor(ADVICE);
  return { keyspace, prefix, snapshot: { ts, deps }, start, overlay };
}

/** The cursors of the change feed: a timestamp with its scope, as a text that every node of the cluster takes (CF2). */
import { IsochronError, isTimestamp, type Timestamp } from '@isochron/core';
import { cursorFields, cursorText, damagedCursor } from './cursor-text.js';

/** A keyspace or all, and a prefix of its keys. */
export interface FeedScope {
  readonly keyspace: string | null;
  readonly prefix: string;
}

/** The position of a reader. It carries no MAC: a caller that changes it only reads from another timestamp. */
export interface ChangesCursor extends FeedScope {
  readonly ts: Timestamp;
}

const ADVICE = 'Give the cursor of a message of the change feed unchanged.';

export const encodeChangesCursor = (cluster: string, { keyspace, prefix, ts }: ChangesCursor): string =>
  cursorText([cluster, keyspace, prefix, ts]);

/**
 * The timestamp of a cursor for a scope.
 * @throws IsochronError `CURSOR_INVALID`: damaged, of another cluster, or of another scope
 */
export function decodeChangesCursor(text: string, cluster: string, scope: FeedScope): Timestamp {
  const [of, keyspace, prefix, ts] = cursorFields(text, 4, ADVICE);
  if (of !== cluster) throw new IsochronError('CURSOR_INVALID', 'The cursor belongs to another cluster.');
  if (!isTimestamp(ts)) throw damagedCursor(ADVICE);
  if (keyspace !== scope.keyspace || prefix !== scope.prefix)
    throw new IsochronError('CURSOR_INVALID', 'The cursor belongs to a feed with another keyspace or prefix.');
  return ts;
}

/** The prefix of the qualified keys of a scope. */
export const qualifiedPrefix = ({ keyspace, prefix }: FeedScope): string =>
  keyspace === null ? '' : `${keyspace}/${prefix}`;

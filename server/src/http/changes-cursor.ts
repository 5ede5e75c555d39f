/** The cursors of the change feed: a timestamp with its scope, as a text that every node of the cluster takes (CF2). */
import { IsochronError, isTimestamp, type Timestamp } from '@isochron/core';

/** A keyspace or all, and a prefix of its keys. */
export interface Scope {
  readonly keyspace: string | null;
  readonly prefix: string;
}

/** The position of a reader. It carries no MAC: a caller that changes it only reads from another timestamp. */
export interface ChangesCursor extends Scope {
  readonly ts: Timestamp;
}

export const encodeChangesCursor = (cluster: string, { keyspace, prefix, ts }: ChangesCursor): string =>
  Buffer.from(JSON.stringify([1, cluster, keyspace, prefix, ts])).toString('base64url');

/**
 * The timestamp of a cursor for a scope.
 * @throws IsochronError `CURSOR_INVALID`: damaged, of another cluster, or of another scope
 */
export function decodeChangesCursor(text: string, cluster: string, scope: Scope): Timestamp {
  const fields = parse(text);
  if (!Array.isArray(fields) || fields.length !== 5 || fields[0] !== 1) throw damaged();
  const [, of, keyspace, prefix, ts]: unknown[] = fields;
  if (of !== cluster) throw new IsochronError('CURSOR_INVALID', 'The cursor belongs to another cluster.');
  if (!isTimestamp(ts)) throw damaged();
  if (keyspace !== scope.keyspace || prefix !== scope.prefix)
    throw new IsochronError('CURSOR_INVALID', 'The cursor belongs to a feed with another keyspace or prefix.');
  return ts;
}

/** The prefix of the qualified keys of a scope. */
export const qualifiedPrefix = ({ keyspace, prefix }: Scope): string =>
  keyspace === null ? '' : `${keyspace}/${prefix}`;

function parse(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch (cause) {
    throw damaged(cause);
  }
}

const damaged = (cause?: unknown): IsochronError =>
  new IsochronError('CURSOR_INVALID', 'The cursor of the change feed is damaged.', { cause });

/** The messages of the change feed. */
import type { Timestamp, TxId } from '@isochron/core/ids';
import type { Operation } from '../updates.js';

/** The scope and the begin of a feed. Without `since` and `at` it begins at the present end. */
export interface ChangesOptions {
  /** Only keys of this keyspace. Default: all keyspaces. */
  readonly keyspace?: string;
  /** Only keys that begin with this. It needs a `keyspace`. */
  readonly prefix?: string;
  /** Goes on behind a message: its `cursor`. */
  readonly since?: string;
  /** Begins behind a snapshot: its `timestamp`. */
  readonly at?: Timestamp;
  /** Ends the feed: it rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** A write in the feed. Exactly one of `value`, `bytes`, `operations` and `delete` is there. */
export interface ChangedKey {
  readonly keyspace: string;
  readonly key: string;
  /** The document that was stored. */
  readonly value?: unknown;
  /** The bytes that were stored. */
  readonly bytes?: Uint8Array;
  /** The update of the document below. */
  readonly operations?: readonly Operation[];
  /** The key was deleted. */
  readonly delete?: true;
}

/** A transaction in the feed, with all of its writes in the scope. */
export interface ChangedTransaction {
  readonly id: TxId;
  /** The commit timestamp of the change. */
  readonly timestamp: Timestamp;
  readonly writes: readonly ChangedKey[];
}

/** All transactions of a range of time: `from < timestamp <= to`. Nothing at or below `to` is added later. */
export interface ChangesMessage {
  readonly from: Timestamp;
  /** A reader that has applied everything up to here holds the snapshot at this timestamp. */
  readonly to: Timestamp;
  /** The position behind the message, for `since`: with this scope, at any node of any region. */
  readonly cursor: string;
  /** In their order; without any, only `to` has moved. */
  readonly transactions: readonly ChangedTransaction[];
}

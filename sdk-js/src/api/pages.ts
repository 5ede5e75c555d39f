/** What a listing takes and gives. */
import type { Timestamp } from '@isochron/core/ids';

/** The range and the limits of a listing. */
export interface ListOptions {
  /** Only keys that begin with this. */
  readonly prefix?: string;
  /** First key that may be listed. */
  readonly start?: string;
  /**
   * Whether the documents of inner collections are listed, too, as `inner/<id>`. Default: not in a collection, but in a
   * keyspace.
   */
  readonly deep?: boolean;
  /** Most entries in all. Default: no limit. */
  readonly limit?: number;
  /** Entries that are fetched at a time, 1 to 1000. Default 100. */
  readonly pageSize?: number;
  /** Ends the listing: waiting calls reject with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** A key and its document. */
export interface Entry<T> {
  readonly key: string;
  readonly value: T;
}

/** Some entries of a listing. */
export interface Page<T> {
  readonly entries: readonly Entry<T>[];
  /** Whether entries follow. */
  readonly more: boolean;
  /** Snapshot of the whole listing. */
  readonly timestamp: Timestamp;
  /** The age of the snapshot in ms, by the node's clock. */
  readonly stalenessMs: number | undefined;
}

/** Queries and results of live queries, and what their readers need of a watch. */
import type { ResultChange } from '@isochron/client/live/differences';
import type { Query } from '@isochron/client/live/query';
import type { ResultDocument } from '@isochron/client/live/results';
import type { Timestamp } from '@isochron/core/ids';
import type { Driver } from '../driver.js';
import type { KeyScope } from './scope.js';

export type { ResultChange } from '@isochron/client/live/differences';
export type { Comparison, Condition, Order } from '@isochron/client/live/query';
export type { ResultDocument } from '@isochron/client/live/results';

/** A query for named documents, in the order of their keys here. */
export interface KeysQuery {
  readonly keys: readonly string[];
  readonly signal?: AbortSignal;
}

/**
 * A query for the documents of a range of keys: of a prefix, from `start` on and below `end`, or all. The client holds
 * the whole range, at most 10,000 documents and 16 MiB: `where`, `orderBy`, `limit` and `reverse` apply to it there.
 */
export interface RangeQuery extends Query {
  /** Only keys that begin with this. */
  readonly prefix?: string;
  /** First key of the range. */
  readonly start?: string;
  /** First key behind the range. */
  readonly end?: string;
  /**
   * Whether the documents of inner collections are part of it, too, as `inner/<id>`. Default: not in a collection, but
   * in a keyspace.
   */
  readonly deep?: boolean;
  /** Ends everything that reads this watch: iterations reject with its reason. */
  readonly signal?: AbortSignal;
}

/** The state of a result. */
export interface LiveMeta {
  /** Whether the result is of an earlier connection's cache; false while the client keeps none. */
  readonly fromCache: boolean;
  /** Whether one of the documents has an own write that is not stable yet. */
  readonly hasPendingWrites: boolean;
  /** Age of the snapshot in ms, by the node's clock, at the time of the result. */
  readonly stalenessMs: number | undefined;
  /** Whether all documents of the snapshot are there. */
  readonly complete: boolean;
}

/** Fields of every result. */
export interface LiveState {
  /** The snapshot of the documents. All watches of a client are at the same one. */
  readonly snapshot: Timestamp;
  readonly meta: LiveMeta;
}

/** The documents of a query at one snapshot, with the own writes of the client on top. */
export interface QueryResult<T = unknown> extends LiveState {
  /** In order. The same array, with the same objects, until one of them changes. */
  readonly documents: readonly ResultDocument<T>[];
  /** The differences from the result that this reader took before. */
  readonly changes: readonly ResultChange<T>[];
}

/** One document at a snapshot, with the own writes of the client on top. */
export interface DocumentResult<T = unknown> extends LiveState {
  readonly key: string;
  /** Undefined without a document. It is shared: it must not be changed, and JSON is frozen. */
  readonly value: T | undefined;
  /** Whether an own write of it is not stable yet. */
  readonly pending: boolean;
}

/** The part of the driver that watches use. */
export type LiveDriver = Pick<Driver, 'limits' | 'step' | 'afterStep' | 'ageMs'>;

/** What a watch reads. */
export type WatchPlan =
  | { readonly kind: 'document'; readonly scope: KeyScope; readonly id: string }
  | { readonly kind: 'keys'; readonly scope: KeyScope; readonly keys: readonly string[] }
  | { readonly kind: 'range'; readonly scope: KeyScope; readonly range: Omit<RangeQuery, 'signal'> }
  | { readonly kind: 'cut'; readonly watches: Readonly<Record<string, Watched>> };

/** A watch as its readers see it. */
export interface Watched {
  readonly driver: LiveDriver;
  readonly plan: WatchPlan;
  readonly signal: AbortSignal | undefined;
  /** Text that equal queries share. */
  readonly name: string;
}

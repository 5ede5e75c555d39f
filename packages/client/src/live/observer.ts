/**
 * The seam between live queries of the machine and everything above it: what is watched, and what an observer gets
 * (LQ1).
 */
import type { IsochronError } from '@isochron/core/errors';
import type { QualifiedKey, Timestamp, Value } from '@isochron/core/ids';

/** The keys of a query: named ones, or a range of one keyspace . Qualified. */
export type LiveScope = { readonly keys: readonly QualifiedKey[] } | LiveRange;

/** The keys of one keyspace from `start` on, below `end`. */
export interface LiveRange {
  readonly start: QualifiedKey;
  readonly end: QualifiedKey;
  /** Only those with this many segments, without the keyspace; absent for all. */
  readonly level?: number;
}

/**
 * A document as an observer sees it: with the client's own writes laid over. The same object as long as nothing of it
 * has changed.
 */
export interface LiveDocument {
  readonly key: QualifiedKey;
  readonly value: Value;
  /** Whether an own write of it is not part of the snapshot yet. */
  readonly pending: boolean;
}

/** The documents of one scope at a snapshot. */
export interface ScopeView {
  /** In no order. The map is the scope's own: it changes before the observer's next call, and is never copied. */
  readonly documents: ReadonlyMap<QualifiedKey, LiveDocument>;
  /** Keys that were added, changed or removed since the observer's last call; in the first one, all keys. */
  readonly changed: ReadonlySet<QualifiedKey>;
}

/** It is called during a step of the machine, and must not begin another one from there. */
export interface LiveObserver {
  /**
   * All scopes of the observer at one snapshot, in the order in which it named them. First when all are complete, then
   * whenever something in one of them has changed.
   */
  next(snapshot: Timestamp, views: readonly ScopeView[]): void;
  /** The observer has ended: WATCH_TOO_LARGE, PERMISSION_DENIED, CLIENT_CLOSED, KEYSPACE_UNKNOWN ... */
  failed(error: IsochronError): void;
}

/** Live queries, as the machine uses them. */
export interface LiveQueries {
  /** Observes scopes from now on. Without scopes the observer is called once, at the present snapshot. */
  watch(observer: LiveObserver, scopes: readonly LiveScope[]): void;
  /** Ends an observer, without a call of it. */
  unwatch(observer: LiveObserver): void;
  /** Calls the observers of whatever this step has changed. */
  flush(): void;
  /** Ends all observers with CLIENT_CLOSED. */
  close(): void;
}

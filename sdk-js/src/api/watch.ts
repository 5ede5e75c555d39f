/** Live queries as applications see them. Their work is in `../live`, which is loaded with the first use. */
import type { IsochronError } from '@isochron/core/errors';
import { checkNames } from '../check-options.js';
import { toJson } from '../documents.js';
import { part } from '../parts.js';
import { iterateLater } from './later.js';
import type { KeyScope } from './scope.js';
import type {
  DocumentResult,
  KeysQuery,
  LiveDriver,
  LiveState,
  QueryResult,
  RangeQuery,
  Watched,
  WatchPlan,
} from './watched.js';

/** The results of several watches at one snapshot, by their names, and this snapshot. */
export type CutResult<W extends Watches> = LiveState & { readonly [Name in keyof W]: ResultOf<W[Name]> };

/** Watches by their names. */
export type Watches = Readonly<Record<string, Watch<unknown>>>;

/** The result of a watch. */
export type ResultOf<W> = W extends Watch<infer R> ? R : never;

const print = (error: IsochronError): void => {
  if (error.code !== 'CLIENT_CLOSED') console.error(error);
};

/**
 * A live query: its result now, and again after every change, as the client's snapshot moves. Nothing is read before
 * the first reader, and each reader ends by itself.
 *
 * `for await (const result of watch)` gives the newest result when the loop is ready for it: changes that came
 * meanwhile are in one result. Leaving the loop ends it. `subscribe` calls a function with every result.
 *
 * What a client shows is always one snapshot, across all of its watches: no part of a transaction without the rest,
 * no effect without its cause (LQ1). Own writes show at once, in the turn of their call, as `pending` until they are
 * stable (LQ2); a write that the cluster refuses goes again. Connections may break: the watch goes on from its
 * snapshot, at any node of any region, and never back (LQ3).
 *
 * A reader ends with INVALID_REQUEST, KEY_INVALID, VALUE_INVALID or KEYSPACE_UNKNOWN for a wrong query; with
 * WATCH_TOO_LARGE for a range of too many documents; with NOT_SUPPORTED_BY_PROTOCOL under protocols without live
 * queries; with CODE_UNAVAILABLE where the code of live queries could not be fetched; with CLIENT_CLOSED.
 *
 * @typeParam R its result
 */
export class Watch<R> implements AsyncIterable<R>, Watched {
  /** @internal */
  readonly driver: LiveDriver;
  /** @internal */
  readonly plan: WatchPlan;
  /** @internal */
  readonly signal: AbortSignal | undefined;
  /** Text that equal queries share. */
  readonly name: string;

  /** @internal */
  constructor(driver: LiveDriver, plan: WatchPlan, signal?: AbortSignal) {
    this.driver = driver;
    const isCut = plan.kind === 'cut';
    this.name = JSON.stringify(isCut ? Object.entries(plan.watches).map(([as, { name }]) => [as, name]) : plan);
    // A copy: later changes of the query have no effect.
    this.plan = isCut ? plan : (JSON.parse(this.name) as WatchPlan);
    this.signal = signal;
  }

  /** @internal The same query, which its readers end themselves. */
  withoutSignal(): Watch<R> {
    return this.signal === undefined ? this : new Watch(this.driver, this.plan);
  }

  /**
   * Calls a function with the result, and again with every later one, in the turn in which it changes. Returns a
   * function that ends this; none of the two is called after it. An error of `listener` is printed with
   * `console.error`.
   * @param failed called when the watch has ended with an error; by default that is printed with `console.error`,
   *   unless the client was closed
   */
  subscribe(listener: (result: R) => void, failed: (error: IsochronError) => void = print): () => void {
    let end: (() => void) | undefined;
    let hasEnded = false;
    const begin = ({ subscribe }: typeof import('../live/readers.js')): void => {
      if (!hasEnded) end = subscribe(this, listener, failed);
    };
    part(import('../live/readers.js')).then(begin, failed);
    return () => {
      hasEnded = true;
      end?.();
    };
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<R> {
    return iterateLater(async () => (await part(import('../live/readers.js'))).iterate<R>(this));
  }
}

/** @internal Throws INVALID_REQUEST for an unknown option, VALUE_INVALID for what JSON cannot hold. */
export function watchOf<T>(
  driver: LiveDriver,
  scope: KeyScope,
  query: string | KeysQuery | RangeQuery,
): Watch<DocumentResult<T> | QueryResult<T>> {
  if (typeof query === 'string') return new Watch(driver, { kind: 'document', scope, id: query });
  if ('keys' in query) {
    checkNames(query, 'keys', 'signal');
    return new Watch(driver, { kind: 'keys', scope, keys: query.keys }, query.signal);
  }
  checkNames(query, 'prefix', 'start', 'end', 'deep', 'where', 'orderBy', 'limit', 'reverse', 'signal');
  toJson(query.where ?? [], 'where');
  const { signal, ...range } = query;
  return new Watch(driver, { kind: 'range', scope, range }, signal);
}

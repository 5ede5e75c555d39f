/** Reads one scope through a snapshot handle, without own writes, within the limits of a watch. */
import type { QualifiedKey, Value } from '@isochron/core/ids';
import { unqualify } from '@isochron/core/ids';
import { compareKeys, prefixEnd } from '@isochron/core/versions';
import { malformed } from '../errors.js';
import type { Caller, Cancellable } from '../link/exchange.js';
import type { Listed } from '../link/frames.js';
import { listPage } from '../session/listing.js';
import { readValues } from '../session/reads.js';
import type { SnapshotHandle } from '../session/snapshot-handle.js';
import type { LiveRange } from './observer.js';
import { MAX_WATCH_BYTES, MAX_WATCH_DOCUMENTS, type Scope, sizeOf, watchTooLarge } from './scope.js';

/** The most keys of a page. */
const PAGE_KEYS = 1000;

/** Counts the documents of a scope. */
class Budget {
  #documents = 0;
  #bytes = 0;

  constructor(readonly into: Map<QualifiedKey, Value>) {}

  /** Whether the document fits; it is stored then. */
  take(key: QualifiedKey, value: Value): boolean {
    this.#documents++;
    this.#bytes += sizeOf(key, value);
    this.into.set(key, value);
    return this.#documents <= MAX_WATCH_DOCUMENTS && this.#bytes <= MAX_WATCH_BYTES;
  }
}

/** @param into gets the documents */
export function readScope(
  handle: SnapshotHandle,
  scope: Scope,
  into: Map<QualifiedKey, Value>,
  caller: Caller<void>,
): Cancellable {
  const budget = new Budget(into);
  if (scope.keys !== undefined) return readNamed(handle, [...scope.keys], budget, caller);
  const read = new RangeRead(handle, scope, budget, caller);
  read.next();
  return read;
}

function readNamed(
  handle: SnapshotHandle,
  keys: readonly QualifiedKey[],
  budget: Budget,
  { resolve, reject }: Caller<void>,
): Cancellable {
  const most = handle.core.limits.maxKeysPerRequest;
  const parts = Array.from({ length: Math.ceil(keys.length / most) }, (_, i) => keys.slice(i * most, (i + 1) * most));
  let left = parts.length;
  const calls = parts.map((part) => {
    const take = (values: readonly (Value | null)[]): void => {
      left--;
      const fits = values.every((value, i) => value === null || budget.take(part[i]!, value));
      if (!fits) reject(watchTooLarge());
      else if (left === 0) resolve();
    };
    return readValues(handle, part, { resolve: take, reject });
  });
  return {
    cancel: (reason) => {
      for (const call of calls) call.cancel(reason);
    },
  };
}

/** Lists a range, page after page. */
class RangeRead implements Cancellable {
  readonly #keyspace: string;
  readonly #prefix: string;
  readonly #end: QualifiedKey;
  readonly #level: number | undefined;
  #start: string;
  #page: Cancellable | undefined;

  constructor(
    readonly handle: SnapshotHandle,
    scope: Scope,
    readonly budget: Budget,
    readonly caller: Caller<void>,
  ) {
    const { start, end, level } = scope.range as LiveRange;
    const { keyspace, key } = unqualify(start);
    this.#keyspace = keyspace;
    this.#start = key;
    this.#end = end;
    this.#level = level;
    this.#prefix = commonPrefix(start, end).slice(keyspace.length + 1);
  }

  cancel(reason: unknown): void {
    this.#page?.cancel(reason);
  }

  next(): void {
    const [keyspace, prefix, start, level] = [this.#keyspace, this.#prefix, this.#start, this.#level];
    const request = { keyspace, prefix, start, limit: PAGE_KEYS, ...(level !== undefined && { level }) };
    const { reject } = this.caller;
    this.#page = listPage(this.handle, request, { resolve: (page) => this.#take(page), reject });
  }

  #take({ entries, next }: Listed): void {
    for (const [key, , value] of entries) {
      const qualified = `${this.#keyspace}/${key}`;
      if (compareKeys(key, this.#start) < 0) {
        this.caller.reject(malformed('a page with keys before its own start'));
        return;
      }
      if (compareKeys(qualified, this.#end) >= 0) {
        this.caller.resolve();
        return;
      }
      if (!this.budget.take(qualified, value)) {
        this.caller.reject(watchTooLarge());
        return;
      }
    }
    if (next === null || compareKeys(`${this.#keyspace}/${next}`, this.#end) >= 0) this.caller.resolve();
    else if (compareKeys(next, this.#start) <= 0)
      this.caller.reject(malformed('a page that continues before its own start'));
    else {
      this.#start = next;
      this.next();
    }
  }
}

/** A prefix that all keys from `start` to `end` have: the longest that is easily found. */
function commonPrefix(start: string, end: string): string {
  const whole = start.slice(0, end.length);
  if (prefixEnd(whole) === end) return whole;
  let length = 0;
  while (length < end.length && start[length] === end[length]) length++;
  // A pair of surrogates is not divided.
  return /[\ud800-\udbff]$/.test(start.slice(0, length)) ? start.slice(0, length - 1) : start.slice(0, length);
}

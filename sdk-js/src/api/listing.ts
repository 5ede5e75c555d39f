import type { MergedPage } from '@isochron/client/session/listing';
import type { Timestamp } from '@isochron/core/ids';
import { checkOptions } from '../check-options.js';
import { decodeDocument } from '../documents.js';
import type { Driver, Handle } from '../driver.js';
import { type HandleSource, levelIn, type Scope } from './scope.js';

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
  /** Its age in ms, by the node's clock. */
  readonly stalenessMs: number | undefined;
}

/**
 * The entries of a keyspace or collection in key order (by UTF-8 bytes), all of one snapshot, with the session's own
 * writes.
 *
 * `for await (const { key, value } of listing)` goes through all of them, every loop in a snapshot of its own. `page()`
 * fetches one page after the other, all in one snapshot, until `more` is false; end it early with `close()`: it holds
 * garbage collection back until then, so that its next page may be asked for at any time.
 * Both throw the errors of reads: OFFLINE, KEYSPACE_UNKNOWN, SNAPSHOT_TOO_OLD, the signal's reason.
 */
export class Listing<T> implements AsyncIterable<Entry<T>> {
  readonly #open: () => Cursor<T>;
  #cursor: Cursor<T> | undefined;

  /** @internal */
  constructor(source: HandleSource, scope: Scope, options: ListOptions) {
    checkOptions(options, 'prefix', 'start', 'deep', 'limit', 'pageSize', 'signal');
    const level = levelIn(scope, options.prefix ?? '', options.deep);
    this.#open = () => new Cursor(source, scope, options, level);
  }

  /**
   * The next page: about `pageSize` entries, fewer or none where keys were deleted. After the last one: an empty page.
   */
  async page(): Promise<Page<T>> {
    this.#cursor ??= this.#open();
    return this.#cursor.page();
  }

  /** Ends a listing by `page()` before its last page. */
  close(): void {
    this.#cursor?.close();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Entry<T>, void, undefined> {
    const cursor = this.#open();
    try {
      for (let more = true; more; ) {
        const page = await cursor.page();
        yield* page.entries;
        more = page.more;
      }
    } finally {
      cursor.close();
    }
  }
}

/** One way through a listing. */
class Cursor<T> {
  readonly #scope: Scope;
  readonly #options: ListOptions;
  readonly #handle: Handle;
  readonly #driver: Driver;
  /** Whether the listing has a snapshot of its own. */
  readonly #owns: boolean;
  #next: string | null;
  #left: number;

  constructor(
    source: HandleSource,
    scope: Scope,
    options: ListOptions,
    readonly level: { readonly level?: number },
  ) {
    this.#scope = scope;
    this.#options = options;
    this.#next = scope.prefix + (options.start ?? '');
    this.#left = options.limit ?? Number.POSITIVE_INFINITY;
    this.#driver = source.driver;
    const handle = source.handle();
    this.#owns = handle === undefined;
    const mode = this.#driver.machine.core.can('snapshots') ? 'snapshot' : 'one-shot';
    this.#handle = handle ?? this.#driver.begin(mode);
  }

  async page(): Promise<Page<T>> {
    const entries = this.#next === null || this.#left <= 0 ? [] : await this.#fetch(this.#next);
    const more = this.#next !== null && this.#left > 0;
    if (!more) this.close();
    const { tx } = this.#handle;
    const timestamp = tx.snapshot ?? tx.floor;
    return { entries, more, timestamp, stalenessMs: this.#driver.ageMs(timestamp) };
  }

  close(): void {
    this.#next = null;
    if (this.#owns) this.#driver.end(this.#handle);
  }

  async #fetch(start: string): Promise<Entry<T>[]> {
    const { keyspace, prefix } = this.#scope;
    const { pageSize = 100, prefix: asked = '', signal } = this.#options;
    const request = { keyspace, prefix: prefix + asked, start, limit: pageSize, ...this.level };
    const call = { f: 'list', handle: this.#handle.id, request } as const;
    const page = await this.#driver.call<MergedPage>(call, signal);
    this.#next = page.next;
    const entries = page.entries.slice(0, this.#left);
    this.#left -= entries.length;
    return entries.map(([key, value]) => ({ key: key.slice(prefix.length), value: decodeDocument<T>(value) as T }));
  }
}

import { checkOptions } from '../check-options.js';
import { part } from '../parts.js';
import type { Cursor } from './cursor.js';
import type { Entry, ListOptions, Page } from './pages.js';
import type { HandleSource, KeyScope } from './scope.js';

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
  readonly #open: () => Promise<Cursor<T>>;
  #cursor: Promise<Cursor<T>> | undefined;

  /** @internal */
  constructor(source: HandleSource, scope: KeyScope, options: ListOptions) {
    checkOptions(options, 'prefix', 'start', 'deep', 'limit', 'pageSize', 'signal');
    this.#open = async () => new (await part(import('../live/readers.js'))).Cursor(source, scope, options);
  }

  /**
   * The next page: about `pageSize` entries, fewer or none where keys were deleted. After the last page: an empty page.
   */
  async page(): Promise<Page<T>> {
    this.#cursor ??= this.#open().catch((error: unknown) => {
      this.#cursor = undefined;
      throw error;
    });
    return (await this.#cursor).page();
  }

  /** Ends a listing by `page()` before its last page. */
  close(): void {
    this.#cursor?.then((cursor) => cursor.close()).catch(() => undefined);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Entry<T>, void, undefined> {
    const cursor = await this.#open();
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

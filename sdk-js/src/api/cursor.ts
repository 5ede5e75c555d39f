/** Pages of a listing, one after the other: loaded with the first listing of an application. */
import { type MergedPage, mergedPage } from '@isochron/client/session/listing';
import { decodeDocument } from '../documents.js';
import type { Driver, Handle } from '../driver.js';
import { levelIn } from './level.js';
import type { Entry, ListOptions, Page } from './pages.js';
import type { HandleSource, KeyScope } from './scope.js';

/** One way through a listing. */
export class Cursor<T> {
  readonly #scope: KeyScope;
  readonly #options: ListOptions;
  readonly #handle: Handle;
  readonly #driver: Driver;
  /** Whether the listing has a snapshot of its own. */
  readonly #owns: boolean;
  #next: string | null;
  #left: number;

  readonly #level: { readonly level?: number };

  constructor(source: HandleSource, scope: KeyScope, options: ListOptions) {
    this.#level = levelIn(scope, options.prefix ?? '', options.deep);
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
    const timestamp = tx.snapshot ?? tx.seen.ts;
    return { entries, more, timestamp, stalenessMs: this.#driver.ageMs(timestamp) };
  }

  close(): void {
    this.#next = null;
    if (this.#owns) this.#driver.end(this.#handle);
  }

  async #fetch(start: string): Promise<Entry<T>[]> {
    const { keyspace, prefix } = this.#scope;
    const { pageSize = 100, prefix: asked = '', signal } = this.#options;
    const request = { keyspace, prefix: prefix + asked, start, limit: pageSize, ...this.#level };
    const call = { f: 'list', merge: mergedPage, handle: this.#handle.id, request } as const;
    const page = await this.#driver.call<MergedPage>(call, signal);
    this.#next = page.next;
    const entries = page.entries.slice(0, this.#left);
    this.#left -= entries.length;
    return entries.map(([key, value]) => ({ key: key.slice(prefix.length), value: decodeDocument<T>(value) as T }));
  }
}

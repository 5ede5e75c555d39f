import {
  type Belongs,
  type CopyPage,
  compareKeys,
  isPlain,
  type ListPage,
  type ListRange,
  type QualifiedKey,
  type Timestamp,
  type Version,
} from '@isochron/core';
import { keysBetween, type Run } from '../checkpoint/sorted-keys.js';
import { Folder } from '../memory/folds.js';
import { contentBytes, freshestIn } from '../versions.js';

/** A page of a listing ends here even when it holds fewer keys than asked. */
const PAGE_BYTES = 4 * 1024 * 1024;
/**
 * Keys that one page examines: a range full of tombstones gives short, even empty, pages with the start of the next
 * one.
 */
const PAGE_EXAMINED = 100_000;

/** For a key whose updates are folded when the page is used: the chain keeps the result then. */
export const LATER = Symbol('later');

/** Collects one page from the keys of the range in order. */
export class PageBuilder {
  readonly entries: { key: QualifiedKey; version: Version }[] = [];
  /** Keys whose versions are looked up when the page is used; they count as entries. */
  readonly later: QualifiedKey[] = [];
  next: QualifiedKey | null = null;
  #bytes = 0;
  #examined = 0;

  constructor(readonly limit: number) {}

  /** Takes a key and its version in the snapshot. Returns false when the page ended before it. */
  add(key: QualifiedKey, version: () => Version | typeof LATER | undefined): boolean {
    if (
      this.entries.length + this.later.length >= this.limit ||
      this.#bytes >= PAGE_BYTES ||
      this.#examined >= PAGE_EXAMINED
    ) {
      this.next = key;
      return false;
    }
    this.#examined++;
    const found = version();
    if (found === LATER) this.later.push(key);
    if (found === undefined || found === LATER || found.value === null) return true;
    this.entries.push({ key, version: found });
    this.#bytes += key.length + contentBytes(found);
    return true;
  }
}

/** The page of a snapshot, from whole chains. */
function pageOf({ chains, next }: CopyPage, belongs: Belongs): ListPage {
  const entries: { key: QualifiedKey; version: Version }[] = [];
  for (const { key, versions } of chains) {
    const newest = freshestIn(versions, belongs);
    if (newest === undefined) continue;
    const version = isPlain(newest) ? newest : new Folder().over(undefined, versions.filter(belongs));
    if (version !== undefined && version.value !== null) entries.push({ key, version });
  }
  return { entries, next };
}

/**
 * A page that was read from disk and waits for its use. Commits in between touch it: their keys are looked up again
 * when it is used.
 */
export class HeldPage {
  /** The result for one snapshot, or the chains for any snapshot. */
  #page: ListPage | CopyPage | undefined;
  readonly #touched = new Set<QualifiedKey>();
  #changed: readonly Run[] = [];
  /** Already used: may be dropped at the end of this turn of the event loop. */
  used = false;

  constructor(
    readonly range: ListRange,
    readonly snapshot: Timestamp | 'any',
  ) {}

  static nameOf({ start, end, limit }: ListRange, snapshot: Timestamp | 'any'): string {
    return `${snapshot}\n${limit}\n${start}\n${end ?? '\n'}`;
  }

  get ready(): boolean {
    return this.#page !== undefined;
  }

  /** `changed`: keys of which LevelDB had the old versions when the reading began. They are looked up again. */
  fill(page: ListPage | CopyPage, changed: readonly Run[]): void {
    this.#page = page;
    this.#changed = changed;
  }

  /** A version of this timestamp is added to a key, or removed. */
  touch(key: QualifiedKey, ts: Timestamp): void {
    const { start, end } = this.range;
    if ((this.snapshot !== 'any' && ts > this.snapshot) || compareKeys(key, start) < 0) return;
    if (end === null || compareKeys(key, end) < 0) this.#touched.add(key);
  }

  /** The keys of a snapshot; for a page of one snapshot, of that one. */
  take(belongs: Belongs, lookUp: (key: QualifiedKey) => Version | undefined): ListPage {
    this.used = true;
    const page = 'chains' in this.#page! ? pageOf(this.#page, belongs) : this.#page!;
    const { start, end, limit } = this.range;
    const onDisk = new Map(page.entries.map((entry) => [entry.key, entry.version]));
    const changed = [[...this.#touched].sort(compareKeys), ...this.#changed].map((run) =>
      keysBetween(run, start, page.next ?? end),
    );
    const builder = new PageBuilder(limit);
    for (const { key, sources } of inOrder([onDisk.keys(), ...changed])) {
      const isAsOnDisk = sources === 1 && onDisk.has(key);
      if (!builder.add(key, () => (isAsOnDisk ? onDisk.get(key) : lookUp(key)))) break;
    }
    return { entries: builder.entries, next: builder.next ?? page.next };
  }
}

/** The keys of ordered sources in order, each once, with the number of sources that have the key. */
function* inOrder(all: readonly Iterator<QualifiedKey>[]): Generator<{ key: QualifiedKey; sources: number }> {
  const heads = all.map((source): QualifiedKey | undefined => source.next().value);
  for (;;) {
    let key: QualifiedKey | undefined;
    for (const head of heads) if (head !== undefined && (key === undefined || compareKeys(head, key) < 0)) key = head;
    if (key === undefined) return;
    let sources = 0;
    for (const [i, head] of heads.entries()) {
      if (head !== key) continue;
      heads[i] = all[i]!.next().value;
      sources++;
    }
    yield { key, sources };
  }
}

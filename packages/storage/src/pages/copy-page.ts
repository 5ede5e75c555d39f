import type { CopyPage, QualifiedKey, StoredVersion } from '@isochron/core';
import { contentBytes } from '../versions.js';

/** A page of chains ends here. */
const PAGE_BYTES = 512 * 1024;
/** Chains in a page of a copy. */
export const COPY_CHAINS = 2_000;

/** Collects one page of whole chains from the partition's keys in order. */
export class CopyBuilder {
  readonly chains: { key: QualifiedKey; versions: readonly StoredVersion[] }[] = [];
  next: QualifiedKey | null = null;
  #bytes = 0;

  constructor(readonly limit = COPY_CHAINS) {}

  /** Takes a key and its versions, oldest first. Returns false when the page ended before it. */
  add(key: QualifiedKey, versions: () => readonly StoredVersion[]): boolean {
    if (this.chains.length >= this.limit || this.#bytes >= PAGE_BYTES) {
      this.next = key;
      return false;
    }
    const whole = versions();
    this.chains.push({ key, versions: whole });
    this.#bytes += key.length;
    for (const version of whole) this.#bytes += 64 + contentBytes(version);
    return true;
  }
}

/**
 * Pages of a copy that were read from disk and wait for their use. A page that is read again replaces the one before
 * it: it holds everything that was durable when either was asked for.
 */
export class HeldCopies {
  readonly #pages = new Map<QualifiedKey, CopyPage>();

  put(start: QualifiedKey, page: CopyPage): void {
    this.#pages.set(start, page);
  }

  /** The page, which stays until the turn of the event loop ends; undefined when it was not prefetched. */
  take(start: QualifiedKey): CopyPage | undefined {
    const page = this.#pages.get(start);
    setImmediate(() => {
      if (this.#pages.get(start) === page) this.#pages.delete(start);
    });
    return page;
  }
}

import type { Content, QualifiedKey, Timestamp, TxId } from '@isochron/core';

/** A write of the session that its snapshots may not contain yet (the paper's WC_c). */
export interface CachedWrite {
  readonly ct: Timestamp;
  readonly txId: TxId;
  readonly value: Content;
}

/** A frozen view of the cache, as of a transaction's start (P7). */
export type CacheView = ReadonlyMap<QualifiedKey, CachedWrite>;

/**
 * The client's private cache of own writes above the stable snapshot. Keeps the greatest `(ct, txId)` per key. A view
 * never changes while a transaction uses it: the next change works on a copy. A session commits in the order of its
 * timestamps, so the entries lie in that order and pruning looks only at those that it removes.
 */
export class WriteCache {
  #entries: Map<QualifiedKey, CachedWrite>;
  #shared = false;

  constructor(entries: Iterable<readonly [QualifiedKey, CachedWrite]> = []) {
    this.#entries = new Map(entries);
  }

  get size(): number {
    return this.#entries.size;
  }

  /** A permanent view of the present cache. */
  freeze(): CacheView {
    this.#shared = true;
    return this.#entries;
  }

  add(key: QualifiedKey, write: CachedWrite): void {
    const old = this.#entries.get(key);
    if (old !== undefined && (old.ct > write.ct || (old.ct === write.ct && old.txId >= write.txId))) return;
    const entries = this.#own();
    entries.delete(key);
    entries.set(key, write);
  }

  /** Removes the entries that every snapshot from `floor` on contains (Alg. 1 line 6). */
  prune(floor: Timestamp): void {
    for (const [key, write] of this.#entries) {
      if (write.ct > floor) return;
      this.#own().delete(key);
    }
  }

  /** No view is in use any more: changes need no copy. */
  thaw(): void {
    this.#shared = false;
  }

  entries(): IterableIterator<[QualifiedKey, CachedWrite]> {
    return this.#entries.entries();
  }

  #own(): Map<QualifiedKey, CachedWrite> {
    if (this.#shared) {
      this.#entries = new Map(this.#entries);
      this.#shared = false;
    }
    return this.#entries;
  }
}

import { type Content, Fold, type QualifiedKey, type Timestamp, type TxId, Update, type Value } from '@isochron/core';

/** A write of the session that its snapshots may not contain yet (the paper's WC_c). */
export interface CachedWrite {
  readonly ct: Timestamp;
  readonly txId: TxId;
  readonly value: Content;
}

/** A write of the session; one of an open transaction has no timestamp. */
export type OwnWrite = Pick<CachedWrite, 'value'> & Partial<CachedWrite>;

/** A frozen view of the cache, as of a transaction's start (P7). The writes of a key lie in their order. */
export type CacheView = ReadonlyMap<QualifiedKey, readonly CachedWrite[]>;

/**
 * The document after own writes, in their order, over the document below them (F5). Undefined if that is needed and
 * not given.
 */
export function laidOver(below: Value | null | undefined, writes: readonly OwnWrite[]): Value | null | undefined {
  let document = below;
  let fold: Fold | undefined;
  for (const { value, ct: ts, txId } of writes) {
    if (!(value instanceof Update)) {
      document = value;
      fold = undefined;
    } else if (document === undefined) return undefined;
    else {
      fold ??= new Fold(document);
      fold.apply(value, ts === undefined || txId === undefined ? undefined : { ts, txId });
    }
  }
  return fold === undefined ? document : fold.result();
}

/**
 * The client's private cache of own writes above the stable snapshot. Keeps, per key in the order of `(ct, txId)`, the
 * newest write that is no update and every update after it. A view never changes while a transaction uses it: the next
 * change works on a copy. A session commits in the order of its timestamps, so the entries lie in that order and
 * pruning looks only at those that it removes.
 */
export class WriteCache {
  #entries = new Map<QualifiedKey, readonly CachedWrite[]>();
  #shared = false;
  /** Every snapshot contains the writes up to here. */
  #floor: Timestamp = 0;

  constructor(entries: Iterable<readonly [QualifiedKey, CachedWrite]> = []) {
    for (const [key, write] of entries) this.add(key, write);
  }

  /** Keys with own writes. */
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
    const writes = old === undefined ? [write] : inserted(old, write, this.#floor);
    if (writes === old) return;
    const entries = this.#own();
    entries.delete(key);
    entries.set(key, writes);
  }

  /** Removes the entries that every snapshot from `floor` on contains (Alg. 1 line 6). */
  prune(floor: Timestamp): void {
    if (floor > this.#floor) this.#floor = floor;
    for (const [key, writes] of this.#entries) {
      if (writes.at(-1)!.ct > floor) return;
      this.#own().delete(key);
    }
  }

  /** No view is in use any more: changes need no copy. */
  thaw(): void {
    this.#shared = false;
  }

  /** The writes of a key lie in their order. */
  *entries(): IterableIterator<[QualifiedKey, CachedWrite]> {
    for (const [key, writes] of this.#entries) for (const write of writes) yield [key, write];
  }

  #own(): Map<QualifiedKey, readonly CachedWrite[]> {
    if (this.#shared) {
      this.#entries = new Map(this.#entries);
      this.#shared = false;
    }
    return this.#entries;
  }
}

/** Inserts a write into a key's list. Returns the same list if the list has the write, or does not need it. */
function inserted(old: readonly CachedWrite[], write: CachedWrite, floor: Timestamp): readonly CachedWrite[] {
  let at = old.length;
  while (at > 0 && isBefore(write, old[at - 1]!)) at--;
  const before = old[at - 1];
  if (before?.ct === write.ct && before.txId === write.txId) return old;
  const after = old.slice(at);
  if (after.some(({ value }) => !(value instanceof Update))) return old;
  if (!(write.value instanceof Update)) return [write, ...after];
  return [...old.slice(0, at).filter((one) => one.ct > floor), write, ...after];
}

const isBefore = (a: CachedWrite, b: CachedWrite): boolean => (a.ct === b.ct ? a.txId < b.txId : a.ct < b.ct);

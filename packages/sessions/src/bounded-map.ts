/** A map that drops the entries that were not used for longest. */

/** Bounds of a map. */
export interface MapBounds<V> {
  readonly max: number;
  /** Greatest sum of `sizeOf` over all entries; an entry that is larger by itself is not kept. */
  readonly maxSize?: number;
  readonly sizeOf?: (value: V) => number;
}

export class BoundedMap<K, V> {
  readonly #entries = new Map<K, { readonly value: V; readonly size: number }>();
  #size = 0;

  constructor(readonly bounds: MapBounds<V>) {}

  /** Entries kept. */
  get count(): number {
    return this.#entries.size;
  }

  /** The value of a key, which counts as a use of it. */
  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** Stores a value as the most recently used one, and makes room for it. */
  set(key: K, value: V): void {
    this.delete(key);
    const { max, maxSize = Number.POSITIVE_INFINITY, sizeOf } = this.bounds;
    const size = sizeOf?.(value) ?? 0;
    if (size > maxSize) return;
    this.#entries.set(key, { value, size });
    this.#size += size;
    while (this.#entries.size > max || this.#size > maxSize) this.delete(this.#entries.keys().next().value!);
  }

  delete(key: K): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#size -= entry.size;
    this.#entries.delete(key);
  }

  /** All entries, least recently used first. */
  *entries(): IterableIterator<[K, V]> {
    for (const [key, { value }] of this.#entries) yield [key, value];
  }
}

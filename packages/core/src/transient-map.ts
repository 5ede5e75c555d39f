/** Deletions between two tables, at least. */
const DELETIONS = 64;

/**
 * A Map for short-lived entries, such as requests that wait for their answers. V8 links each table of a Map to its
 * successor. Once a table is old, each later one counts as alive until the next full collection, with all its entries:
 * every short-lived value becomes an old value. So this map moves to a fresh, unlinked Map after some deletions; the
 * work is constant for each deletion.
 *
 * Iteration is in the order of insertion. A `set` during it may hide later changes from it.
 */
export class TransientMap<K, V> {
  #map = new Map<K, V>();
  #deleted = 0;

  /** How many entries it has. */
  get size(): number {
    return this.#map.size;
  }

  get(key: K): V | undefined {
    return this.#map.get(key);
  }

  has(key: K): boolean {
    return this.#map.has(key);
  }

  /** Stores a value; a present key keeps its place. */
  set(key: K, value: V): void {
    if (this.#deleted > DELETIONS + 2 * this.#map.size) {
      this.#map = new Map(this.#map);
      this.#deleted = 0;
    }
    this.#map.set(key, value);
  }

  /** Deletes an entry. Returns whether the entry existed. */
  delete(key: K): boolean {
    this.#deleted++;
    return this.#map.delete(key);
  }

  values(): IterableIterator<V> {
    return this.#map.values();
  }

  [Symbol.iterator](): IterableIterator<[K, V]> {
    return this.#map[Symbol.iterator]();
  }
}

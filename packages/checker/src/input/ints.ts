/** A growing list of 32-bit integers: a quarter of the memory of an array of boxed numbers, and no holes. */
export class IntList {
  #items = new Int32Array(16);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    if (this.#length === this.#items.length) {
      const larger = new Int32Array(this.#length * 2);
      larger.set(this.#items);
      this.#items = larger;
    }
    this.#items[this.#length++] = value;
  }

  at(index: number): number {
    return this.#items[index]!;
  }

  set(index: number, value: number): void {
    this.#items[index] = value;
  }

  /** The items themselves, valid until the next push. */
  view(): Int32Array {
    return this.#items.subarray(0, this.#length);
  }
}

/**
 * Positions `0 … keys.length - 1` grouped by their key: group `k` is `items[starts[k]] … items[starts[k + 1] - 1]`,
 * ascending.
 */
export interface Groups {
  readonly starts: Int32Array;
  readonly items: Int32Array;
}

/** Counting sort. Positions with a negative key are in no group. */
export function groupBy(keys: Int32Array, groups: number): Groups {
  const starts = new Int32Array(groups + 1);
  for (const key of keys) if (key >= 0) starts[key + 1]!++;
  for (let g = 0; g < groups; g++) starts[g + 1]! += starts[g]!;
  const next = starts.slice(0, groups);
  const items = new Int32Array(starts[groups]!);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]!;
    if (key >= 0) items[next[key]!++] = i;
  }
  return { starts, items };
}

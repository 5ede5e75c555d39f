/** A binary heap of items by a number that never changes, least first. */
export class MinQueue<T> {
  readonly #heap: T[] = [];

  constructor(readonly of: (item: T) => number) {}

  peek(): T | undefined {
    return this.#heap[0];
  }

  push(item: T): void {
    const heap = this.#heap;
    let i = heap.push(item) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (this.of(heap[parent]!) <= this.of(item)) break;
      heap[i] = heap[parent]!;
      i = parent;
    }
    heap[i] = item;
  }

  pop(): T | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (heap.length === 0 || last === undefined) return first;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && this.of(heap[child + 1]!) < this.of(heap[child]!)) child++;
      if (this.of(heap[child]!) >= this.of(last)) break;
      heap[i] = heap[child]!;
      i = child;
    }
    heap[i] = last;
    return first;
  }
}

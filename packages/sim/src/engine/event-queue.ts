/** Something that will happen at a virtual time. */
export interface Scheduled {
  readonly at: number;
  /** Breaks ties: what was scheduled first happens first. */
  readonly order: number;
  /** Undefined once it was called off. */
  run: (() => void) | undefined;
}

/** A binary heap of events, earliest first. */
export class EventQueue {
  readonly #heap: Scheduled[] = [];
  #order = 0;

  get size(): number {
    return this.#heap.length;
  }

  push(at: number, run: () => void): Scheduled {
    const event = { at, order: this.#order++, run };
    let i = this.#heap.push(event) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!before(event, this.#heap[parent]!)) break;
      this.#heap[i] = this.#heap[parent]!;
      i = parent;
    }
    this.#heap[i] = event;
    return event;
  }

  peek(): Scheduled | undefined {
    return this.#heap[0];
  }

  pop(): Scheduled | undefined {
    const first = this.#heap[0];
    const last = this.#heap.pop();
    if (first !== last && last !== undefined) this.#sink(last);
    return first;
  }

  #sink(event: Scheduled): void {
    const heap = this.#heap;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child++;
      if (!before(heap[child]!, event)) break;
      heap[i] = heap[child]!;
      i = child;
    }
    heap[i] = event;
  }
}

const before = (a: Scheduled, b: Scheduled): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);

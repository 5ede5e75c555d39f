import { MinHeap } from './min-heap.js';

/** Something that will happen at a virtual time. */
export interface Scheduled {
  readonly at: number;
  /** Breaks ties: what was scheduled first happens first. */
  readonly order: number;
  /** Undefined once it was called off. */
  run: (() => void) | undefined;
}

const before = (a: Scheduled, b: Scheduled): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);

/** Events, earliest first. */
export class EventQueue {
  readonly #heap = new MinHeap(before);
  #order = 0;

  get size(): number {
    return this.#heap.size;
  }

  push(at: number, run: () => void): Scheduled {
    const event = { at, order: this.#order++, run };
    this.#heap.push(event);
    return event;
  }

  peek(): Scheduled | undefined {
    return this.#heap.peek();
  }

  pop(): Scheduled | undefined {
    return this.#heap.pop();
  }
}

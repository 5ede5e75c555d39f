import { MinHeap } from './min-heap.js';

/** An event that will happen at a virtual time. */
export interface Scheduled {
  readonly at: number;
  /** Breaks ties: the event that was scheduled first happens first. */
  readonly order: number;
  /** Undefined once it was called off. */
  run: (() => void) | undefined;
}

const before = (a: Scheduled, b: Scheduled): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);

/**
 * Events, earliest first. No event may be pushed that is earlier than the last one that came out. Many events are
 * pushed for that very time: they come after all others of it, in their order, and never enter the heap.
 */
export class EventQueue {
  readonly #heap = new MinHeap(before);
  #order = 0;
  /** The time of the last event that came out, and the events pushed for it since; those before `#head` are out. */
  #present = Number.NaN;
  #ofPresent: Scheduled[] = [];
  #head = 0;

  push(at: number, run: () => void): Scheduled {
    const event = { at, order: this.#order++, run };
    if (at === this.#present) this.#ofPresent.push(event);
    else this.#heap.push(event);
    return event;
  }

  /** Takes the earliest event out, unless it comes after a time. */
  pop(by = Number.POSITIVE_INFINITY): Scheduled | undefined {
    const other = this.#heap.peek();
    const present = this.#ofPresent[this.#head];
    if (present !== undefined && (other === undefined || before(present, other))) {
      if (present.at > by) return undefined;
      this.#head++;
      return present;
    }
    if (other === undefined || other.at > by) return undefined;
    if (other.at !== this.#present) this.#begin(other.at);
    return this.#heap.pop();
  }

  /** Every event of the time before is out. */
  #begin(at: number): void {
    this.#present = at;
    this.#ofPresent = [];
    this.#head = 0;
  }
}

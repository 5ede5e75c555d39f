/** The clock and timers of a delay line. */
export interface Scheduler {
  /** Milliseconds of a clock that never goes back. */
  now(): number;
  /** Runs the task once, not before `delayMs` have passed; returns a function that cancels it. */
  after(delayMs: number, task: () => void): () => void;
}

/** Real time. A task that is due at once runs after the I/O at hand. */
export const realTime: Scheduler = {
  now: () => performance.now(),
  after: (delayMs, task) => {
    if (delayMs <= 0) {
      const immediate = setImmediate(task);
      return () => clearImmediate(immediate);
    }
    // Rounded up: a timer counts whole milliseconds and would fire early.
    const timer = setTimeout(task, Math.ceil(delayMs));
    return () => clearTimeout(timer);
  },
};

/** Delivers items in the order they came, each after a delay. One timer, however many items wait. */
export class DelayLine<T> {
  #queue: { readonly item: T; readonly dueAt: number }[] = [];
  #cancel: (() => void) | undefined;

  constructor(
    readonly scheduler: Scheduler,
    readonly deliver: (item: T) => void,
  ) {}

  get length(): number {
    return this.#queue.length;
  }

  /** Adds an item. With a shorter delay, it still waits for the ones before it. */
  push(item: T, delayMs: number): void {
    this.#queue.push({ item, dueAt: this.scheduler.now() + delayMs });
    if (this.#cancel === undefined) this.#schedule();
  }

  /** Delivers all waiting items at once. */
  flush(): void {
    const queue = this.#queue;
    this.clear();
    for (const { item } of queue) this.deliver(item);
  }

  /** Drops all waiting items. */
  clear(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#queue = [];
  }

  #schedule(): void {
    const head = this.#queue[0];
    if (head === undefined) return;
    this.#cancel = this.scheduler.after(head.dueAt - this.scheduler.now(), () => {
      this.#cancel = undefined;
      this.#deliverDue();
    });
  }

  #deliverDue(): void {
    const now = this.scheduler.now();
    const waiting = this.#queue.findIndex(({ dueAt }) => dueAt > now);
    const due = this.#queue.splice(0, waiting < 0 ? this.#queue.length : waiting);
    // Scheduled first, so that a delivery that throws does not stop the line, and one that clears it stops the timer.
    this.#schedule();
    const queue = this.#queue;
    for (const { item } of due) {
      if (this.#queue !== queue) return; // cleared by a delivery: the rest is lost, too
      this.deliver(item);
    }
  }
}

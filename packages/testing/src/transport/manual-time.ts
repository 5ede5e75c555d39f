import type { Scheduler } from '@isochron/transport/delay-line';

/** Time that a test advances. */
export class ManualTime implements Scheduler {
  #now = 0;
  #tasks: { at: number; task: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  after(delayMs: number, task: () => void): () => void {
    const entry = { at: this.#now + Math.max(0, delayMs), task };
    this.#tasks.push(entry);
    return () => {
      this.#tasks = this.#tasks.filter((other) => other !== entry);
    };
  }

  /** Lets time pass, and runs due tasks on the way, in order. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const due = this.#tasks.filter(({ at }) => at <= end).sort((x, y) => x.at - y.at)[0];
      if (due === undefined) break;
      this.#tasks = this.#tasks.filter((other) => other !== due);
      this.#now = due.at;
      due.task();
    }
    this.#now = end;
  }
}

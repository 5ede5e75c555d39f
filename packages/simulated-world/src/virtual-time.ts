import { EventQueue, type Scheduled } from './event-queue.js';

/** The clock of a simulated world, in milliseconds since its beginning. It moves from event to event. */
export class VirtualTime {
  readonly #queue = new EventQueue();
  #now = 0;
  #steps = 0;

  get now(): number {
    return this.#now;
  }

  /** How many events have happened: the number that names a moment of a run. */
  get steps(): number {
    return this.#steps;
  }

  at(at: number, run: () => void): Scheduled {
    return this.#queue.push(Math.max(at, this.#now), run);
  }

  after(ms: number, run: () => void): Scheduled {
    return this.#queue.push(this.#now + ms, run);
  }

  /** The event will not happen. */
  cancel(event: Scheduled): void {
    event.run = undefined;
  }

  /** Lets events happen until the time has come, or `done` returns true after one of them. */
  runUntil(end: number, done: () => boolean): void {
    for (;;) {
      const next = this.#queue.pop(end);
      if (next === undefined) {
        this.#now = end;
        return;
      }
      if (next.run === undefined) continue;
      this.#now = next.at;
      this.#steps++;
      next.run();
      if (done()) return;
    }
  }
}

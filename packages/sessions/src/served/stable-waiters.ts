import { IsochronError, type Timestamp } from '@isochron/core';
import type { Done } from '../coordinator/request-port.js';

/** Runs a function after a time, in ms, unless the returned function is called first. */
export type After = (ms: number, run: () => void) => () => void;

interface Waiter {
  readonly ts: Timestamp;
  readonly done: Done<Timestamp>;
  readonly cancel: () => void;
}

/**
 * Callers that wait until one time (the node's stable time, or the time that all nodes serve) has reached a timestamp.
 */
export class StableWaiters {
  readonly #waiters = new Set<Waiter>();

  constructor(readonly after: After) {}

  /**
   * Ends with the time when it has reached `ts`, or with STABLE_TIMEOUT.
   * @param reached the present time
   */
  wait(ts: Timestamp, reached: Timestamp, timeoutMs: number, done: Done<Timestamp>): void {
    if (reached >= ts) {
      done(reached);
      return;
    }
    const cancel = this.after(timeoutMs, () => {
      this.#waiters.delete(waiter);
      done(new IsochronError('STABLE_TIMEOUT', `The timestamp did not become stable within ${timeoutMs} ms.`));
    });
    const waiter: Waiter = { ts, done, cancel };
    this.#waiters.add(waiter);
  }

  /** Called whenever the time may have moved. */
  advance(reached: Timestamp): void {
    if (this.#waiters.size === 0) return;
    for (const waiter of this.#waiters) {
      if (waiter.ts > reached) continue;
      this.#waiters.delete(waiter);
      waiter.cancel();
      waiter.done(reached);
    }
  }

  /** The node stops: no wait ends any more. */
  close(): void {
    for (const { cancel } of this.#waiters) cancel();
    this.#waiters.clear();
  }
}

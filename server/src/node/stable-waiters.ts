import { IsochronError, type Timestamp } from '@isochron/core';

interface Waiter {
  readonly ts: Timestamp;
  readonly resolve: (reached: Timestamp) => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * Callers that wait until one time (the node's stable time, or the time that all nodes serve) has reached a timestamp.
 */
export class StableWaiters {
  readonly #waiters = new Set<Waiter>();

  /**
   * @param reached the time as it is now
   * @throws IsochronError STABLE_TIMEOUT
   */
  wait(ts: Timestamp, reached: Timestamp, timeoutMs: number): Promise<Timestamp> {
    if (reached >= ts) return Promise.resolve(reached);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiters.delete(waiter);
        reject(new IsochronError('STABLE_TIMEOUT', `The timestamp did not become stable within ${timeoutMs} ms.`));
      }, timeoutMs);
      const waiter: Waiter = { ts, resolve, timer };
      this.#waiters.add(waiter);
    });
  }

  /** Called whenever the time may have moved. */
  advance(reached: Timestamp): void {
    if (this.#waiters.size === 0) return;
    for (const waiter of this.#waiters) {
      if (waiter.ts > reached) continue;
      this.#waiters.delete(waiter);
      clearTimeout(waiter.timer);
      waiter.resolve(reached);
    }
  }

  close(): void {
    for (const { timer } of this.#waiters) clearTimeout(timer);
    this.#waiters.clear();
  }
}

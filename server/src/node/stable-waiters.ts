import { IsochronError, type Timestamp } from '@isochron/core';

interface Waiter {
  readonly ts: Timestamp;
  readonly resolve: (ust: Timestamp) => void;
  readonly timer: NodeJS.Timeout;
}

/** Callers that wait for a timestamp to become stable. */
export class StableWaiters {
  readonly #waiters = new Set<Waiter>();

  /** @throws IsochronError STABLE_TIMEOUT */
  wait(ts: Timestamp, ust: Timestamp, timeoutMs: number): Promise<Timestamp> {
    if (ust >= ts) return Promise.resolve(ust);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiters.delete(waiter);
        reject(new IsochronError('STABLE_TIMEOUT', `The timestamp did not become stable within ${timeoutMs} ms.`));
      }, timeoutMs);
      const waiter: Waiter = { ts, resolve, timer };
      this.#waiters.add(waiter);
    });
  }

  /** Called whenever the node may have learned a new stable time. */
  advance(ust: Timestamp): void {
    if (this.#waiters.size === 0) return;
    for (const waiter of this.#waiters) {
      if (waiter.ts > ust) continue;
      this.#waiters.delete(waiter);
      clearTimeout(waiter.timer);
      waiter.resolve(ust);
    }
  }

  close(): void {
    for (const { timer } of this.#waiters) clearTimeout(timer);
    this.#waiters.clear();
  }
}

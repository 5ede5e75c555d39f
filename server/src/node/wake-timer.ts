/**
 * One timer for all machines of a node, on a monotonic clock: wall clocks are set. It is moved only when an earlier
 * time is asked for.
 */
export class WakeTimer {
  #set: { readonly at: number; readonly timer: NodeJS.Timeout } | undefined;

  constructor(readonly wake: () => void) {}

  /** Wakes the machines after a time in ms, or before; after 1 ms at least. */
  wakeAfter(ms: number): void {
    const at = performance.now() + Math.max(1, ms);
    if (this.#set !== undefined) {
      if (this.#set.at <= at) return;
      clearTimeout(this.#set.timer);
    }
    const timer = setTimeout(
      () => {
        this.#set = undefined;
        this.wake();
      },
      Math.max(1, ms),
    );
    this.#set = { at, timer };
  }

  stop(): void {
    if (this.#set !== undefined) clearTimeout(this.#set.timer);
  }
}

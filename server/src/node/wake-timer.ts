/** One timer for all machines of a node. It is moved only when an earlier time is asked for. */
export class WakeTimer {
  #set: { readonly at: number; readonly timer: NodeJS.Timeout } | undefined;

  constructor(
    readonly now: () => number,
    readonly wake: () => void,
  ) {}

  /** Wakes the machines at a time of the node's clock, or before. */
  wakeAt(at: number): void {
    if (this.#set !== undefined) {
      if (this.#set.at <= at) return;
      clearTimeout(this.#set.timer);
    }
    const timer = setTimeout(
      () => {
        this.#set = undefined;
        this.wake();
      },
      Math.max(1, at - this.now()),
    );
    this.#set = { at, timer };
  }

  stop(): void {
    if (this.#set !== undefined) clearTimeout(this.#set.timer);
  }
}

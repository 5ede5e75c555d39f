/** Admits sessions, one transaction at a time each, or holds them all. */
export class Gate {
  #inside = 0;
  #closed: Promise<void> | undefined;
  #open: () => void = () => undefined;
  #empty: () => void = () => undefined;

  /** Runs a task inside, once the gate is open. */
  async pass<T>(run: () => Promise<T>): Promise<T> {
    while (this.#closed !== undefined) await this.#closed;
    this.#inside++;
    try {
      return await run();
    } finally {
      this.#inside--;
      if (this.#inside === 0) this.#empty();
    }
  }

  /** Admits no task any more; resolves when none is inside. */
  async close(): Promise<void> {
    this.#closed ??= new Promise((resolve) => {
      this.#open = resolve;
    });
    if (this.#inside > 0) {
      await new Promise<void>((resolve) => {
        this.#empty = resolve;
      });
    }
  }

  open(): void {
    this.#closed = undefined;
    this.#open();
  }
}

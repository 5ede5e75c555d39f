/** Makes steps of a disk wait until a test lets them go: a slow disk without a clock. */
export class Gate {
  /** Waiting steps, oldest first. */
  readonly #held: (() => void)[] = [];
  #arrived: (() => void)[] = [];
  #isOpen = true;

  /** Number of waiting steps. */
  get waiting(): number {
    return this.#held.length;
  }

  /** From now on every step waits. */
  close(): void {
    this.#isOpen = false;
  }

  /** Lets the waiting steps go on, and all later ones. */
  open(): void {
    this.#isOpen = true;
    for (const go of this.#held.splice(0)) go();
  }

  /** Called by a step: resolves when it may go on. */
  async pass(): Promise<void> {
    if (this.#isOpen) return;
    const done = new Promise<void>((resolve) => this.#held.push(resolve));
    for (const arrived of this.#arrived.splice(0)) arrived();
    await done;
  }

  /** Resolves when a step waits here. */
  async arrival(): Promise<void> {
    while (this.#held.length === 0) await new Promise<void>((resolve) => this.#arrived.push(resolve));
  }
}

/**
 * Waits until everything that waits for no gate is done: no step of a disk in memory takes as many turns of the event
 * loop.
 */
export async function standstill(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise((done) => setImmediate(done));
}

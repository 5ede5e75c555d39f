/** Holds steps of a disk up until a test lets them go: a slow disk without a clock. */
export class Gate {
  /** Steps that wait here, oldest first. */
  readonly #held: (() => void)[] = [];
  #arrived: (() => void)[] = [];
  #isOpen = true;

  /** How many steps wait here. */
  get waiting(): number {
    return this.#held.length;
  }

  /** From now on every step waits. */
  close(): void {
    this.#isOpen = false;
  }

  /** Lets the steps go on that wait, and all that come later. */
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

/** Lets everything go on that waits for no gate: no step of a disk in memory takes as many turns of the event loop. */
export async function standstill(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise((done) => setImmediate(done));
}

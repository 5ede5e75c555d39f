/** Minimal group commit: one write in flight, while the next group fills. */
export class GroupCommit<T> {
  #waiting: { readonly item: T; readonly done: () => void; readonly failed: (error: unknown) => void }[] = [];
  #writing = false;

  /** @param write makes a group durable */
  constructor(readonly write: (group: readonly T[]) => Promise<void>) {}

  put(item: T): Promise<void> {
    return new Promise((done, failed) => {
      this.#waiting.push({ item, done, failed });
      if (!this.#writing) void this.#write();
    });
  }

  async #write(): Promise<void> {
    this.#writing = true;
    while (this.#waiting.length > 0) {
      const group = this.#waiting;
      this.#waiting = [];
      try {
        await this.write(group.map(({ item }) => item));
        for (const { done } of group) done();
      } catch (error) {
        for (const { failed } of group) failed(error);
      }
    }
    this.#writing = false;
  }
}

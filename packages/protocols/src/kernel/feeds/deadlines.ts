/** The deadlines of requests that wait: the due ones are found without a look at the others (LQ6). */
import type { WallMs } from '@isochron/core';

/** Items whose deadlines lie in one interval of this length, ms, are due together at its end. */
const SLOT_MS = 50;

const slotOf = (at: WallMs): number => Math.ceil(at / SLOT_MS);

export class Deadlines<T> {
  readonly #slots = new Map<number, Set<T>>();
  /** The slot that `due` was last called in. */
  #present = Number.NEGATIVE_INFINITY;

  /** @param at above the present time */
  add(item: T, at: WallMs): void {
    const items = this.#slots.get(slotOf(at)) ?? new Set();
    this.#slots.set(slotOf(at), items.add(item));
  }

  /** @param at as it was added */
  delete(item: T, at: WallMs): void {
    const items = this.#slots.get(slotOf(at));
    if (items?.delete(item) && items.size === 0) this.#slots.delete(slotOf(at));
  }

  /** Removes those whose deadlines have passed. The work is that of the slots, not of the items, once for each slot. */
  due(now: WallMs): T[] {
    const present = Math.floor(now / SLOT_MS);
    if (present === this.#present) return [];
    this.#present = present;
    const due: T[] = [];
    for (const [slot, items] of this.#slots) {
      if (slot > present) continue;
      this.#slots.delete(slot);
      due.push(...items);
    }
    return due;
  }
}

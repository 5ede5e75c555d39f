import { TransientMap, type WallMs } from '@isochron/core';
import type { Effects } from '../machine.js';

/** The reason of a wait: for an event here, or for the clock. */
export type Wait = 'later' | { readonly notBefore: WallMs };

/** Whether an obstacle goes away with time. */
export const isWait = (found: object | Wait | undefined): found is Wait =>
  found === 'later' || (typeof found === 'object' && 'notBefore' in found);

type Timers = Pick<Effects<never>, 'setTimer'>;

interface WaitingItem<Item> {
  readonly item: Item;
  readonly since: WallMs;
}

/**
 * Items that wait under a protocol that blocks, each counted and timed, for the comparison with protocols without
 * waits. A repeated request with the same id waits once.
 */
export class Waiting<Item> {
  readonly counters = { blocked: 0, blockedMs: 0, longestBlockMs: 0 };
  readonly #waiting = new TransientMap<string, WaitingItem<Item>>();
  #timerAt: WallMs = Number.POSITIVE_INFINITY;

  /** @param timer the machine's timer for those that wait for the clock */
  constructor(readonly timer: string) {}

  get size(): number {
    return this.#waiting.size;
  }

  add(id: string, item: Item, since: WallMs, wait: Wait, out: Timers): void {
    if (!this.#waiting.has(id)) this.#waiting.set(id, { item, since });
    if (wait !== 'later') this.#wakeAt(wait.notBefore, out);
  }

  /** Resumes the items that need not wait any more. */
  release(waits: (item: Item) => Wait | undefined, goOn: (item: Item, since: WallMs) => void, out: Timers): void {
    if (this.#waiting.size === 0) return;
    this.#timerAt = Number.POSITIVE_INFINITY;
    for (const [id, { item, since }] of this.#waiting) {
      const wait = waits(item);
      if (wait === undefined) {
        this.#waiting.delete(id);
        goOn(item, since);
      } else if (wait !== 'later') this.#wakeAt(wait.notBefore, out);
    }
  }

  /** Removes the items that have waited for too long. */
  expired(now: WallMs, afterMs: number): Item[] {
    const expired: Item[] = [];
    for (const [id, { item, since }] of this.#waiting) {
      if (now - since <= afterMs) continue;
      this.#waiting.delete(id);
      this.ended(since, now);
      expired.push(item);
    }
    return expired;
  }

  /** A wait is over, one way or the other. */
  ended(since: WallMs, now: WallMs): void {
    this.counters.blocked++;
    this.counters.blockedMs += now - since;
    this.counters.longestBlockMs = Math.max(this.counters.longestBlockMs, now - since);
  }

  #wakeAt(at: WallMs, out: Timers): void {
    if (at >= this.#timerAt) return;
    this.#timerAt = at;
    out.setTimer(this.timer, at);
  }
}

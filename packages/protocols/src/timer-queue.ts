import type { WallMs } from '@isochron/core';

/** Times by key: few keys, so a scan is cheaper than a heap. */
export class TimerQueue<K> {
  readonly #at = new Map<K, WallMs>();
  /** The earliest time; undefined where it must be searched. */
  #next: WallMs | undefined = Number.POSITIVE_INFINITY;

  set(key: K, at: WallMs): void {
    const before = this.#at.get(key);
    this.#at.set(key, at);
    if (this.#next === undefined) return;
    if (at <= this.#next) this.#next = at;
    else if (before === this.#next) this.#next = undefined;
  }

  /** Removes and returns the keys that are due, earliest first, in the order they were set among equals. */
  due(now: WallMs): K[] {
    const due: { key: K; at: WallMs }[] = [];
    for (const [key, at] of this.#at) if (at <= now) due.push({ key, at });
    if (due.length === 0) return [];
    for (const { key } of due) this.#at.delete(key);
    this.#next = undefined;
    return due.sort((a, b) => a.at - b.at).map(({ key }) => key);
  }

  next(): WallMs | undefined {
    if (this.#next === undefined) {
      this.#next = Number.POSITIVE_INFINITY;
      for (const at of this.#at.values()) if (at < this.#next) this.#next = at;
    }
    return this.#at.size === 0 ? undefined : this.#next;
  }
}

import type { WallMs } from '@isochron/core';

/** Times by key: few keys, so a scan is cheaper than a heap. */
export class TimerQueue<K> {
  readonly #at = new Map<K, WallMs>();

  set(key: K, at: WallMs): void {
    this.#at.set(key, at);
  }

  /** Removes and returns the keys that are due, earliest first, in the order they were set among equals. */
  due(now: WallMs): K[] {
    const due: { key: K; at: WallMs }[] = [];
    for (const [key, at] of this.#at) if (at <= now) due.push({ key, at });
    for (const { key } of due) this.#at.delete(key);
    return due.sort((a, b) => a.at - b.at).map(({ key }) => key);
  }

  next(): WallMs | undefined {
    let next: WallMs | undefined;
    for (const at of this.#at.values()) if (next === undefined || at < next) next = at;
    return next;
  }
}

/** Which documents have arrived at which watchers, and how long after stable time had reached them. */
import type { StableTimeline } from './stable-timeline.js';
import { type ValueRule, verify } from './values.js';
import type { Arrivals } from './watcher.js';
import { latencyHistogram, record } from './window.js';

/** The newest change of a key, and the watchers that do not have it yet. */
interface Change {
  readonly ts: number;
  missing: number;
}

export class Deliveries implements Arrivals {
  readonly latency = latencyHistogram();
  documents = 0;
  messages = 0;
  bytes = 0;
  readonly #newest = new Map<string, Change>();
  /** Arrivals of changes whose commits have no answer yet. */
  readonly #early = new Map<string, number>();

  constructor(
    readonly values: ValueRule,
    readonly timeline: StableTimeline,
  ) {}

  message(bytes: number): void {
    this.messages++;
    this.bytes += bytes;
  }

  document(key: string, ts: number, value: unknown): void {
    verify(this.values, key, value);
    this.documents++;
    const delayMs = this.timeline.since(ts);
    if (delayMs !== undefined) record(this.latency, delayMs);
    const change = this.#newest.get(key);
    if (change?.ts === ts) change.missing--;
    else if (change === undefined || ts > change.ts) this.#addEarly(`${key} ${ts}`);
  }

  /** A change was committed that is due at some watchers, unless a later one of its key takes its place. */
  committed(key: string, ts: number, watchers: number): void {
    const name = `${key} ${ts}`;
    const early = this.#early.get(name) ?? 0;
    this.#early.delete(name);
    if (ts > (this.#newest.get(key)?.ts ?? 0)) this.#newest.set(key, { ts, missing: watchers - early });
  }

  /** The newest change of a key is not known any more: nothing is expected of it. */
  undecided(key: string): void {
    this.#newest.set(key, { ts: Number.POSITIVE_INFINITY, missing: 0 });
  }

  /** Watchers, summed over the keys, that do not have the newest change. */
  get missing(): number {
    let missing = 0;
    for (const change of this.#newest.values()) missing += change.missing;
    return missing;
  }

  #addEarly(name: string): void {
    this.#early.set(name, (this.#early.get(name) ?? 0) + 1);
  }
}

/**
 * Limits the rate of each holder: a bucket that holds as much as a period allows, and fills evenly (GCRA).
 *
 * It is our own because of its users: sessions are state machines without promises, whose clock is an input, and each
 * request of a node pays for it. `rate-limiter-flexible` 11.4 makes a promise for each unit (0.5 µs, 1.2 µs for a
 * refusal, against 0.07 µs here) and a timer for each holder; `limiter` 4.1 has a clock of its own and no holders.
 */

/** Longest wait that a refusal names, ms: a holder that floods must not make its own patient requests wait longer. */
const MAX_WAIT_MS = 2000;
/** Holders that are remembered by default. */
const MAX_HOLDERS = 20_000;

interface Bucket {
  /** When it is full again, unless more is taken. */
  fullAt: number;
  /** The same, if all units of the refused requests were taken in their order. */
  promisedAt: number;
}

export class RateLimit<H = string> {
  readonly #buckets = new Map<H, Bucket>();
  readonly #unitMs: number;
  /** The holder of the last request: the next request often has the same holder. */
  #last: H | undefined;
  #lastBucket: Bucket | undefined;

  /**
   * @param units that a full bucket holds: they may be taken at once, and are there again after `periodMs`
   * @param maxHolders holders that have taken something lately and are remembered; the oldest of more starts anew
   */
  constructor(
    readonly units: number,
    readonly periodMs: number,
    readonly maxHolders = MAX_HOLDERS,
  ) {
    this.#unitMs = periodMs / units;
  }

  /** Holders that are remembered. */
  get holders(): number {
    return this.#buckets.size;
  }

  /**
   * Takes units. A request for more than a bucket holds needs a full one, and the next one waits for the rest.
   * @param nowMs steady time
   * @returns 0 if they were taken; else after how many ms to ask again. Each refused request gets a later time than
   * the ones before, so that requests which wait as long come at the allowed rate
   */
  take(holder: H, units: number, nowMs: number): number {
    const bucket = this.#bucket(holder, nowMs);
    const ms = units * this.#unitMs;
    const needsMs = Math.min(ms, this.periodMs);
    if (bucket.fullAt + needsMs <= nowMs + this.periodMs) {
      bucket.fullAt += ms;
      return 0;
    }
    const lastAt = nowMs + this.periodMs + MAX_WAIT_MS;
    bucket.promisedAt = Math.min(Math.max(bucket.promisedAt, bucket.fullAt) + needsMs, lastAt);
    return Math.max(1, Math.ceil(bucket.promisedAt - this.periodMs - nowMs));
  }

  /** Takes units that have been used, even if they are not there. @returns as `waitMs` */
  charge(holder: H, units: number, nowMs: number): number {
    const bucket = this.#bucket(holder, nowMs);
    bucket.fullAt += units * this.#unitMs;
    return this.#waitMs(bucket, nowMs);
  }

  /** After how many ms something is in the bucket of a holder; 0 if there is now. */
  waitMs(holder: H, nowMs: number): number {
    const bucket = this.#find(holder);
    return bucket === undefined ? 0 : this.#waitMs(bucket, nowMs);
  }

  #waitMs({ fullAt }: Bucket, nowMs: number): number {
    const waitMs = fullAt - this.periodMs - nowMs;
    return waitMs <= 0 ? 0 : Math.min(Math.ceil(waitMs), MAX_WAIT_MS);
  }

  /** Units in the bucket of a holder, rounded down. */
  left(holder: H, nowMs: number): number {
    const bucket = this.#find(holder);
    if (bucket === undefined || bucket.fullAt <= nowMs) return this.units;
    return Math.max(0, Math.floor((nowMs + this.periodMs - bucket.fullAt) / this.#unitMs));
  }

  #bucket(holder: H, nowMs: number): Bucket {
    const known = this.#find(holder);
    if (known === undefined) return this.#begin(holder, nowMs);
    if (known.fullAt < nowMs) known.fullAt = nowMs;
    return known;
  }

  #find(holder: H): Bucket | undefined {
    if (holder === this.#last) return this.#lastBucket;
    this.#last = holder;
    this.#lastBucket = this.#buckets.get(holder);
    return this.#lastBucket;
  }

  /**
   * A full bucket is as good as none. Above half of the bound each new one has two others looked at, so holders that
   * have stopped go; below it, holders that come and go cost nothing.
   */
  #begin(holder: H, nowMs: number): Bucket {
    for (let looks = 0; looks < 2 && this.#buckets.size > this.maxHolders / 2; looks++) this.#lookAtOldest(nowMs);
    const bucket = { fullAt: nowMs, promisedAt: nowMs };
    this.#buckets.set(holder, bucket);
    this.#last = holder;
    this.#lastBucket = bucket;
    return bucket;
  }

  #lookAtOldest(nowMs: number): void {
    const [oldest] = this.#buckets;
    if (oldest === undefined) return;
    const [holder, bucket] = oldest;
    this.#buckets.delete(holder);
    const isNeeded = bucket.fullAt > nowMs && this.#buckets.size < this.maxHolders - 1;
    if (isNeeded) this.#buckets.set(holder, bucket);
  }
}

import { HLC_TICKS_PER_MS, type Timestamp } from '@isochron/core';

/** Two remembered timestamps lie at least this far apart: a log that cannot be truncated for hours costs little memory. */
const APART: Timestamp = 50 * HLC_TICKS_PER_MS;

/**
 * Commit timestamps in a replica's log, some of them: where it may be truncated. The horizon of truncation is always the
 * timestamp of a group, so that a peer whose version clock lies below the horizon is known to lack that group (D10).
 */
export class LoggedTimes {
  readonly #times: Timestamp[] = [];
  #last: Timestamp;

  constructor(last: Timestamp) {
    this.#last = last;
  }

  /** Highest commit timestamp in the log. */
  get last(): Timestamp {
    return this.#last;
  }

  /** Timestamps come in order, as groups are applied. */
  add(ct: Timestamp): void {
    if (this.#last - (this.#times.at(-1) ?? 0) >= APART) this.#times.push(this.#last);
    this.#last = ct;
  }

  /** The highest remembered timestamp at or below a stable time, 0 when there is none; those below are forgotten. */
  upTo(stable: Timestamp): Timestamp {
    if (stable >= this.#last) {
      this.#times.length = 0;
      return this.#last;
    }
    let covered = 0;
    while (covered < this.#times.length && this.#times[covered]! <= stable) covered++;
    const found = covered === 0 ? 0 : this.#times[covered - 1]!;
    this.#times.splice(0, covered);
    return found;
  }
}

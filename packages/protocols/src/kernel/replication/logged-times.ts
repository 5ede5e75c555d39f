import { HLC_TICKS_PER_MS, type Timestamp } from '@isochron/core';
import type { PeerProgress } from './peer-progress.js';

/** Two stored timestamps lie at least this far apart: a log that cannot be truncated for hours costs little memory. */
const APART: Timestamp = 50 * HLC_TICKS_PER_MS;

/**
 * Some of the commit timestamps in a replica's log: the points at which it may be truncated. The horizon of truncation
 * is always the timestamp of a group. So a peer whose version clock lies below the horizon is known to lack that group
 * (D10).
 */
export class LoggedTimes {
  #times: Timestamp[] = [];
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

  /**
   * The highest stored timestamp that a peer's present disk has confirmed by a stable time, 0 without one. A report
   * that counts a lost disk may arrive after the loss is known; it lies below the `incarnation` of the new one.
   */
  confirmedBy({ incarnation }: Pick<PeerProgress, 'incarnation'>, stable: Timestamp): Timestamp {
    return stable < incarnation ? 0 : this.#upTo(stable);
  }

  /**
   * Where the log may be truncated: up to here every peer's present disk has confirmed it. A peer that has not asked
   * for the stream may have a new disk. Timestamps below are dropped.
   */
  truncate(peers: Iterable<Pick<PeerProgress, 'incarnation' | 'stream'>>, stable: Timestamp): Timestamp {
    if (![...peers].every(({ incarnation, stream }) => stream.sentUpTo !== undefined && stable >= incarnation))
      return 0;
    const covered = this.#upTo(stable);
    this.#times = this.#times.filter((ct) => ct > stable);
    return covered;
  }

  #upTo(stable: Timestamp): Timestamp {
    return stable >= this.#last ? this.#last : (this.#times.findLast((ct) => ct <= stable) ?? 0);
  }
}

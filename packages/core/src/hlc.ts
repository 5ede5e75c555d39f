import type { Timestamp, WallMs } from './ids.js';

/**
 * Hybrid logical clock timestamps: `(ms since 2025-01-01T00:00Z) * 4096 + logical`, as one safe integer until 2094.
 * The logical part may carry into the milliseconds: an HLC may run ahead of the wall clock without a wait.
 */
export const HLC_EPOCH_MS: WallMs = Date.UTC(2025, 0, 1);
/** Logical steps in one millisecond. */
export const HLC_TICKS_PER_MS = 4096;
/** Largest timestamp that a decoder accepts: leaves room above for ticks, so that arithmetic stays exact. */
export const MAX_TIMESTAMP: Timestamp = 2 ** 53 - 2 ** 40;

/** The first timestamp of a wall-clock millisecond. */
export const packWall = (wallMs: WallMs): Timestamp =>
  Math.max(0, Math.floor(wallMs) - HLC_EPOCH_MS) * HLC_TICKS_PER_MS;

/** The wall-clock milliseconds (with a fraction for the logical part) of a timestamp. */
export const wallOf = (ts: Timestamp): WallMs => HLC_EPOCH_MS + ts / HLC_TICKS_PER_MS;

/** Whether a value from outside is a timestamp that may be decoded. */
export const isTimestamp = (value: unknown): value is Timestamp =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_TIMESTAMP;

/** A hybrid logical clock. Every call passes the wall time: it reads no clock of its own. */
export class Hlc {
  #last: Timestamp;

  constructor(start: Timestamp = 0) {
    this.#last = start;
  }

  /** The highest timestamp issued or observed. */
  get last(): Timestamp {
    return this.#last;
  }

  /** A new timestamp above all issued or observed timestamps, above `floor`, and not below the wall clock. */
  tick(now: WallMs, floor: Timestamp = 0): Timestamp {
    this.#last = Math.max(packWall(now), this.#last + 1, floor + 1);
    return this.#last;
  }

  /** Observes a timestamp from elsewhere: later ticks lie above it. */
  observe(ts: Timestamp): void {
    if (ts > this.#last) this.#last = ts;
  }

  /** `max(Clock, HLC)`: the reading without a step. */
  read(now: WallMs): Timestamp {
    return Math.max(packWall(now), this.#last);
  }
}

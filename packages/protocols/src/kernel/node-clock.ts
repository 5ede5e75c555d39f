import { HLC_TICKS_PER_MS, Hlc, type Timestamp, type WallMs } from '@isochron/core';
import type { Effects, WriteSeq } from '../machine.js';

/** How far ahead the durable ceiling is set, so that no tick needs a write. */
const CEILING_STEP: Timestamp = 1000 * HLC_TICKS_PER_MS;

/** What of the effects the clock needs. */
type Writes = Pick<Effects<never>, 'write'>;

/**
 * The hybrid logical clock of a node, shared by its replicas, with a durable ceiling (D7): nothing that this node promises lies
 * above the ceiling, so that after a restart, starting from the ceiling, it never promises below what it had published.
 */
export class NodeClock {
  readonly #hlc: Hlc;
  #ceiling: Timestamp;
  #asked: { ceiling: Timestamp; seq: WriteSeq };

  /** @param start at least every timestamp that the node had issued: `max(ceiling, own VV, every pt and ct, ust)`. */
  constructor(start: Timestamp, ceiling: Timestamp) {
    this.#hlc = new Hlc(start);
    this.#ceiling = ceiling;
    this.#asked = { ceiling, seq: 0 };
  }

  get last(): Timestamp {
    return this.#hlc.last;
  }

  /** The highest timestamp that may be published without a write. */
  get ceiling(): Timestamp {
    return this.#ceiling;
  }

  observe(ts: Timestamp): void {
    this.#hlc.observe(ts);
  }

  /**
   * A proposed timestamp. When it lies above the ceiling, a higher one joins this step's batch, which the promise that
   * carries the timestamp waits for.
   */
  propose(now: WallMs, floor: Timestamp, out: Writes): Timestamp {
    const ts = this.#hlc.tick(now, floor);
    if (ts > this.#asked.ceiling) this.#raise(ts, out);
    return ts;
  }

  /** `max(Clock, HLC)`, but not above the ceiling: what may be published as a version clock (P1, D7). */
  publishable(now: WallMs, out: Writes): Timestamp {
    const reading = this.#hlc.read(now);
    if (reading + CEILING_STEP / 2 > this.#asked.ceiling) this.#raise(reading, out);
    return Math.min(reading, this.#ceiling);
  }

  persisted(upTo: WriteSeq): void {
    if (this.#asked.seq <= upTo) this.#ceiling = this.#asked.ceiling;
  }

  #raise(ts: Timestamp, out: Writes): void {
    const ceiling = ts + CEILING_STEP;
    this.#asked = { ceiling, seq: out.write({ kind: 'meta', name: 'ceiling', value: ceiling }) };
  }
}

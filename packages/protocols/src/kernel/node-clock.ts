import { HLC_TICKS_PER_MS, Hlc, packWall, type Timestamp, type WallMs, wallOf } from '@isochron/core';
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
  /** Ceilings that are on their way to the disk, each higher than the one before. */
  #asked: { readonly ceiling: Timestamp; readonly seq: WriteSeq }[] = [];

  /** @param start at least every timestamp that the node had issued: `max(ceiling, own VV, every pt and ct, ust)`. */
  constructor(start: Timestamp, ceiling: Timestamp) {
    this.#hlc = new Hlc(start);
    this.#ceiling = ceiling;
  }

  get last(): Timestamp {
    return this.#hlc.last;
  }

  /** The highest timestamp that may be published without a write. */
  get ceiling(): Timestamp {
    return this.#ceiling;
  }

  /**
   * The latest timestamp that a client may name: within a tolerance of the wall clock (T1), or not above what this clock has seen.
   * What is in the cluster already does no harm, and refusing it would keep everybody out who has seen it.
   */
  latest(now: WallMs, toleranceMs: number): Timestamp {
    return Math.max(packWall(now + toleranceMs), this.last);
  }

  /** A timestamp was seen that somebody else has issued (T2). */
  observe(ts: Timestamp): void {
    this.advance(ts);
  }

  /** This node has said something that is true up to `ts`: what it issues from now on lies above. */
  advance(ts: Timestamp): void {
    this.#hlc.observe(ts);
  }

  /** `max(Clock, HLC)`, without a step. */
  read(now: WallMs): Timestamp {
    return this.#hlc.read(now);
  }

  /** From when on a timestamp above `ts` needs no clock that runs ahead of the wall: at once, where a clock may. */
  readyAt(_ts: Timestamp): WallMs {
    return 0;
  }

  /**
   * Sees to it that nothing at or below `ts` is ever proposed here again, not even after a crash.
   * @returns whether the disk says so already; else it does with this step's batch
   */
  leaveBehind(ts: Timestamp, out: Writes): boolean {
    this.advance(ts);
    return this.reserve(ts, out);
  }

  /**
   * Sees to it that every later life of this node begins at or above `ts`; this one may stay below.
   * @returns whether the disk says so already; else it does with this step's batch
   */
  reserve(ts: Timestamp, out: Writes): boolean {
    if (ts > this.#highest) this.#raise(ts, out);
    return ts <= this.#ceiling;
  }

  /**
   * A proposed timestamp. When it lies above the ceiling, a higher one joins this step's batch, which the promise that
   * carries the timestamp waits for.
   */
  propose(now: WallMs, floor: Timestamp, out: Writes): Timestamp {
    const ts = this.#hlc.tick(now, floor);
    if (ts > this.#highest) this.#raise(ts, out);
    return ts;
  }

  /** `max(Clock, HLC)`, but not above the ceiling: what may be published as a version clock (P1, D7). */
  publishable(now: WallMs, out: Writes): Timestamp {
    const reading = this.#hlc.read(now);
    if (reading + CEILING_STEP / 2 > this.#highest) this.#raise(reading, out);
    return Math.min(reading, this.#ceiling);
  }

  persisted(upTo: WriteSeq): void {
    while (this.#asked.length > 0 && this.#asked[0]!.seq <= upTo) this.#ceiling = this.#asked.shift()!.ceiling;
  }

  /** The ceiling that the disk has, or will have. */
  get #highest(): Timestamp {
    return this.#asked.at(-1)?.ceiling ?? this.#ceiling;
  }

  #raise(ts: Timestamp, out: Writes): void {
    const ceiling = ts + CEILING_STEP;
    this.#asked.push({ ceiling, seq: out.write({ kind: 'meta', name: 'ceiling', value: ceiling }) });
  }
}

/**
 * The clock of protocols that know physical clocks only: no other node's timestamps move it. It runs ahead of the wall clock where the node
 * itself has: after a restart (D7), and for a commit that must lie above what its transaction has seen (P6).
 */
export class PhysicalNodeClock extends NodeClock {
  readonly #start: Timestamp;
  #seen: Timestamp = 0;

  constructor(start: Timestamp, ceiling: Timestamp) {
    super(start, ceiling);
    this.#start = start;
  }

  /** When the wall clock has passed it, and whatever a former life of this node may have issued (D7). */
  override readyAt(ts: Timestamp): WallMs {
    return Math.floor(wallOf(Math.max(ts, this.#start))) + 1;
  }

  override observe(ts: Timestamp): void {
    if (ts > this.#seen) this.#seen = ts;
  }

  /** What the cluster has seen is not refused, although this clock does not follow it. */
  override latest(now: WallMs, toleranceMs: number): Timestamp {
    return Math.max(super.latest(now, toleranceMs), this.#seen);
  }
}

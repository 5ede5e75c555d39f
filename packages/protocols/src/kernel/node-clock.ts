import {
  HLC_TICKS_PER_MS,
  Hlc,
  IsochronError,
  MAX_TIMESTAMP,
  packWall,
  type Timestamp,
  type WallMs,
  wallOf,
} from '@isochron/core';
import type { Effects, WriteSeq } from '../machine.js';
import { DriftWatch } from './drift-watch.js';

/** How far ahead of the wall clock the durable ceiling is set, so that no tick needs a write. */
const CEILING_STEP: Timestamp = 1000 * HLC_TICKS_PER_MS;
/**
 * The same above a clock that is ahead of the wall itself: it ticks slowly, and every restart begins at the ceiling.
 */
const CEILING_MARGIN: Timestamp = 20 * HLC_TICKS_PER_MS;

/** What of the effects the clock needs. */
type Writes = Pick<Effects<never>, 'write'>;

/**
 * The hybrid logical clock of a node, shared by its replicas, with a durable ceiling (D7): nothing that this node promises lies
 * above the ceiling, so that after a restart, starting from the ceiling, it never promises below what it had published.
 */
export class NodeClock {
  /** Timestamps from elsewhere that were not followed, because they lie too far ahead (K1). */
  refused = 0;
  readonly #hlc: Hlc;
  readonly #begin: Timestamp;
  /** The wall clock when it was last read. */
  #wall: Timestamp = 0;
  #ceiling: Timestamp;
  /** Ceilings that are on their way to the disk, each higher than the one before. */
  #asked: { readonly ceiling: Timestamp; readonly seq: WriteSeq }[] = [];

  /**
   * @param start at least every timestamp that the node had issued: `max(ceiling, own VV, every pt and ct, ust)`.
   * @param drift how far the wall clock is to be trusted
   */
  constructor(
    start: Timestamp,
    ceiling: Timestamp,
    readonly drift: DriftWatch = new DriftWatch(Number.POSITIVE_INFINITY),
  ) {
    this.#hlc = new Hlc(start);
    this.#begin = start;
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
   * Refusing what this clock has adopted, which is bounded (K1), would keep every client out that has seen it.
   */
  latest(now: WallMs, toleranceMs: number): Timestamp {
    return Math.max(packWall(this.drift.stampable(now) + toleranceMs), this.last);
  }

  /**
   * A timestamp was seen that another node has issued (T2). One too far ahead moves nothing (K1): drivers refuse it
   * before.
   */
  observe(ts: Timestamp): void {
    if (ts <= this.drift.newestAdoptable) this.advance(ts);
    else this.refused++;
  }

  /** Why nothing new may get a timestamp here; undefined when it may (K2, K3). */
  get problem(): string | undefined {
    if (this.last > MAX_TIMESTAMP - 2 * CEILING_STEP) return 'its clock has come to the end of all timestamps';
    return this.drift.problem;
  }

  /** This node has said something that is true up to `ts`: what it issues from now on lies above. */
  advance(ts: Timestamp): void {
    this.#hlc.observe(ts);
  }

  /** `max(Clock, HLC)`, without a step. */
  read(now: WallMs): Timestamp {
    return this.#hlc.read(this.#wallAt(now));
  }

  /** The wall clock alone as a timestamp; while it is not trusted (K2), what this clock has come to. */
  physical(now: WallMs): Timestamp {
    return this.drift.trusted ? packWall(this.drift.stampable(now)) : this.last;
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
   * Sees to it that every later incarnation of this node begins at or above `ts`; this one may stay below.
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
    const ts = this.#hlc.tick(this.#wallAt(now), floor);
    if (ts > MAX_TIMESTAMP) throw new IsochronError('CLOCK_DRIFT', 'The clock has come to the end of all timestamps.');
    if (ts > this.#highest) this.#raise(ts, out);
    return ts;
  }

  /** `max(Clock, HLC)`, but not above the ceiling: what may be published as a version clock (P1, D7). */
  publishable(now: WallMs, out: Writes): Timestamp {
    const reading = this.read(now);
    const needed = Math.max(reading + this.#margin(reading) / 2, Math.min(reading, this.#wall) + CEILING_STEP / 2);
    if (needed > this.#highest && this.#highest < MAX_TIMESTAMP) this.#raise(reading, out);
    return Math.min(reading, this.#ceiling);
  }

  persisted(upTo: WriteSeq): void {
    while (this.#asked.length > 0 && this.#asked[0]!.seq <= upTo) this.#ceiling = this.#asked.shift()!.ceiling;
  }

  /** The ceiling that the disk has, or will have. */
  get #highest(): Timestamp {
    return this.#asked.at(-1)?.ceiling ?? this.#ceiling;
  }

  #wallAt(now: WallMs): WallMs {
    const wall = this.drift.stampable(now);
    this.#wall = packWall(wall);
    return wall;
  }

  /** Grows with what the clock has advanced in this incarnation: peers that are ahead of the wall clock take it along. */
  #margin(ts: Timestamp): Timestamp {
    return Math.min(CEILING_STEP, Math.max(CEILING_MARGIN, Math.floor((ts - this.#begin) / 4)));
  }

  #raise(ts: Timestamp, out: Writes): void {
    const ahead = Math.max(ts + this.#margin(ts), Math.min(ts, this.#wall) + CEILING_STEP);
    const ceiling = Math.min(ahead, MAX_TIMESTAMP);
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

  constructor(start: Timestamp, ceiling: Timestamp, drift?: DriftWatch) {
    super(start, ceiling, drift);
    this.#start = start;
  }

  /** When the wall clock has passed it, and whatever a previous incarnation of this node may have issued (D7). */
  override readyAt(ts: Timestamp): WallMs {
    return Math.floor(wallOf(Math.max(ts, this.#start))) + 1;
  }

  override observe(ts: Timestamp): void {
    if (ts > this.drift.newestAdoptable) this.refused++;
    else if (ts > this.#seen) this.#seen = ts;
  }

  /** What the cluster has seen is not refused, although this clock does not follow it. */
  override latest(now: WallMs, toleranceMs: number): Timestamp {
    return Math.max(super.latest(now, toleranceMs), this.#seen);
  }
}

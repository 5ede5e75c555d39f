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
/** The same for a clock that is ahead of the wall clock: it ticks slowly, and every restart begins at the ceiling. */
const CEILING_MARGIN: Timestamp = 20 * HLC_TICKS_PER_MS;

/** The part of the effects that the clock needs. */
type Writes = Pick<Effects<never>, 'write'>;

/**
 * The hybrid logical clock of a node, shared by its replicas, with a durable ceiling (D7): no timestamp in a promise of
 * this node lies above the ceiling. So a restart from the ceiling never goes below a published timestamp.
 */
export class NodeClock {
  /** Timestamps from elsewhere that were not adopted, because they lie too far ahead (K1). */
  refused = 0;
  readonly #hlc: Hlc;
  readonly #begin: Timestamp;
  /** The wall clock at its last reading. */
  #wall: Timestamp = 0;
  #ceiling: Timestamp;
  /** Ceilings that are on their way to the disk, each higher than the one before. */
  #asked: { readonly ceiling: Timestamp; readonly seq: WriteSeq }[] = [];

  /**
   * @param start at least every timestamp that the node has issued: `max(ceiling, own VV, every pt and ct, ust)`.
   * @param drift whether the wall clock can be trusted
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
   * The latest timestamp that a client may name: within a tolerance of the wall clock (T1), or at most the highest that
   * this clock has adopted. Adoption is bounded (K1). Refusing an adopted timestamp would lock out every client that
   * has read it.
   */
  latest(now: WallMs, toleranceMs: number): Timestamp {
    return Math.max(packWall(this.drift.stampable(now) + toleranceMs), this.last);
  }

  /**
   * Adopts a timestamp that another node has issued (T2). One too far ahead moves nothing (K1): drivers refuse it
   * earlier.
   */
  observe(ts: Timestamp): void {
    if (ts <= this.drift.newestAdoptable) this.advance(ts);
    else this.refused++;
  }

  /** Why no new timestamp may be issued here; undefined when one may (K2, K3). */
  get problem(): string | undefined {
    if (this.last > MAX_TIMESTAMP - 2 * CEILING_STEP) return 'its clock has reached the end of all timestamps';
    return this.drift.problem;
  }

  /** This node has sent a statement about all times up to `ts`: it issues only higher ones from now on. */
  advance(ts: Timestamp): void {
    this.#hlc.observe(ts);
  }

  /** `max(Clock, HLC)`, without a step. */
  read(now: WallMs): Timestamp {
    return this.#hlc.read(this.#wallAt(now));
  }

  /** The wall clock alone as a timestamp; while it is not trusted (K2), the highest that this clock has reached. */
  physical(now: WallMs): Timestamp {
    return this.drift.trusted ? packWall(this.drift.stampable(now)) : this.last;
  }

  /**
   * From when on a timestamp above `ts` needs no clock ahead of the wall clock: at once, if the clock may run ahead.
   */
  readyAt(_ts: Timestamp): WallMs {
    return 0;
  }

  /**
   * Ensures that no timestamp at or below `ts` is ever proposed here again, also after a crash.
   * @returns whether this is on disk already; else it is once this step's batch is
   */
  leaveBehind(ts: Timestamp, out: Writes): boolean {
    this.advance(ts);
    return this.reserve(ts, out);
  }

  /**
   * Ensures that every later incarnation of this node begins at or above `ts`; this one may stay below.
   * @returns whether this is on disk already; else it is once this step's batch is
   */
  reserve(ts: Timestamp, out: Writes): boolean {
    if (ts > this.#highest) this.#raise(ts, out);
    return ts <= this.#ceiling;
  }

  /**
   * A proposed timestamp. If it lies above the ceiling, a higher ceiling joins this step's batch, and the promise with
   * the timestamp waits for that batch.
   */
  propose(now: WallMs, floor: Timestamp, out: Writes): Timestamp {
    const ts = this.#hlc.tick(this.#wallAt(now), floor);
    if (ts > MAX_TIMESTAMP) throw new IsochronError('CLOCK_DRIFT', 'The clock has reached the end of all timestamps.');
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

  /** The highest ceiling that is on the disk or on its way there. */
  get #highest(): Timestamp {
    return this.#asked.at(-1)?.ceiling ?? this.#ceiling;
  }

  #wallAt(now: WallMs): WallMs {
    const wall = this.drift.stampable(now);
    this.#wall = packWall(wall);
    return wall;
  }

  /**
   * Grows with the advance of the clock in this incarnation: peers ahead of the wall clock move this one forward, too.
   */
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
 * The clock of protocols with physical clocks only: no other node's timestamps move it. It runs ahead of the wall clock
 * only on account of its own node: after a restart (D7), and for a commit above the timestamps that its transaction has
 * read (P6).
 */
export class PhysicalNodeClock extends NodeClock {
  readonly #start: Timestamp;
  #seen: Timestamp = 0;

  constructor(start: Timestamp, ceiling: Timestamp, drift?: DriftWatch) {
    super(start, ceiling, drift);
    this.#start = start;
  }

  /**
   * When the wall clock has passed it, and every timestamp that a previous incarnation of this node may have issued
   * (D7).
   */
  override readyAt(ts: Timestamp): WallMs {
    return Math.floor(wallOf(Math.max(ts, this.#start))) + 1;
  }

  override observe(ts: Timestamp): void {
    if (ts > this.drift.newestAdoptable) this.refused++;
    else if (ts > this.#seen) this.#seen = ts;
  }

  /** Timestamps that the cluster has seen are accepted, although this clock does not follow them. */
  override latest(now: WallMs, toleranceMs: number): Timestamp {
    return Math.max(super.latest(now, toleranceMs), this.#seen);
  }
}

import { type NodeId, packWall, type Timestamp, type WallMs } from '@isochron/core';

/** The clocks of a machine, as a driver reads them. */
export interface ClockReadings {
  /** The wall clock: it may be wrong, and may be set at any time. */
  wall(): WallMs;
  /** Milliseconds since some moment, on a monotonic clock. */
  steady(): number;
}

/**
 * Compares the own wall clock with the peers' (T1, K2). Some nodes must not use their wall clock: those further from
 * the median of their peers than the limit, and those with peers that have compared with none since their start. Such a
 * node makes no timestamps beyond those that it has, and refuses prepares.
 *
 * A peer's clock is stored relative to the steady clock of this machine. So a jump of the own clock shows at once,
 * before any timestamp is taken from it, and so does its correction.
 */
export class DriftWatch {
  /** Wall clocks of the peers: relative to the own steady clock, or to the own wall clock without readings. */
  readonly #clocks = new Map<NodeId, number>();
  /** The two middle values of `#clocks`. */
  #lower = 0;
  #upper = 0;

  /**
   * @param peers number of the other nodes of the cluster
   * @param readings by default the time of each step is taken as correct
   */
  constructor(
    readonly maxClockDriftMs: number,
    readonly peers = 0,
    readonly readings?: ClockReadings | undefined,
  ) {}

  /** A peer's wall clock when its message left. The delay of the link counts as drift, and is small. */
  observe(peer: NodeId, peerWall: WallMs, now: WallMs): void {
    this.#clocks.set(peer, peerWall - (this.readings === undefined ? now : this.readings.steady()));
    const clocks = [...this.#clocks.values()].sort((a, b) => a - b);
    this.#upper = clocks[Math.floor(clocks.length / 2)]!;
    this.#lower = clocks[Math.floor((clocks.length - 1) / 2)]!;
  }

  /**
   * Median of the peers' clocks minus the own one, in ms. Of an even number, the middle one nearer to the own: one wild
   * peer of two proves nothing.
   */
  get medianMs(): number {
    if (this.#clocks.size === 0) return 0;
    const own = this.readings === undefined ? 0 : this.readings.wall() - this.readings.steady();
    const [lower, upper] = [this.#lower - own, this.#upper - own];
    return Math.abs(lower) < Math.abs(upper) ? lower : upper;
  }

  /** Whether this node's clock is the wrong one. */
  get excessive(): boolean {
    return Math.abs(this.medianMs) > this.maxClockDriftMs;
  }

  /** Whether the clock was compared with a peer's since the start; true without peers. */
  get compared(): boolean {
    return this.readings === undefined || this.peers === 0 || this.#clocks.size > 0;
  }

  /** Whether the own wall clock may go into timestamps. */
  get trusted(): boolean {
    return this.compared && !this.excessive;
  }

  /** Why the own wall clock may not go into timestamps; undefined when it may. */
  get problem(): string | undefined {
    if (!this.compared) return 'its clock has not been compared with that of another node yet';
    if (!this.excessive) return undefined;
    const ms = Math.round(this.medianMs);
    return `its clock is ${Math.abs(ms)} ms ${ms < 0 ? 'ahead of' : 'behind'} those of the other nodes`;
  }

  /**
   * The time of a step, as it may go into a timestamp. The time of steps never goes back (`steady-clock.ts`), but the
   * wall clock may: once it is behind by more than half of the limit, timestamps follow the wall clock.
   */
  stampable(now: WallMs): WallMs {
    if (this.readings === undefined) return now;
    if (!this.trusted) return 0;
    const wall = this.readings.wall();
    return now - wall > this.maxClockDriftMs / 2 ? wall : now;
  }

  /** The own wall clock, as messages to peers carry it. */
  wall(now: WallMs): WallMs {
    return this.readings === undefined ? now : Math.max(0, Math.floor(this.readings.wall()));
  }

  /**
   * The newest timestamp that may be adopted from elsewhere (K1). A clock far ahead of the peers' is no measure for it.
   */
  get newestAdoptable(): Timestamp {
    if (this.readings === undefined) return Number.POSITIVE_INFINITY;
    const aheadMs = this.excessive ? Math.max(0, -this.medianMs) : 0;
    return packWall(this.readings.wall() - aheadMs + this.maxClockDriftMs);
  }
}

import type { AnyMessage, NodeId, Timestamp, WallMs } from '@isochron/core';
import type { Envelope } from '../machine.js';
import type { DriftWatch } from './drift-watch.js';
import type { NodeClock } from './node-clock.js';

/** The clocks of a peer when a link opens. */
export interface ClockGreeting {
  readonly hlc: Timestamp;
  /** Absent where the peer's build does not send it. */
  readonly wallMs?: WallMs | undefined;
}

/**
 * The check of other nodes' clocks (K1): a driver passes every greeting and every frame through it before any machine
 * receives them. A refused one has no effect here; the driver closes the link, and the resync of a later link sends its
 * data again.
 */
export class PeerClocks<M extends AnyMessage> {
  /** Links and frames that were refused since the start. */
  readonly counters = { clockRefusedLinks: 0, clockRefusedFrames: 0 };

  /** @param newest the newest timestamp in a message */
  constructor(
    readonly clock: NodeClock,
    readonly drift: DriftWatch,
    readonly newest: (message: M) => Timestamp,
  ) {}

  /**
   * A link opens.
   *
   * @param lateMs the largest time by which the greeting may be older than it looks
   * @returns why the link is refused
   */
  meets(peer: NodeId, { hlc, wallMs }: ClockGreeting, now: WallMs, lateMs = 0): string | undefined {
    const refusal = this.#compared(peer, wallMs, now, lateMs) ?? this.#refused(hlc, 'clock');
    if (refusal !== undefined) this.counters.clockRefusedLinks++;
    return refusal;
  }

  /**
   * A frame was received. Its clock is observed (T2), unless it is refused.
   *
   * @returns why the whole frame is refused, and its link
   */
  receives(peer: NodeId, hlc: Timestamp, envelopes: readonly Envelope<M>[], now: WallMs): string | undefined {
    this.#answered(peer, envelopes, now);
    const refusal = this.#refused(hlc, 'clock') ?? this.#refusedMessage(peer, envelopes, now);
    if (refusal === undefined) this.clock.observe(hlc);
    else this.counters.clockRefusedFrames++;
    return refusal;
  }

  #compared(peer: NodeId, wallMs: WallMs | undefined, now: WallMs, lateMs: number): string | undefined {
    if (wallMs === undefined) return undefined;
    const wall = this.drift.wall(now);
    // The time in the greeting, plus its possible delay: the value in this range that is nearest to the own clock.
    const peerWall = Math.max(wallMs, Math.min(wall, wallMs + lateMs));
    this.drift.observe(peer, peerWall, now);
    return this.#refusedWall(peerWall, wall);
  }

  /** A peer's response about its clock counts even if its frame is refused, like the clock in a greeting. */
  #answered(peer: NodeId, envelopes: readonly Envelope<M>[], now: WallMs): void {
    for (const { message } of envelopes)
      if (message.type === 'ClockResp' && 'wallMs' in message) this.drift.observe(peer, Number(message.wallMs), now);
  }

  #refusedMessage(peer: NodeId, envelopes: readonly Envelope<M>[], now: WallMs): string | undefined {
    for (const { message } of envelopes) {
      const refusal = this.#refused(this.newest(message), message.type) ?? this.#refusedGossip(peer, message, now);
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  }

  #refusedGossip(peer: NodeId, message: AnyMessage, now: WallMs): string | undefined {
    if (this.drift.readings === undefined || !('wallMs' in message) || typeof message.wallMs !== 'number') return;
    // An earlier time may only be late: its receiver stood still, or the link is slow.
    const { wallMs } = message;
    const own = this.drift.wall(now);
    const refusal = this.#refusedWall(Math.max(wallMs, own), own);
    if (refusal !== undefined) this.drift.observe(peer, wallMs, now);
    return refusal;
  }

  #refusedWall(theirs: WallMs, own: WallMs): string | undefined {
    if (this.drift.readings === undefined) return undefined;
    const offMs = theirs - own;
    const { maxClockDriftMs } = this.drift;
    if (Math.abs(offMs) <= maxClockDriftMs) return undefined;
    return `wall clocks differ by ${Math.round(offMs)} ms, more than the ${maxClockDriftMs} ms allowed`;
  }

  #refused(ts: Timestamp, what: string): string | undefined {
    if (ts <= this.drift.newestAdoptable) return undefined;
    return `${what}: the timestamp ${ts} lies more than ${this.drift.maxClockDriftMs} ms ahead`;
  }
}

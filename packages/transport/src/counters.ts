import type { NodeId, WallMs } from '@isochron/core';
import type { LinkFault, LinkStatus, Traffic } from './transport.js';

/** Counts for one link, over any transport. */
export class LinkCounters {
  readonly sent: { -readonly [K in keyof Traffic]: Traffic[K] } = { frames: 0, bytes: 0, messages: 0 };
  readonly received: { -readonly [K in keyof Traffic]: Traffic[K] } = { frames: 0, bytes: 0, messages: 0 };
  dropped = 0;
  rttMs: number | null = null;
  lastError: LinkFault | null = null;
  #up = false;
  #timesUp = 0;
  #since: WallMs;

  constructor(readonly now: () => WallMs) {
    this.#since = now();
  }

  count(direction: 'sent' | 'received', bytes: number, messages: number): void {
    const traffic = this[direction];
    traffic.frames++;
    traffic.bytes += bytes;
    traffic.messages += messages;
  }

  /** Adds a round trip, smoothed as TCP does. */
  roundTrip(ms: number): void {
    this.rttMs = this.rttMs === null ? ms : this.rttMs + (ms - this.rttMs) / 8;
  }

  turned(up: boolean): void {
    this.#up = up;
    this.#since = this.now();
    if (up) this.#timesUp++;
    if (up) this.rttMs = null;
  }

  failed(code: string, detail: string): void {
    this.lastError = { code, detail, at: this.now() };
  }

  status(node: NodeId): LinkStatus {
    const { rttMs, dropped, lastError } = this;
    const reconnects = Math.max(0, this.#timesUp - 1);
    const [sent, received] = [{ ...this.sent }, { ...this.received }];
    return { node, up: this.#up, since: this.#since, rttMs, sent, received, dropped, reconnects, lastError };
  }
}

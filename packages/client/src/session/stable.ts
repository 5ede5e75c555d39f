import { IsochronError } from '@isochron/core/errors';
import type { Timestamp } from '@isochron/core/ids';
import type { RequestFrame } from '@isochron/wire/session-frames';
import { malformed } from '../errors.js';
import { type Carrier, Exchange, type Retry, unexpected } from '../link/exchange.js';
import type { Answer } from '../link/frames.js';
import type { Loop } from '../loop.js';

/** The longest wait that a node accepts. */
const MAX_WAIT_MS = 60_000;

/**
 * Waits until every node of every region serves a timestamp; the remaining time goes with it from one connection to the
 * next.
 */
export class StableExchange extends Exchange<Timestamp> {
  readonly #endMs: number;

  constructor(
    readonly loop: Pick<Loop, 'nowMs'>,
    readonly timestamp: Timestamp,
    timeoutMs: number,
    requestTimeoutMs: number,
  ) {
    super();
    this.#endMs = loop.nowMs + timeoutMs;
    // The server's own answer comes first, unless there is no server.
    this.deadlineMs = this.#endMs + requestTimeoutMs;
  }

  frame(id: number): RequestFrame {
    const timeoutMs = Math.min(MAX_WAIT_MS, Math.max(1, Math.ceil(this.#endMs - this.loop.nowMs)));
    return { type: 'stable', id, ts: this.timestamp, timeoutMs };
  }

  answered(frame: Answer): void {
    if (frame.type !== 'stable') throw unexpected(frame);
    if (frame.ust < this.timestamp) throw malformed('a stable time below the one that was waited for');
    this.done(frame.ust);
  }

  override refused(error: IsochronError, connection: Carrier): Retry | undefined {
    return error.code === 'STABLE_TIMEOUT' ? undefined : super.refused(error, connection);
  }

  override expired(): boolean {
    this.failed(new IsochronError('STABLE_TIMEOUT', `${this.timestamp} did not become stable in time`));
    return true;
  }
}

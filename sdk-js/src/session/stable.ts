import { IsochronError } from '@isochron/core/errors';
import type { Timestamp } from '@isochron/core/ids';
import type { RequestFrame } from '@isochron/wire/session-frames';
import { malformed } from '../errors.js';
import type { Settings } from '../options.js';
import type { Connection } from '../transport/connection.js';
import { Exchange, type Retry, unexpected } from '../transport/exchange.js';
import type { Answer } from '../transport/frames.js';

/**
 * Waits until every node of every region serves a timestamp; what is left of the time goes with it from one connection
 * to the next.
 */
export class StableExchange extends Exchange<Timestamp> {
  readonly #endMs: number;

  constructor(
    readonly timestamp: Timestamp,
    timeoutMs: number,
    settings: Settings,
  ) {
    super();
    this.#endMs = performance.now() + timeoutMs;
    // The server's own answer comes first, unless there is no server.
    this.deadlineMs = this.#endMs + settings.requestTimeoutMs;
  }

  frame(id: number): RequestFrame {
    const timeoutMs = Math.max(1, Math.ceil(this.#endMs - performance.now()));
    return { type: 'stable', id, ts: this.timestamp, timeoutMs };
  }

  answered(frame: Answer): void {
    if (frame.type !== 'stable') throw unexpected(frame);
    if (frame.ust < this.timestamp) throw malformed('a stable time below the one that was waited for');
    this.done(frame.ust);
  }

  override refused(error: IsochronError, connection: Connection): Retry | undefined {
    return error.code === 'STABLE_TIMEOUT' ? undefined : super.refused(error, connection);
  }

  override expired(): boolean {
    this.failed(new IsochronError('STABLE_TIMEOUT', `${this.timestamp} did not become stable in time`));
    return true;
  }
}

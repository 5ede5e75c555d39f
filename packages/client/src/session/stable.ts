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
  #asked: Timestamp = 0;

  constructor(
    readonly loop: Pick<Loop, 'nowMs'>,
    readonly timestamp: Timestamp,
    /** The timestamp by now: above `timestamp` if deferred writes are committed again, infinite before that (M10). */
    readonly finalAt: () => Timestamp,
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
    const final = this.finalAt();
    this.#asked = Number.isFinite(final) ? final : this.timestamp;
    return { type: 'stable', id, ts: this.#asked, timeoutMs };
  }

  answered(frame: Answer): void {
    if (frame.type !== 'stable') throw unexpected(frame);
    if (frame.ust < this.#asked) throw malformed('a stable time below the one that was waited for');
    if (frame.ust < this.finalAt())
      throw new IsochronError(
        this.loop.nowMs < this.#endMs ? 'OUTCOME_PENDING' : 'STABLE_TIMEOUT',
        'a write is being committed again',
      );
    this.done(frame.ust);
  }

  override refused(error: IsochronError, connection: Carrier): Retry | undefined {
    // Asks again within a second. The node is not at fault.
    if (error.code === 'OUTCOME_PENDING') return { refusals: 5, elsewhere: false };
    return error.code === 'STABLE_TIMEOUT' ? undefined : super.refused(error, connection);
  }

  override expired(): boolean {
    this.failed(new IsochronError('STABLE_TIMEOUT', `${this.timestamp} did not become stable in time`));
    return true;
  }
}

/** One request for the changes of the connection's scopes. It waits at the node by design. */
import type { IsochronError } from '@isochron/core/errors';
import type { Timestamp } from '@isochron/core/ids';
import type { LiveFrame } from '@isochron/wire/session-frames';
import { toIsochronError } from '../errors.js';
import { type Carrier, Exchange, type Retry, unexpected } from '../link/exchange.js';
import type { Answer } from '../link/frames.js';
import type { Timer } from '../loop.js';
import type { ClientCore } from '../session/core.js';
import { type LiveAnswer, parseLive } from './frames.js';
import type { Scope } from './scope.js';

/** Refusals of a position that is to be read anew. */
const GONE = new Set(['CHANGES_GONE', 'SNAPSHOT_TOO_OLD']);

/** The owner of the requests. */
export interface LiveRequests {
  readonly core: ClientCore;
  /** Whether the request has not been replaced by a newer one. */
  isNewest(request: LiveExchange): boolean;
  /** The frame of a request that is sent now. */
  frame(request: LiveExchange, id: number, connection: Carrier): LiveFrame;
  answered(request: LiveExchange, answer: LiveAnswer): void;
  refused(request: LiveExchange): void;
  failed(request: LiveExchange, error: IsochronError): void;
}

export class LiveExchange extends Exchange<void> {
  /** Rises with every request that is sent. */
  number = 0;
  after: Timestamp = 0;
  waitMs = 0;
  /** The scopes that it names, with their numbers, and the numbers of scopes that it removes. */
  added: ReadonlyMap<Scope, number> = new Map();
  removed: readonly number[] = [];
  #isSent = false;
  #overdue: Timer | undefined;

  constructor(readonly requests: LiveRequests) {
    super();
  }

  /** Whether it leaves with the next message. */
  get isUnsent(): boolean {
    return !this.#isSent && !this.settled;
  }

  override get waits(): boolean {
    return true;
  }

  override get repeats(): boolean {
    return this.requests.isNewest(this);
  }

  frame(id: number, connection: Carrier): LiveFrame {
    const { core } = this.requests;
    const frame = this.requests.frame(this, id, connection);
    this.#isSent = true;
    core.loop.cancel(this.#overdue);
    // The node is alive, or the heartbeat would have noticed, and yet owes this answer.
    const dueMs = this.waitMs + core.settings.requestTimeoutMs;
    this.#overdue = core.loop.after(dueMs, () => core.suspect(this));
    return frame;
  }

  answered(frame: Answer): void {
    if (frame.type !== 'live') throw unexpected(frame);
    const answer = parseLive(frame.raw, this.after);
    this.#rest();
    this.done();
    this.requests.answered(this, answer);
  }

  override refused(error: IsochronError, connection: Carrier): Retry | undefined {
    this.#rest();
    if (error.code === 'FRAME_INVALID') return undefined;
    const rests = !GONE.has(error.code) && this.repeats;
    this.#isSent &&= !rests;
    this.requests.refused(this);
    if (!rests) return undefined;
    return super.refused(error, connection);
  }

  override failed(reason: unknown): void {
    if (this.settled) return;
    this.#rest();
    super.failed(reason);
    this.requests.failed(this, toIsochronError(reason));
  }

  #rest(): void {
    this.requests.core.loop.cancel(this.#overdue);
  }
}

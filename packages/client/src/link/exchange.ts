import type { IsochronError } from '@isochron/core/errors';
import type { RegionId } from '@isochron/core/ids';
import type { RequestFrame } from '@isochron/wire/session-frames';
import { clientClosed, malformed } from '../errors.js';
import type { Loop } from '../loop.js';
import type { Codec } from './codec.js';
import type { Answer } from './frames.js';

/** The part of a connection that requests use. */
export interface Carrier {
  /** Region of the node. */
  readonly region: RegionId;
  /** The regions that a new attempt of a commit through the node avoids (D4). */
  readonly avoid: readonly RegionId[];
  /** Version of the node's map, to which a new attempt belongs (M6). */
  readonly map: number;
  readonly codec: Codec;
}

/**
 * Repeat the request after this many refusals of it, here or rather elsewhere: on another node, or in another region.
 */
export interface Retry {
  /** Infinite: not until it is resumed. */
  readonly refusals: number;
  readonly elsewhere: Elsewhere;
}

/** What to leave after a refusal: nothing, the node, or its whole region, which may be cut off. */
export type Elsewhere = false | 'node' | 'region';

/** These may be a lasting fault: a few repetitions only. Every other retryable error is repeated until the deadline. */
const RARELY_TRANSIENT = new Set(['INTERNAL', 'STORAGE_FAILED', 'FRAME_INVALID']);
const MAX_RARELY_TRANSIENT = 3;
/** Another node or region may do now what this one cannot. A limit of the client is no reason to go there. */
const ELSEWHERE: Readonly<Record<string, Elsewhere>> = {
  NOT_READY: 'node',
  REPLICA_UNREACHABLE: 'region',
  RATE_LIMITED: false,
};
/** Refusals in a row before another endpoint is tried. */
const ELSEWHERE_AFTER = 3;

/** The receiver of an outcome. */
export interface Caller<T> {
  resolve(value: T): void;
  reject(reason: unknown): void;
  /** Cancels the call, once it has begun: the machine sets it. */
  cancellable?: Cancellable | undefined;
}

/** For calls without a receiver. */
export const UNAWAITED: Caller<unknown> = { resolve: () => {}, reject: () => {} };

/** A call that can be cancelled. */
export interface Cancellable {
  /** The caller does not wait any more. */
  cancel(reason: unknown): void;
}

/**
 * One request with its repetitions: sent on one connection after the other until it is answered, refused for good or
 * late.
 */
export abstract class Exchange<T = unknown> implements Cancellable {
  /** Monotonic time at which waiting ends. */
  deadlineMs = Number.POSITIVE_INFINITY;
  /** Answered, failed or cancelled: later answers are ignored. */
  settled = false;
  #refusals = 0;
  #lastRefusal: IsochronError | undefined;
  #caller: Caller<T> = UNAWAITED;

  /** Whether a client that closes goes on with it for a while. */
  get isWrite(): boolean {
    return false;
  }

  /** Whether it is sent again when its connection is lost. */
  get repeats(): boolean {
    return true;
  }

  /**
   * Whether its answer may be far off by design: it is no sign of a dead connection, and keeps none open. It has no
   * deadline of the dispatcher's.
   */
  get waits(): boolean {
    return false;
  }

  /**
   * Whether the session takes the token of its answer. Where nodes keep the session, the newest token of a connection
   * covers all earlier ones on it. So no token is skipped, not even that of an answer without a caller.
   */
  get takesToken(): boolean {
    return true;
  }

  /** The frame to send on this connection. Called once for every sending. */
  abstract frame(id: number, connection: Carrier): RequestFrame;

  /** Takes the answer and settles. An IsochronError thrown from here closes the connection, unless it is retryable. */
  abstract answered(frame: Answer, connection: Carrier): void;

  /** A request that has to precede this one on this connection. */
  prelude(_connection: Carrier): Exchange | undefined {
    return undefined;
  }

  /** Whether and how to repeat after a refusal. Undefined: it has failed for good. */
  refused(error: IsochronError, _connection: Carrier): Retry | undefined {
    this.#lastRefusal = error;
    this.#refusals++;
    if (!error.retryable) return undefined;
    if (RARELY_TRANSIENT.has(error.code) && this.#refusals >= MAX_RARELY_TRANSIENT) return undefined;
    const elsewhere = ELSEWHERE[error.code] ?? (this.#refusals % ELSEWHERE_AFTER === 0 && 'node');
    return { refusals: this.#refusals, elsewhere };
  }

  /** The deadline has passed. Returns whether that ended it, with its last refusal or else with this error. */
  expired(late: IsochronError): boolean {
    this.failed(this.#lastRefusal ?? late);
    return true;
  }

  /** The cluster refuses this client as such. Returns whether that ended it. */
  clientRefused(error: IsochronError): boolean {
    this.failed(error);
    return true;
  }

  /** The client closes. */
  closed(): void {
    this.failed(clientClosed());
  }

  cancel(reason: unknown): void {
    this.failed(reason);
  }

  /** Begins it; `submit` puts it into the queue. */
  run(submit: (exchange: this) => void, caller: Caller<T> = UNAWAITED): this {
    this.#caller = caller;
    submit(this);
    return this;
  }

  /** @param _neverBegan whether the request is known to have had no effect */
  failed(reason: unknown, _neverBegan?: boolean): void {
    if (this.settled) return;
    this.settled = true;
    this.#caller.reject(reason);
  }

  protected done(value: T): void {
    if (this.settled) return;
    this.settled = true;
    this.#caller.resolve(value);
  }

  /** Rejects the caller before the exchange itself has ended; later results do not reach the caller. */
  protected rejectCaller(reason: unknown): void {
    const caller = this.#caller;
    this.#caller = UNAWAITED;
    caller.reject(reason);
  }
}

/** Measures the round trip. */
export class PingExchange extends Exchange<number> {
  #sentMs = 0;

  constructor(
    readonly loop: Pick<Loop, 'nowMs'>,
    readonly token?: string,
  ) {
    super();
  }

  /** It measures one connection. A token goes to the next one: an answer may have replaced it here meanwhile. */
  override get repeats(): boolean {
    return this.token !== undefined;
  }

  frame(id: number): RequestFrame {
    this.#sentMs = this.loop.nowMs;
    return { type: 'ping', id, ...(this.token === undefined ? {} : { token: this.token }) };
  }

  answered(frame: Answer): void {
    if (frame.type !== 'pong') throw unexpected(frame);
    this.done(this.loop.nowMs - this.#sentMs);
  }

  override refused(): undefined {
    return undefined;
  }
}

/** Ends an open transaction on the server without waiting for the answer. */
export class AbortExchange extends Exchange<void> {
  constructor(readonly txId: string) {
    super();
  }

  /** It concerns one node only, which otherwise ends the transaction by its expiry. */
  override get repeats(): boolean {
    return false;
  }

  frame(id: number): RequestFrame {
    return { type: 'abort', id, tx: this.txId };
  }

  answered(frame: Answer): void {
    if (frame.type !== 'aborted') throw unexpected(frame);
    this.done();
  }

  override refused(): undefined {
    return undefined;
  }
}

/** An answer whose type does not fit its request. */
export const unexpected = (frame: Answer): IsochronError => malformed(`an answer of the wrong type, ${frame.type}`);

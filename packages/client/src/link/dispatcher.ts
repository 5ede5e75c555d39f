/**
 * Holds requests until a connection has credits for them, packs the requests of one turn of the program into one
 * message, and repeats refused and lost ones. One timer watches all deadlines.
 */

import { fullJitterMs } from '@isochron/core/backoff';
import { IsochronError } from '@isochron/core/errors';
import { late } from '../errors.js';
import type { Loop, Timer } from '../loop.js';
import type { Connection } from './connection.js';
import type { Exchange } from './exchange.js';
import type { LinkSettings } from './settings.js';

const RETRY_BASE_MS = 20;
const RETRY_CAP_MS = 2000;
/** A node may ask for at most this pause. */
const MAX_RETRY_AFTER_MS = 30_000;
/** A connection with unanswered requests may be silent for this long in all; less if requests have a shorter limit. */
const QUIET_MS = 1500;
/** Requests have at least this long after a stall: for the messages that arrived meanwhile, or another connection. */
const AFTER_STALL_MS = 3000;

export class Dispatcher {
  readonly #loop: Loop;
  readonly #settings: LinkSettings;
  #connection: Connection | undefined;
  #waiting: Exchange[] = [];
  /** Refused requests that wait for their next attempt. */
  readonly resting = new Set<Exchange>();
  #flushing = false;
  #sweeping: Timer | undefined;
  #closed = false;
  #isDraining = false;
  #offlineSinceMs: number;
  /** Called with every sweep, while there is anything to sweep. Returns whether another sweep is needed. */
  onSweep: (nowMs: number) => boolean = () => false;
  /** Called when a request begins to wait for a connection. */
  onWait: () => void = () => {};
  /** The error of a request without an answer in time, with or without a connection. */
  late = late;
  /** Connections with unanswered requests: the current one and those that drain. */
  readonly #connections = new Set<Connection>();

  constructor(
    loop: Loop,
    settings: LinkSettings,
    readonly moveOn: (from: Connection, whereTo: 'node' | 'region', why: IsochronError) => void,
  ) {
    this.#loop = loop;
    this.#settings = settings;
    this.#offlineSinceMs = loop.nowMs;
  }

  /** Where new requests go. */
  get connection(): Connection | undefined {
    return this.#connection;
  }

  /** Since when there is no connection; undefined while there is one. */
  get offlineSinceMs(): number | undefined {
    return this.#connection === undefined ? this.#offlineSinceMs : undefined;
  }

  /** Takes a request. It leaves with all others of this turn. */
  readonly submit = (exchange: Exchange): void => {
    if (this.#closed || (this.#isDraining && !exchange.isWrite)) {
      exchange.closed();
      return;
    }
    const isFirst = this.#connection === undefined && !exchange.waits && !this.isWaitedFor;
    this.#waiting.push(exchange);
    this.#schedule();
    this.watch();
    if (isFirst) this.onWait();
  };

  /** Whether a request waits for a connection, beside those that wait for changes. */
  get isWaitedFor(): boolean {
    return this.#connection === undefined && this.#waiting.some(({ settled, waits }) => !settled && !waits);
  }

  /** The program stood still. */
  woke(): void {
    const soonestMs = this.#loop.nowMs + Math.min(AFTER_STALL_MS, this.#settings.requestTimeoutMs);
    for (const exchange of this.#all()) exchange.deadlineMs = Math.max(exchange.deadlineMs, soonestMs);
  }

  /** As `submit`, under the usual deadline. */
  readonly submitTimed = (exchange: Exchange): void => {
    exchange.deadlineMs = this.#loop.nowMs + this.#settings.requestTimeoutMs;
    this.submit(exchange);
  };

  /** New requests go to this connection. */
  attach(connection: Connection): void {
    this.#connection = connection;
    this.#connections.add(connection);
    this.flush();
  }

  /** New requests wait for another connection; this one may still answer its own. */
  detach(connection: Connection): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    this.#offlineSinceMs = this.#loop.nowMs;
  }

  /** The connection is gone: its requests are sent again, in the old order, before younger ones. */
  lost(connection: Connection, error: IsochronError, exchanges: readonly Exchange[]): void {
    this.detach(connection);
    this.#connections.delete(connection);
    const again = exchanges.filter((exchange) => this.#survives(exchange, error, connection));
    this.#waiting = again.concat(this.#waiting);
    this.#schedule();
  }

  /** A request was refused: repeat it after a pause, or let it fail. */
  refused(exchange: Exchange, error: IsochronError, connection: Connection): void {
    if (exchange.settled) return;
    const retry = exchange.refused(error, connection);
    if (retry === undefined) {
      exchange.failed(error);
      return;
    }
    this.resting.add(exchange);
    if (error.code === 'CREDENTIALS_UNAVAILABLE' || !Number.isFinite(retry.refusals)) return;
    if (retry.elsewhere !== false && connection === this.#connection) this.moveOn(connection, retry.elsewhere, error);
    this.#loop.after(this.#pauseMs(error, retry.refusals), () => this.resume(exchange));
  }

  /** A node that names a time gives each request another one: they come back in their order, without a crowd. */
  #pauseMs({ retryAfterMs }: IsochronError, refusals: number): number {
    if (retryAfterMs !== undefined) return Math.min(retryAfterMs, MAX_RETRY_AFTER_MS);
    return fullJitterMs(this.#loop.random, refusals, RETRY_BASE_MS, RETRY_CAP_MS);
  }

  /** Repeats a refused request now, unless it has been repeated since. */
  resume(exchange: Exchange): void {
    if (this.resting.delete(exchange) && !exchange.settled) this.submit(exchange);
  }

  /** The cluster refuses this client as such: waiting is of no use. */
  refuseWaiting(error: IsochronError): void {
    const those = this.#waiting;
    this.#waiting = [];
    // A request that fails may make room for the next one, which is submitted meanwhile.
    const left = those.filter((exchange) => !exchange.settled && !exchange.clientRefused(error));
    this.#waiting = [...left, ...this.#waiting];
  }

  /** Watches deadlines from now on. */
  watch(): void {
    if (this.#sweeping !== undefined || this.#closed) return;
    const intervalMs = Math.max(5, Math.min(250, this.#settings.requestTimeoutMs / 8));
    this.#sweeping = this.#loop.after(intervalMs, () => this.#sweep());
  }

  /** Sends as much as the credits allow. */
  flush(): void {
    this.#flushing = false;
    const connection = this.#connection;
    if (connection === undefined || this.#waiting.length === 0) return;
    const batch = this.#take(connection);
    if (batch.length > 0) connection.send(batch);
  }

  /** The client is about to close: goes on with writes only. */
  drain(): void {
    this.#isDraining = true;
    for (const exchange of [...this.#all()]) if (!exchange.isWrite) exchange.closed();
  }

  close(): void {
    this.#closed = true;
    const all = [...this.#all()];
    this.resting.clear();
    this.#waiting = [];
    for (const exchange of all) exchange.closed();
  }

  #survives(exchange: Exchange, error: IsochronError, connection: Connection): boolean {
    if (exchange.settled) return false;
    // A message that one side cannot read may come again for the same request: the repetitions have to end.
    const unreadable = new IsochronError('FRAME_INVALID', error.message, { retryable: true, cause: error });
    if (exchange.repeats && (error.code !== 'FRAME_INVALID' || exchange.refused(unreadable, connection))) return true;
    exchange.failed(error);
    return false;
  }

  #take(connection: Connection): Exchange[] {
    const batch: Exchange[] = [];
    let free = connection.free;
    let taken = 0;
    for (; taken < this.#waiting.length && free > 0; taken++) {
      const exchange = this.#waiting[taken]!;
      if (exchange.settled) continue;
      const prelude = exchange.prelude(connection);
      if (prelude !== undefined) {
        batch.push(prelude);
        free--;
        if (free === 0) break;
      }
      batch.push(exchange);
      free--;
    }
    this.#waiting = taken === this.#waiting.length ? [] : this.#waiting.slice(taken);
    return batch;
  }

  #schedule(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    this.#loop.atTurnsEnd(() => this.flush());
  }

  *#all(): Generator<Exchange> {
    for (const connection of this.#connections) yield* connection.inFlight();
    yield* this.resting;
    yield* this.#waiting;
  }

  #sweep(): void {
    this.#sweeping = undefined;
    const now = this.#loop.nowMs;
    const quietMs = Math.min(QUIET_MS, this.#settings.requestTimeoutMs / 3);
    for (const connection of this.#connections) connection.checkQuiet(now, quietMs);
    let busy = false;
    for (const exchange of [...this.#all()]) {
      if (exchange.settled) continue;
      const isOpen = exchange.deadlineMs > now || !exchange.expired(this.late(!this.#connection));
      if (isOpen && !exchange.waits) busy = true;
    }
    this.#waiting = this.#waiting.filter((exchange) => !exchange.settled);
    if (this.onSweep(now) || busy) this.watch();
  }
}

/**
 * One WebSocket: hello and welcome, request ids, credits, packing, a heartbeat. It reports to its owner and repeats
 * nothing.
 */
import { IsochronError } from '@isochron/core/errors';
import type { RegionId } from '@isochron/core/ids';
import { TransientMap } from '@isochron/core/transient-map';
import type { Freshness, GoawayFrame, HelloFrame, Unresponsive, UstFrame } from '@isochron/wire/session-frames';
import type { SocketId } from '../effects.js';
import { utf8Length } from '../encoding.js';
import { malformed, serverError, toIsochronError } from '../errors.js';
import type { Loop, SocketListener, Timer } from '../loop.js';
import type { Codec, Encoded } from './codec.js';
import { type Carrier, type Exchange, PingExchange } from './exchange.js';
import { type Answer, type Incoming, parseFrame, type Welcome } from './frames.js';
import type { LinkSettings } from './settings.js';

/** The owner of connections. It gets no report of a connection before its welcome. */
export interface ConnectionOwner {
  /** A request was refused. */
  refused(exchange: Exchange, error: IsochronError, connection: Connection): void;
  /** A message has been processed: credits may be free, and the connection works. */
  progressed(connection: Connection): void;
  token(token: string, connection: Connection): void;
  ust(frame: UstFrame, connection: Connection): void;
  goaway(frame: GoawayFrame, connection: Connection): void;
  /** The connection is gone, and with it the answers to the `lost` requests. */
  closed(connection: Connection, error: IsochronError, lost: readonly Exchange[]): void;
}

/** After two intervals without a message the node is pinged; after a third one the connection is given up. */
const HEARTBEAT_MS = 5000;
/**
 * The close codes that have an error of their own; all others are CONNECTION_LOST. A socket reports 1015 where TLS
 * failed; no node sends 1015.
 */
const CLOSE_CODES: Readonly<Record<number, 'UNAUTHENTICATED' | 'ORIGIN_NOT_ALLOWED' | 'FRAME_INVALID' | 'TLS_FAILED'>> =
  {
    1015: 'TLS_FAILED',
    4400: 'FRAME_INVALID',
    4401: 'UNAUTHENTICATED',
    4403: 'ORIGIN_NOT_ALLOWED',
  };
/** Close code of a socket that ended without a close: browsers report no more of an attempt that failed. */
const ABNORMAL = 1006;

const ALL_ANSWER: Unresponsive = { nodes: [], regions: [] };

export class Connection implements SocketListener, Carrier {
  readonly #socket: SocketId;
  #inFlight = new TransientMap<number, Exchange>();
  /** How many of them wait by design. */
  #waits = 0;
  #welcome: Welcome | undefined;
  /** The node's last report. */
  #report: Welcome | UstFrame | undefined;
  #nextId = 1;
  #closed = false;
  #quietBeats = 0;
  /** Steady times: of the last message, of the oldest unanswered request, of the ping that checks the node. */
  #receivedMs = 0;
  #owingSinceMs = 0;
  #askedMs: number | undefined;
  #timer: Timer | undefined;
  #rttMs: number | undefined;

  /**
   * Opens a connection.
   * @param settled called with the welcome, or with the server's refusal, or CONNECTION_LOST; nothing is reported to
   *   the owner before that
   */
  constructor(
    readonly loop: Loop,
    readonly url: string,
    readonly hello: HelloFrame,
    readonly settings: LinkSettings,
    readonly owner: ConnectionOwner,
    settled: (error?: IsochronError) => void,
  ) {
    this.#unopened = settled;
    this.#socket = loop.open(url, this);
    const { connectTimeoutMs } = settings;
    const late = () => this.drop(lost(`${url} did not answer within ${connectTimeoutMs} ms`));
    this.#timer = loop.after(connectTimeoutMs, late);
  }

  get region(): string {
    return this.welcome.region;
  }

  /** Throws before the welcome. */
  get welcome(): Welcome {
    if (this.#welcome === undefined) throw malformed('no welcome');
    return this.#welcome;
  }

  /** Freshness of the node's snapshots, from its last report. */
  get freshness(): Freshness {
    return (this.#report ?? this.welcome).freshness;
  }

  /** Nodes and regions that do not answer the node, from its last report. */
  get unresponsive(): Unresponsive {
    return this.#report?.unresponsive ?? ALL_ANSWER;
  }

  /** The regions that a new attempt of a commit through this node avoids (D4); empty if that would be every region. */
  get avoid(): readonly RegionId[] {
    const { regions } = this.unresponsive;
    return this.welcome.regions.every(({ id }) => regions.includes(id)) ? [] : [...regions].sort();
  }

  get map(): number {
    return this.#report?.map ?? 0;
  }

  get codec(): Codec {
    return this.settings.codec;
  }

  /** Last measured round trip in ms. */
  get rttMs(): number | undefined {
    return this.#rttMs;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Requests that may be sent now. */
  get free(): number {
    return this.#closed ? 0 : Math.max(1, this.welcome.credits) - this.#inFlight.size;
  }

  /** Whether it owes no answer, beside those to requests that wait by design. */
  get isIdle(): boolean {
    return this.#inFlight.size === this.#waits;
  }

  /** Measures the round trip; undefined if no credit is free, or the connection is lost before the answer. */
  ping(done: (rttMs: number | undefined) => void = () => {}): void {
    if (this.free <= 0) {
      done(undefined);
      return;
    }
    new PingExchange(this.loop).run((exchange) => this.send([exchange]), {
      resolve: (rttMs) => {
        this.#rttMs = rttMs;
        done(rttMs);
      },
      reject: () => done(undefined),
    });
  }

  /** Sends requests, packed into as few messages as the server's limit allows. */
  send(exchanges: readonly Exchange[]): void {
    const limit = this.welcome.limits.maxRequestBytes - 2;
    if (this.isIdle) this.#owingSinceMs = this.loop.nowMs;
    let parts: Encoded[] = [];
    let size = 0;
    const pack = (): void => {
      if (parts.length > 0) this.loop.out.send(this.#socket, this.codec.pack(parts));
      parts = [];
      size = 0;
    };
    for (const exchange of exchanges) {
      const id = this.#nextId++;
      const part = this.codec.encode(exchange.frame(id, this));
      const bytes = bytesOf(part, limit) + 1;
      if (bytes > limit) {
        exchange.failed(new IsochronError('REQUEST_TOO_LARGE', `a request of ${bytes} bytes is above ${limit}`));
        continue;
      }
      if (size + bytes > limit) pack();
      this.#inFlight.set(id, exchange);
      if (exchange.waits) this.#waits++;
      parts.push(part);
      size += bytes;
    }
    pack();
  }

  /** Requests that wait for an answer on this connection. */
  inFlight(): IterableIterator<Exchange> {
    return this.#inFlight.values();
  }

  /**
   * Requests are unanswered and no message has come for a while: pings the node, and gives up without an answer to the
   * ping. Takes `limitMs` in all; a server that is merely slow to answer a request answers the ping.
   */
  checkQuiet(nowMs: number, limitMs: number): void {
    if (this.isIdle) return;
    if (this.#askedMs !== undefined) {
      if (nowMs - this.#askedMs > limitMs / 2) this.drop(lost(`${this.url} has gone silent`));
    } else if (nowMs - Math.max(this.#receivedMs, this.#owingSinceMs) > limitMs / 2 && this.free > 0) {
      this.ask();
    }
  }

  /** Pings the node: without any message the connection is given up soon. */
  ask(): void {
    this.#askedMs ??= this.loop.nowMs;
    this.ping();
  }

  /** Closes in good order after a welcome: the client waits for no answer here any more. */
  close(): void {
    this.#finish(lost('the connection was closed'), this.#unopened !== undefined);
  }

  /** Gives the connection up. */
  drop(error: IsochronError): void {
    this.#finish(error, true);
  }

  opened(): void {
    if (!this.#closed) this.loop.out.send(this.#socket, this.codec.encode(this.hello));
  }

  closed(code: number | undefined, reason: string): void {
    this.#finish(closeError(this.url, code, reason, this.#welcome !== undefined), false);
  }

  /** Called once: without an error at the welcome, with one where the connection fails before it. */
  #unopened: ((error?: IsochronError) => void) | undefined;

  received(data: unknown): void {
    if (this.#closed) return;
    // A welcome alone is no progress: a node that fails after it must not be tried again without a pause.
    const isWelcomed = this.#welcome !== undefined;
    this.#quietBeats = 0;
    this.#receivedMs = this.loop.nowMs;
    this.#askedMs = undefined;
    try {
      const message = this.#decode(data);
      for (const frame of Array.isArray(message) ? message : [message]) this.#take(parseFrame(frame));
    } catch (error) {
      this.#finish(toIsochronError(error), true);
      return;
    }
    if (isWelcomed && !this.#closed) this.owner.progressed(this);
  }

  #decode(data: unknown): unknown {
    try {
      return this.codec.decode(data);
    } catch (error) {
      throw malformed('a message that cannot be decoded', error);
    }
  }

  #take(frame: Incoming): void {
    if (this.#closed) return;
    switch (frame.type) {
      case 'welcome':
        if (this.#welcome !== undefined) throw malformed('a second welcome');
        this.#welcome = this.#report = frame;
        this.#nextBeat();
        this.#settle();
        return;
      case 'error':
        if (frame.id == null) throw serverError(frame);
        this.owner.refused(this.#answeredExchange(frame.id), serverError(frame), this);
        return;
      case 'ust':
        this.#report = frame;
        this.owner.ust(frame, this);
        return;
      case 'goaway':
        this.owner.goaway(frame, this);
        return;
      default:
        this.#answer(frame);
    }
  }

  #answer(frame: Answer): void {
    const exchange = this.#answeredExchange(frame.id);
    if (frame.token !== undefined && exchange.takesToken) this.owner.token(frame.token, this);
    if (exchange.settled) return;
    try {
      exchange.answered(frame, this);
    } catch (thrown) {
      const error = toIsochronError(thrown);
      this.owner.refused(exchange, error, this);
      // An answer that does not fit its request ends the connection; an answer that this client refuses does not.
      if (error.code === 'FRAME_INVALID' || error.code === 'INTERNAL') throw error;
    }
  }

  #answeredExchange(id: number): Exchange {
    const exchange = this.#inFlight.get(id);
    if (exchange === undefined || this.#welcome === undefined) throw malformed(`an answer to no request, ${id}`);
    this.#inFlight.delete(id);
    if (exchange.waits) this.#waits--;
    return exchange;
  }

  #nextBeat(): void {
    this.loop.cancel(this.#timer);
    this.#timer = this.loop.after(HEARTBEAT_MS, () => {
      this.#quietBeats++;
      if (this.#quietBeats > 2) this.drop(lost(`${this.url} has gone silent`));
      else {
        if (this.#quietBeats > 1) this.ping();
        this.#nextBeat();
      }
    });
  }

  #settle(error?: IsochronError): void {
    const settled = this.#unopened;
    this.#unopened = undefined;
    settled?.(error);
  }

  #finish(error: IsochronError, abrupt: boolean): void {
    if (this.#closed) return;
    this.#closed = true;
    this.loop.cancel(this.#timer);
    this.loop.out.close(this.#socket, abrupt);
    const lostExchanges = [...this.#inFlight.values()];
    this.#inFlight = new TransientMap();
    this.#waits = 0;
    if (this.#unopened !== undefined) this.#settle(error);
    else this.owner.closed(this, error, lostExchanges);
  }
}

const lost = (message: string): IsochronError => new IsochronError('CONNECTION_LOST', message);

function closeError(
  url: string,
  code: number | undefined = ABNORMAL,
  reason: string,
  wasWelcomed: boolean,
): IsochronError {
  const isAttempt = code === ABNORMAL && !wasWelcomed;
  const message = isAttempt
    ? `${url} cannot be reached: ${reason || 'no node answers, or a proxy refuses WebSockets'}`
    : `${url} closed the connection (${code}${reason === '' ? '' : `: ${reason}`})`;
  return new IsochronError(CLOSE_CODES[code] ?? 'CONNECTION_LOST', message);
}

/** Bytes of an encoded frame. Exact only near the limit. */
function bytesOf(part: string | Uint8Array, limit: number): number {
  if (typeof part !== 'string') return part.length;
  return part.length * 3 > limit / 4 ? utf8Length(part) : part.length * 3;
}

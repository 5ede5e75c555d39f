/**
 * The connections of a port that serves HTTP: bounded in all and for each address, with a time limit for each state.
 * Clients that do not read their answers are closed.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Quota } from '@isochron/core';
import { ConnectionStates, type OpenConnection, type OpeningState, type StateLimits } from '@isochron/transport';
import type { FastifyBaseLogger } from 'fastify';
import type { NodeLimits } from '../limits/limits.js';
import { Crowding } from './crowding.js';
import { HttpExchange, type RequestState } from './exchange.js';

const LOOK_EVERY_MS = 250;

/** How long a connection without a request stays open, ms. */
export const KEEP_ALIVE_MS = 72_000;

/** Of a WebSocket: no hello was accepted, a session is served, a close frame was sent. */
export type SessionState = 'hello' | 'session' | 'closing';
/** `upgrade`: a request for a WebSocket is not answered. */
export type ConnectionState = OpeningState | RequestState | 'upgrade' | SessionState;

export type ConnectionLimits = Pick<
  NodeLimits,
  'connections' | 'connectionsPerAddress' | 'unsentBytes' | 'stalledMs' | 'headersMs' | 'requestMs' | 'helloMs'
>;

/** Answers end by `stalledMs`, sessions by their pings. */
const limitsOf = ({ headersMs, requestMs, helloMs }: ConnectionLimits): StateLimits<ConnectionState> => ({
  tcp: headersMs,
  tls: headersMs,
  head: headersMs,
  body: requestMs,
  answer: Number.POSITIVE_INFINITY,
  idle: KEEP_ALIVE_MS,
  upgrade: headersMs,
  // A socket for many sessions has as long for the first of them.
  hello: 2 * helloMs,
  session: Number.POSITIVE_INFINITY,
  closing: helloMs,
});

export class Connections {
  readonly #quota: Quota;
  readonly #states: ConnectionStates<ConnectionState>;
  readonly #exchanges = new Map<Socket, HttpExchange>();
  /** Connections without a request, the oldest first, each with the function that gives its place back. */
  readonly #strangers = new Map<OpenConnection<ConnectionState>, () => void>();
  readonly #crowding: Crowding;
  #isEnding = false;

  constructor(
    server: Server,
    readonly limits: ConnectionLimits,
    /** Takes the name of each limit that is reached. */
    readonly reached: (limit: keyof ConnectionLimits) => void,
    log: Pick<FastifyBaseLogger, 'info' | 'warn'>,
  ) {
    this.#quota = new Quota(limits.connections, limits.connectionsPerAddress);
    this.#crowding = new Crowding(limits.connections, log);
    this.#states = new ConnectionStates(server, limitsOf(limits), {
      opened: (connection) => this.#admit(connection),
      carried: (connection, carrier) => this.#watch(connection, carrier),
    });
    // Before the handler of the request, which may ask for the states.
    server.prependListener('request', (request: IncomingMessage, answer: ServerResponse) =>
      this.#begin(request, answer),
    );
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => this.#failed(error, socket));
    const timer = setInterval(() => this.#look(performance.now()), LOOK_EVERY_MS).unref();
    server.on('close', () => clearInterval(timer));
  }

  /** Why another node should get new connections; undefined while there is room. */
  get crowding(): string | undefined {
    return this.#crowding.reason;
  }

  /** Connections now. */
  get size(): number {
    return this.#states.size;
  }

  /** How many connections are in each state. */
  counts(): Record<ConnectionState, number> {
    return this.#states.counts();
  }

  /** Follows upgrades. Only for servers with WebSockets: with a listener, Node lets it answer all offers of HTTP/2. */
  followUpgrades(server: Server): void {
    server.on('upgrade', ({ socket }: IncomingMessage) => this.stage(socket, () => 'upgrade'));
  }

  /** Sets the function that returns the state of a connection from now on. */
  stage(carrier: Socket, state: () => ConnectionState): void {
    const connection = this.#states.of(carrier);
    if (connection === undefined) return;
    this.#strangers.delete(connection);
    connection.stage = state;
  }

  /**
   * Counts a session on a shared socket as a connection. @returns a function to call once it has ended; undefined where
   * there are too many
   */
  take(address: string): (() => void) | undefined {
    const place = this.#place(address);
    if (place === undefined) this.#refused(address);
    return place;
  }

  /** Ends all connections, whatever their state. */
  destroyAll(): void {
    this.#states.destroyAll();
  }

  /** Ends all connections after so long, and new ones from then on. */
  endAfter(ms: number): void {
    const end = (): void => {
      this.#isEnding = true;
      this.destroyAll();
    };
    if (ms === 0) end();
    else setTimeout(end, ms).unref();
  }

  /** Takes a place. @returns a function that gives it back, once; undefined where there is none */
  #place(address: string): (() => void) | undefined {
    if (!this.#quota.take(address)) return undefined;
    let isTaken = true;
    return () => {
      if (isTaken) this.#quota.give(address);
      isTaken = false;
    };
  }

  #refused(address: string): void {
    this.reached('connections');
    this.#crowding.ended(address, performance.now());
  }

  #admit(connection: OpenConnection<ConnectionState>): void {
    const { socket } = connection;
    const address = socket.remoteAddress ?? '';
    if (this.#quota.taken >= this.#quota.max && this.#quota.held(address) < this.#quota.maxPerHolder) this.#makeRoom();
    const leave = this.#isEnding ? undefined : this.take(address);
    if (leave === undefined) {
      connection.destroy();
      return;
    }
    this.#strangers.set(connection, leave);
    socket.once('close', () => {
      this.#strangers.delete(connection);
      leave();
    });
  }

  /** Ends the oldest connection without a request: those that send nothing must not keep others out. */
  #makeRoom(): void {
    for (const [connection, leave] of this.#strangers) {
      this.#refused(connection.socket.remoteAddress ?? '');
      this.#strangers.delete(connection);
      leave();
      connection.destroy();
      return;
    }
  }

  #watch(connection: OpenConnection<ConnectionState>, carrier: Socket): void {
    const exchange = new HttpExchange(connection, carrier);
    connection.stage = () => exchange.state();
    this.#exchanges.set(carrier, exchange);
    carrier.once('close', () => this.#exchanges.delete(carrier));
  }

  #begin(request: IncomingMessage, answer: ServerResponse): void {
    const { socket } = request;
    const exchange = this.#exchanges.get(socket);
    if (exchange === undefined) return;
    if (exchange.requests === 0) this.#strangers.delete(this.#states.of(socket)!);
    exchange.begin(request, answer);
  }

  /** Counts the ends for which Node has its own timers. */
  #failed({ code }: NodeJS.ErrnoException, socket: Socket): void {
    if (code === 'ERR_TLS_HANDSHAKE_TIMEOUT') this.reached('headersMs');
    if (code !== 'ERR_HTTP_REQUEST_TIMEOUT') return;
    this.reached(this.#states.of(socket)?.state === 'body' ? 'requestMs' : 'headersMs');
  }

  /**
   * Ends connections that exceed a time limit, and those with most unsent bytes where all hold too many.
   */
  #look(nowMs: number): void {
    this.#states.look(nowMs);
    this.#crowding.look(this.#quota.taken);
    let total = 0;
    const waiting: [HttpExchange, number][] = [];
    for (const exchange of this.#exchanges.values()) {
      const bytes = exchange.measure(nowMs);
      if (exchange.stalledMs(nowMs) > this.limits.stalledMs) this.#end(exchange, 'stalledMs');
      else if (bytes > 0) {
        waiting.push([exchange, bytes]);
        total += bytes;
      }
    }
    if (total <= this.limits.unsentBytes) return;
    for (const [exchange, bytes] of waiting.sort(([, a], [, b]) => b - a)) {
      if (total <= this.limits.unsentBytes) return;
      this.#end(exchange, 'unsentBytes');
      total -= bytes;
    }
  }

  #end({ socket }: HttpExchange, limit: keyof ConnectionLimits): void {
    this.reached(limit);
    socket.destroy();
  }
}

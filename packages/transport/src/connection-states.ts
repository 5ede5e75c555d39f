/**
 * The connections of a port, each in a state from its first byte to its end. A state has a time limit: a connection
 * that is in it for longer is destroyed, whatever else should have ended it.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';

/** States before the first request: no byte has come, TLS is not agreed on, the head of the request is incomplete. */
export type OpeningState = 'tcp' | 'tls' | 'head';

/** Longest time in each state, ms; infinite where the owner of the connections measures something else. */
export type StateLimits<S extends string> = Readonly<Record<S | OpeningState, number>>;

/** Time beyond a limit for the end that has a reason, an answer or a close frame, ms. */
const GRACE_MS = 2_000;

export class OpenConnection<S extends string> {
  /** The socket that HTTP uses. Under TLS it is not the socket of TCP, and undefined until TLS is agreed on. */
  carrier: Socket | undefined;
  /** Returns the state after the opening, or undefined before the first request. The owner sets it. */
  stage: (() => S | OpeningState | undefined) | undefined;
  #state: S | OpeningState = 'tcp';
  #sinceMs: number;

  constructor(
    readonly socket: Socket,
    nowMs: number,
  ) {
    this.#sinceMs = nowMs;
  }

  get state(): S | OpeningState {
    return this.stage?.() ?? this.#opening();
  }

  /** Whether the connection has been in its state for longer than the limits allow. */
  isOverdue(limits: StateLimits<S>, nowMs: number): boolean {
    const { state } = this;
    if (state !== this.#state) {
      this.#state = state;
      this.#sinceMs = nowMs;
    }
    return nowMs - this.#sinceMs > limits[state] + GRACE_MS;
  }

  /** The state begins anew: with another request, for example. */
  restart(nowMs: number): void {
    this.#sinceMs = nowMs;
  }

  destroy(): void {
    this.carrier?.destroy();
    this.socket.destroy();
  }

  #opening(): OpeningState {
    if (this.socket.bytesRead === 0) return 'tcp';
    return this.carrier === undefined ? 'tls' : 'head';
  }
}

/** The events of a connection for the owner of the port. */
export interface ConnectionEvents<S extends string> {
  /** TCP is connected. The owner may destroy the connection. */
  opened(connection: OpenConnection<S>): void;
  /** HTTP may begin: the connection has its carrier. */
  carried?(connection: OpenConnection<S>, carrier: Socket): void;
}

/** All connections of a server. */
export class ConnectionStates<S extends string> {
  /** By the name of the socket of TCP: under TLS a connection has two sockets with one name. */
  readonly #connections = new Map<string, OpenConnection<S>>();
  readonly #byCarrier = new Map<Socket, OpenConnection<S>>();

  /** @param limits which states there are, and how long a connection may be in each */
  constructor(
    server: Server,
    readonly limits: StateLimits<S>,
    readonly events: ConnectionEvents<S>,
  ) {
    const isEncrypted = server instanceof TlsServer;
    server.on('connection', (socket: Socket) => {
      if (socket.destroyed || this.#byCarrier.has(socket)) return;
      const connection = this.#follow(new OpenConnection<S>(socket, performance.now()));
      events.opened(connection);
      if (!isEncrypted) this.#carry(connection, socket);
    });
    if (isEncrypted) server.on('secureConnection', (carrier: Socket) => this.#secured(carrier));
  }

  /** Connections now. */
  get size(): number {
    return this.#connections.size;
  }

  [Symbol.iterator](): Iterator<OpenConnection<S>> {
    return this.#connections.values();
  }

  /** The connection whose HTTP uses the socket. */
  of(carrier: Socket): OpenConnection<S> | undefined {
    return this.#byCarrier.get(carrier);
  }

  /** How many connections are in each state. */
  counts(): Record<S | OpeningState, number> {
    const counts = Object.fromEntries(Object.keys(this.limits).map((state) => [state, 0]));
    for (const { state } of this) counts[state]!++;
    return counts as Record<S | OpeningState, number>;
  }

  /** Destroys the connections that exceed the limit of their state. To be called at least once a second. */
  look(nowMs: number): void {
    for (const connection of this) if (connection.isOverdue(this.limits, nowMs)) connection.destroy();
  }

  destroyAll(): void {
    for (const connection of this) connection.destroy();
  }

  #follow(connection: OpenConnection<S>): OpenConnection<S> {
    const { socket } = connection;
    const name = nameOf(socket);
    this.#connections.set(name, connection);
    socket.once('close', () => {
      if (this.#connections.get(name) === connection) this.#connections.delete(name);
      if (connection.carrier !== undefined) this.#byCarrier.delete(connection.carrier);
    });
    return connection;
  }

  #secured(carrier: Socket): void {
    const connection = this.#connections.get(nameOf(carrier));
    if (connection !== undefined) this.#carry(connection, carrier);
  }

  #carry(connection: OpenConnection<S>, carrier: Socket): void {
    if (connection.socket.destroyed) return;
    connection.carrier = carrier;
    this.#byCarrier.set(carrier, connection);
    this.events.carried?.(connection, carrier);
  }
}

const nameOf = ({ remoteAddress, remotePort, localAddress, localPort }: Socket): string =>
  `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;

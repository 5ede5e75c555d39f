/** `/v1/session`: admits connections and looks after them. */
import { SESSION_CLOSE, SESSION_SUBPROTOCOLS } from '@isochron/wire/session-frames';
import type { RawData, WebSocket } from 'ws';
import type { ApiContext } from '../http/context.js';
import { type Codec, codecOf } from './codec.js';
import { SessionConnection } from './connection.js';
import type { ServedSession } from './served-session.js';

const UST_INTERVAL_MS = 1000;
const PING_EVERY_TICKS = 30;
/** Clients of a node that restarts come back spread over this time. */
const RETURN_SPREAD_MS = 5000;
const RETURN_AFTER_MS = 500;
/** How long a client may take to answer the close, ms. */
const CLOSE_TIMEOUT_MS = 2000;
const LEAVING = 'the node is about to close';

/** Chooses the subprotocol: MessagePack where it is offered, as it is cheaper; false when nothing offered is known. */
export function handleProtocols(offered: Set<string>): string | false {
  for (const known of [SESSION_SUBPROTOCOLS.msgpack, SESSION_SUBPROTOCOLS.json]) if (offered.has(known)) return known;
  return false;
}

/** All session connections of a node. */
export class SessionHub {
  readonly #connections = new Set<SessionConnection>();
  readonly #timer: NodeJS.Timeout;
  #ticks = 0;
  #left: (() => void) | undefined;

  /** @param open begins the session of a connection */
  constructor(
    readonly api: ApiContext,
    readonly open: (codec: Codec) => ServedSession,
  ) {
    this.#timer = setInterval(() => this.#tick(), UST_INTERVAL_MS);
    this.#timer.unref();
    api.node.onUnresponsive(() => {
      for (const connection of this.#connections) connection.tellUst(true);
    });
  }

  /** Connections now. */
  get size(): number {
    return this.#connections.size;
  }

  /** Serves a new connection. `offered` is its list of subprotocols, if it had one. */
  admit(socket: WebSocket, offered: string | undefined): void {
    const codec = offered !== undefined && socket.protocol === '' ? undefined : codecOf(socket.protocol);
    if (codec === undefined) {
      socket.on('error', (error) => this.api.log.debug({ err: error }, 'session socket'));
      socket.close(SESSION_CLOSE.protocolError, 'unknown subprotocol');
      return;
    }
    const connection = new SessionConnection(socket, codec, this.api, this.open(codec));
    this.#connections.add(connection);
    attach(socket, connection, this.api, () => {
      this.#connections.delete(connection);
      if (this.#connections.size === 0) this.#left?.();
    });
  }

  /** Sends every client elsewhere. Resolves when all have left, or after `timeoutMs`; those that stayed are served until `close`. */
  async leave(timeoutMs: number): Promise<void> {
    this.#sendAway();
    if (this.#connections.size === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.#left = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Closes all connections, and lets go of clients that do not answer to that. */
  close(): void {
    clearInterval(this.#timer);
    this.#sendAway();
    for (const connection of this.#connections) connection.close(LEAVING);
    const last = setTimeout(() => {
      for (const connection of this.#connections) connection.terminate();
    }, CLOSE_TIMEOUT_MS);
    last.unref();
  }

  #sendAway(): void {
    for (const connection of this.#connections) {
      connection.goaway(LEAVING, Math.round(RETURN_AFTER_MS + Math.random() * RETURN_SPREAD_MS));
    }
  }

  #tick(): void {
    this.#ticks++;
    const news = this.api.stability.look();
    for (const connection of this.#connections) {
      connection.tellUst(news);
      if (this.#ticks % PING_EVERY_TICKS === 0) connection.checkAlive();
    }
  }
}

/** Attached at once: a message that arrived with the handshake must not be missed. */
function attach(socket: WebSocket, connection: SessionConnection, api: ApiContext, gone: () => void): void {
  socket.on('message', (data: RawData, isBinary: boolean) => connection.receive(toBuffer(data), isBinary));
  socket.on('pong', () => connection.alive());
  // A message that is too large, or a broken frame: ws closes the connection, with 1009 or 1002.
  socket.on('error', (error) => api.log.debug({ err: error }, 'session socket'));
  socket.on('close', () => {
    connection.disconnected();
    gone();
  });
}

const toBuffer = (data: RawData): Buffer => {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
};

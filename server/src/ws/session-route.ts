/** `/v1/session`: the sockets of the sessions that a node serves. */
import type { Socket } from 'node:net';
import type { ServedSessions } from '@isochron/sessions';
import { SESSION_CLOSE, SESSION_SUBPROTOCOLS } from '@isochron/wire/session-frames';
import type { RawData, WebSocket } from 'ws';
import type { ApiContext } from '../http/context.js';
import type { NodeLimits } from '../http/limits.js';
import { codecOf } from './codec.js';
import { SessionSocket } from './session-socket.js';
import { Strangers } from './strangers.js';

const TICK_MS = 1000;
const PING_EVERY_TICKS = 30;
/** Close code of the WebSocket registry. */
const TRY_AGAIN_LATER = 1013;
/** How long a client may take to answer the close, ms. */
const CLOSE_TIMEOUT_MS = 2000;

/** Chooses the subprotocol: MessagePack where it is offered, as it is cheaper; false when nothing offered is known. */
export function handleProtocols(offered: Set<string>): string | false {
  for (const known of [SESSION_SUBPROTOCOLS.msgpack, SESSION_SUBPROTOCOLS.json]) if (offered.has(known)) return known;
  return false;
}

/** All session sockets of a node. */
export class SessionHub {
  readonly #sockets = new Set<SessionSocket>();
  readonly #strangers: Strangers;
  readonly #timer: NodeJS.Timeout;
  #ticks = 0;

  constructor(
    readonly api: ApiContext,
    readonly sessions: ServedSessions,
    readonly limits: NodeLimits,
  ) {
    this.#strangers = new Strangers(limits);
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#timer.unref();
    api.node.onUnresponsive(() => sessions.tick(true));
  }

  /** Connections now. */
  get size(): number {
    return this.sessions.size;
  }

  /** Serves a new connection. `offered` is its list of subprotocols, if it had one. */
  admit(socket: WebSocket, connection: Socket, offered: string | undefined): void {
    const codec = offered !== undefined && socket.protocol === '' ? undefined : codecOf(socket.protocol);
    if (codec === undefined) {
      socket.on('error', (error) => this.api.log.debug({ err: error }, 'session socket'));
      socket.close(SESSION_CLOSE.protocolError, 'unknown subprotocol');
      return;
    }
    const known = this.#strangers.admit(connection);
    if (known === undefined) {
      socket.on('error', (error) => this.api.log.debug({ err: error }, 'session socket'));
      socket.close(TRY_AGAIN_LATER, 'OVERLOADED');
      return;
    }
    const { maxRequestBytes } = this.api.rules.limits;
    const session = new SessionSocket(socket, codec, (link) => this.sessions.admit(link), {
      address: connection.remoteAddress ?? '',
      maxMessageBytes: maxRequestBytes,
      pingsPerSecond: this.limits.pingsPerSecond,
      greeted: known,
    });
    this.#sockets.add(session);
    attach(socket, session, this.api, () => {
      known();
      this.#sockets.delete(session);
    });
  }

  /**
   * Sends every client elsewhere. Resolves when all have left, or after `timeoutMs`; those that stayed are served until
   * `close`.
   */
  leave(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => this.sessions.leave(timeoutMs, resolve));
  }

  /** Closes all connections, and drops those of clients that do not answer to that. */
  close(): void {
    clearInterval(this.#timer);
    this.sessions.close();
    const last = setTimeout(() => {
      for (const socket of this.#sockets) socket.terminate();
    }, CLOSE_TIMEOUT_MS);
    last.unref();
  }

  #tick(): void {
    this.#ticks++;
    this.sessions.tick(this.api.stability.look());
    this.#endFullest();
    if (this.#ticks % PING_EVERY_TICKS === 0) for (const socket of this.#sockets) socket.checkAlive();
  }

  /** Ends sessions for which most waits, where too much waits for clients to read it. */
  #endFullest(): void {
    let total = 0;
    for (const socket of this.#sockets) total += socket.waitingBytes;
    if (total <= this.limits.unsentBytes) return;
    for (const socket of [...this.#sockets].sort((a, b) => b.waitingBytes - a.waitingBytes)) {
      if (total <= this.limits.unsentBytes) return;
      total -= socket.waitingBytes;
      socket.terminate();
    }
  }
}

/** Attached at once: a message that arrived with the handshake must not be missed. */
function attach(socket: WebSocket, session: SessionSocket, api: ApiContext, gone: () => void): void {
  socket.on('message', (data: RawData, isBinary: boolean) => session.receive(toBuffer(data), isBinary));
  socket.on('ping', (data: Buffer) => session.pinged(data));
  socket.on('pong', () => session.alive());
  // A message that is too large, or a broken frame: ws closes the connection, with 1009 or 1002.
  socket.on('error', (error) => api.log.debug({ err: error }, 'session socket'));
  socket.on('close', () => {
    gone();
    session.disconnected();
  });
}

const toBuffer = (data: RawData): Buffer => {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
};

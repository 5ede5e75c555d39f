/** `/v1/session`: the sockets of the sessions that a node serves. */
import type { Socket } from 'node:net';
import type { ServedSessions } from '@isochron/sessions';
import { NO_ROOM } from '@isochron/wire/channels/channels';
import { CHANNEL_LIMITS, SHARED_SUBPROTOCOL } from '@isochron/wire/channels/entries';
import { SESSION_CLOSE, SESSION_SUBPROTOCOLS } from '@isochron/wire/session-frames';
import type { RawData, WebSocket } from 'ws';
import type { Connections, SessionState } from '../http/connections/connections.js';
import type { ApiContext } from '../http/context.js';
import type { NodeLimits } from '../http/limits/limits.js';
import { codecOf } from './codec.js';
import { Liveness } from './liveness.js';
import { type ChannelOwner, SessionChannel } from './session-channel.js';
import { SessionSocket } from './session-socket.js';
import { SharedSocket } from './shared-socket.js';
import { Strangers } from './strangers.js';

const TICK_MS = 1000;
/** How long a client may take to answer the close, ms. */
const CLOSE_TIMEOUT_MS = 2000;
/** Offered subprotocols are chosen in this order: a socket for many sessions, then MessagePack, as it is cheaper. */
const KNOWN = [SHARED_SUBPROTOCOL, SESSION_SUBPROTOCOLS.msgpack, SESSION_SUBPROTOCOLS.json];

/** Chooses the subprotocol; false when none that is offered is known. */
export function handleProtocols(offered: Set<string>): string | false {
  return KNOWN.find((known) => offered.has(known)) ?? false;
}

/** How many sockets and sessions a node serves. */
export interface SessionCounts {
  readonly sockets: number;
  readonly sharedSockets: number;
  readonly sessions: number;
}

/** The hub's interface of a socket, with one session or many. */
interface ServedSocket {
  receive(data: Buffer, isBinary: boolean): void;
  disconnected(): void;
}

/** All session sockets of a node. */
export class SessionHub {
  readonly #sockets = new Map<WebSocket, Liveness>();
  readonly #single = new Set<SessionSocket>();
  readonly #shared = new Set<SharedSocket>();
  readonly #strangers: Strangers;
  readonly #timer: NodeJS.Timeout;
  /** A ping is sent in each of so many ticks. */
  readonly #ticksOfPing: number;
  #ticks = 0;
  /** Whether memory or the event loop is beyond its bound. */
  isOverloaded: () => boolean = () => false;

  constructor(
    readonly api: ApiContext,
    readonly sessions: ServedSessions,
    readonly limits: NodeLimits,
    readonly connections: Connections,
  ) {
    this.#strangers = new Strangers(limits, api.serving.reached.reached);
    this.#ticksOfPing = Math.max(1, Math.round(limits.silentMs / TICK_MS));
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#timer.unref();
    api.node.onUnresponsive(() => sessions.tick(true));
    // What was begun without rules ends: live queries, streams and waits too.
    api.node.onUnprotected(() => {
      api.serving.endWaits();
      sessions.close();
    });
  }

  /** Sessions now. */
  get size(): number {
    return this.sessions.size;
  }

  get counts(): SessionCounts {
    return { sockets: this.#sockets.size, sharedSockets: this.#shared.size, sessions: this.size };
  }

  /** Serves a new connection. `offered` is its list of subprotocols, if it sent a list. */
  admit(socket: WebSocket, connection: Socket, offered: string | undefined): void {
    let state: SessionState = 'hello';
    this.connections.stage(connection, () => (socket.readyState === socket.OPEN ? state : 'closing'));
    const isUnknown = offered !== undefined && socket.protocol === '';
    const isShared = socket.protocol === SHARED_SUBPROTOCOL;
    const codec = isUnknown || isShared ? undefined : codecOf(socket.protocol);
    if (codec === undefined && !isShared) {
      this.#refuse(socket, SESSION_CLOSE.protocolError, 'unknown subprotocol');
      return;
    }
    const leave = this.#strangers.admit(connection);
    if (leave === undefined) {
      this.#refuse(socket, NO_ROOM.code, NO_ROOM.reason);
      return;
    }
    const greeted = (): void => {
      state = 'session';
      leave();
    };
    const address = connection.remoteAddress ?? '';
    if (codec === undefined) this.#serveShared(socket, address, greeted);
    else {
      const { maxRequestBytes: maxMessageBytes } = this.api.rules.limits;
      const options = { address, maxMessageBytes, turns: this.api.turns, greeted };
      const session = new SessionSocket(socket, codec, (link) => this.sessions.admit(link), options);
      this.#single.add(session);
      this.#attach(socket, session, () => {
        greeted();
        this.#single.delete(session);
      });
    }
  }

  /** Closes a new connection of a page whose origin may not call (ORIGIN_NOT_ALLOWED). */
  refusePage(socket: WebSocket, connection: Socket): void {
    this.connections.stage(connection, () => 'closing');
    const reason = 'Pages of this origin may not call. Start the node with --cors-origin to let them.';
    this.#refuse(socket, SESSION_CLOSE.originNotAllowed, reason);
  }

  /**
   * Sends every client elsewhere. Resolves when all have left, or after `timeoutMs`; the others are served until
   * `close`.
   */
  leave(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => this.sessions.leave(timeoutMs, resolve));
  }

  /** Closes all connections, and drops the connections of clients that do not answer the close. */
  close(): void {
    clearInterval(this.#timer);
    this.sessions.close();
    for (const shared of this.#shared) shared.close(SESSION_CLOSE.restart, 'the node is about to close');
    const last = setTimeout(() => {
      for (const socket of this.#sockets.keys()) socket.terminate();
    }, CLOSE_TIMEOUT_MS);
    last.unref();
  }

  #serveShared(socket: WebSocket, address: string, greeted: () => void): void {
    const shared = new SharedSocket(socket, {
      maxMessageBytes: this.api.rules.limits.maxRequestBytes,
      partials: CHANNEL_LIMITS.partials,
      stalledMs: this.limits.stalledMs,
      admit: (owner, channel, subprotocol) => this.#admitChannel(owner, channel, subprotocol, address, greeted),
    });
    this.#shared.add(shared);
    this.#attach(socket, shared, () => {
      greeted();
      this.#shared.delete(shared);
    });
  }

  /** A session on a shared socket counts as a connection: towards all bounds of connections, and as a stranger. */
  #admitChannel(
    owner: ChannelOwner,
    channel: number,
    subprotocol: string,
    address: string,
    socketGreeted: () => void,
  ): SessionChannel | undefined {
    const codec = subprotocol === '' ? undefined : codecOf(subprotocol);
    if (codec === undefined) {
      owner.channels.close(channel, SESSION_CLOSE.protocolError, 'unknown subprotocol');
      return undefined;
    }
    const leave = this.connections.take(address);
    const admitted = leave && this.#strangers.take(address);
    if (admitted === undefined) {
      leave?.();
      owner.channels.close(channel, NO_ROOM.code, NO_ROOM.reason);
      return undefined;
    }
    const greeted = (): void => {
      admitted();
      socketGreeted();
    };
    const ended = (): void => {
      admitted();
      leave?.();
    };
    const { strangerBytes } = this.limits;
    const { maxRequestBytes: maxMessageBytes } = this.api.rules.limits;
    const options = { address, maxMessageBytes, turns: this.api.turns, strangerBytes, greeted, ended };
    return new SessionChannel(owner, channel, codec, (link) => this.sessions.admit(link), options);
  }

  #refuse(socket: WebSocket, code: number, reason: string): void {
    socket.on('error', (error) => this.api.log.debug({ err: error }, 'session socket'));
    socket.close(code, reason);
  }

  /** Attached at once: a message that arrived with the handshake must not be missed. */
  #attach(socket: WebSocket, served: ServedSocket, gone: () => void): void {
    const liveness = new Liveness(socket, this.limits.pingsPerSecond);
    this.#sockets.set(socket, liveness);
    socket.on('message', (data: RawData, isBinary: boolean) => served.receive(toBuffer(data), isBinary));
    socket.on('ping', (data: Buffer) => liveness.pinged(data));
    socket.on('pong', () => liveness.alive());
    // A message that is too large, or a broken frame: ws closes the connection, with 1009 or 1002.
    socket.on('error', (error) => this.api.log.debug({ err: error }, 'session socket'));
    socket.on('close', () => {
      this.#sockets.delete(socket);
      gone();
      served.disconnected();
    });
  }

  #tick(): void {
    this.#ticks++;
    this.api.serving.isOverloaded = this.isOverloaded();
    this.sessions.tick(this.api.stability.look());
    this.#endFullest();
    const nowMs = performance.now();
    for (const shared of this.#shared) shared.check(nowMs);
    if (this.#ticks % this.#ticksOfPing === 0) for (const liveness of this.#sockets.values()) liveness.check();
  }

  /** Ends the sessions with most unsent bytes, where all together hold too many. */
  #endFullest(): void {
    const sessions: (SessionSocket | SessionChannel)[] = [...this.#single];
    for (const shared of this.#shared) sessions.push(...shared.sessions);
    let total = sessions.reduce((sum, { waitingBytes }) => sum + waitingBytes, 0);
    if (total <= this.limits.unsentBytes) return;
    for (const session of sessions.sort((a, b) => b.waitingBytes - a.waitingBytes)) {
      if (total <= this.limits.unsentBytes) return;
      this.api.serving.reached.reached('unsentBytes');
      total -= session.waitingBytes;
      session.terminate();
    }
  }
}

const toBuffer = (data: RawData): Buffer => {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
};

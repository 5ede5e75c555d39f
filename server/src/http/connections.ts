/**
 * The connections of an API: bounded in all and for each address; clients that do not read their answers are closed.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import { Quota } from '@isochron/core';
import type { NodeLimits } from './limits.js';

const LOOK_EVERY_MS = 250;

export type ConnectionLimits = Pick<NodeLimits, 'connections' | 'connectionsPerAddress' | 'unsentBytes' | 'stalledMs'>;

/** Unsent bytes of a client, and since when none of them has left. */
interface Unsent {
  bytes: number;
  since: number;
  /** Answers to pipelined requests: those behind the first wait outside the socket. Some of them may be closed. */
  answers: ServerResponse[];
}

export class Connections {
  readonly #quota: Quota;
  readonly #sockets = new Map<Socket, Unsent>();
  readonly #timer: NodeJS.Timeout;

  constructor(
    server: Server,
    readonly limits: ConnectionLimits,
    /** Takes the name of each limit that is reached. */
    readonly reached: (limit: keyof ConnectionLimits) => void,
  ) {
    this.#quota = new Quota(limits.connections, limits.connectionsPerAddress);
    server.on('connection', (socket) => this.#admit(socket));
    const isEncrypted = server instanceof TlsServer;
    // Under TLS, answers are written to a socket of their own, around that of the connection.
    server.on(isEncrypted ? 'secureConnection' : 'connection', (socket: Socket) => this.#watch(socket));
    // Hot: a listener on each answer would cost more than a search for closed ones.
    server.on('request', (request: IncomingMessage, answer: ServerResponse) => {
      const unsent = this.#sockets.get(request.socket);
      if (unsent === undefined) return;
      dropClosed(unsent);
      unsent.answers.push(answer);
    });
    this.#timer = setInterval(() => this.#look(performance.now()), LOOK_EVERY_MS).unref();
    server.on('close', () => clearInterval(this.#timer));
  }

  /**
   * Counts a session on a shared socket as a connection. @returns a function to call once it has ended; undefined where
   * there are too many
   */
  take(address: string): (() => void) | undefined {
    return this.#take(address) ? () => this.#quota.give(address) : undefined;
  }

  #take(address: string): boolean {
    const isTaken = this.#quota.take(address);
    if (!isTaken) this.reached('connections');
    return isTaken;
  }

  #admit(socket: Socket): void {
    const address = socket.remoteAddress ?? '';
    if (!this.#take(address)) {
      socket.destroy();
      return;
    }
    socket.once('close', () => this.#quota.give(address));
  }

  #watch(socket: Socket): void {
    if (socket.destroyed) return;
    this.#sockets.set(socket, { bytes: 0, since: 0, answers: [] });
    socket.once('close', () => this.#sockets.delete(socket));
  }

  /**
   * Ends connections whose clients have not read for long, and those with most unsent bytes where all hold too many.
   */
  #look(now: number): void {
    let total = 0;
    for (const [socket, unsent] of this.#sockets) {
      dropClosed(unsent);
      const bytes = unsentBytes(socket, unsent.answers);
      if (bytes === 0 || bytes < unsent.bytes || unsent.bytes === 0) unsent.since = now;
      unsent.bytes = bytes;
      if (now - unsent.since > this.limits.stalledMs) this.#end(socket, 'stalledMs');
      else total += bytes;
    }
    if (total <= this.limits.unsentBytes) return;
    const most = [...this.#sockets].sort(([, a], [, b]) => b.bytes - a.bytes);
    for (const [socket, { bytes }] of most) {
      if (total <= this.limits.unsentBytes) return;
      this.#end(socket, 'unsentBytes');
      total -= bytes;
    }
  }

  #end(socket: Socket, limit: keyof ConnectionLimits): void {
    this.reached(limit);
    socket.destroy();
  }
}

/** Answers on one connection close in their order, or all together. */
function dropClosed(unsent: Unsent): void {
  if (unsent.answers[0]?.closed === true) unsent.answers = unsent.answers.filter(({ closed }) => !closed);
}

/**
 * Unsent bytes of the socket. A large write leaves it in parts, and only the handle has the rest of it: under TLS, that
 * of the connection below.
 */
function unsentBytes(socket: Socket, answers: readonly ServerResponse[]): number {
  if (socket.writableLength === 0) return 0;
  let waiting = 0;
  if (answers.length > 1) for (const answer of answers) if (answer.socket === null) waiting += answer.writableLength;
  const handle = memberOf(socket, '_handle');
  const queued = Number(memberOf(memberOf(handle, '_parent') ?? handle, 'writeQueueSize'));
  return waiting + (queued > 0 ? queued : socket.writableLength);
}

const memberOf = (object: unknown, name: string): unknown =>
  typeof object === 'object' && object !== null ? Reflect.get(object, name) : undefined;

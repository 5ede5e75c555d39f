import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Quota } from '@isochron/core';
import { type WebSocket, WebSocketServer } from 'ws';
import type { LinkTuning } from './options.js';
import { socketOptions } from './socket-options.js';

/** Limit of a stranger before its proof: the upgrade request and two small messages. */
const MAX_HANDSHAKE_BYTES = 32 * 1024;

/** Interval of the check for late connections, ms. */
const CHECK_MS = 1_000;

/** The listening side: accepts WebSockets and passes them on. */
export class Listener {
  readonly #http: Server;
  readonly #webSockets: WebSocketServer;

  private constructor(http: Server, webSockets: WebSocketServer) {
    this.#http = http;
    this.#webSockets = webSockets;
  }

  /**
   * Resolves when the port is bound; rejects with the system's error (`EADDRINUSE`) when it cannot be.
   * `accept` gets each socket, and a function to call when the peer is no stranger any more.
   */
  static async open(
    address: { readonly host: string; readonly port: number },
    tuning: LinkTuning,
    accept: (socket: WebSocket, trust: () => void) => void,
  ): Promise<Listener> {
    const timeouts = { headersTimeout: tuning.handshakeTimeoutMs, requestTimeout: tuning.handshakeTimeoutMs };
    const http = createServer({ ...timeouts, connectionsCheckingInterval: CHECK_MS }, (_request, response) => {
      response.writeHead(426, { connection: 'close' }).end('This port takes links between nodes only.\n');
    });
    const strangers = new Strangers(new Quota(tuning.maxStrangers, tuning.maxStrangersPerAddress));
    http.on('connection', (socket: Socket) => strangers.admit(socket));
    await new Promise<void>((resolve, reject) => {
      http.once('error', reject);
      http.listen(address.port, address.host, () => {
        http.off('error', reject);
        resolve();
      });
    });
    const webSockets = new WebSocketServer({ server: http, clientTracking: false, ...socketOptions(tuning) });
    webSockets.on('connection', (socket: WebSocket, request: IncomingMessage) => {
      const known = limitBytes(request);
      accept(socket, () => {
        known();
        strangers.trust(request.socket);
      });
    });
    return new Listener(http, webSockets);
  }

  /** The bound port. */
  get port(): number {
    return (this.#http.address() as AddressInfo).port;
  }

  /** Stops listening. Resolves when all connections have ended. */
  async close(): Promise<void> {
    this.#webSockets.close();
    const closed = new Promise<void>((resolve) => this.#http.close(() => resolve()));
    // Only those that never became WebSockets; the links close theirs themselves.
    this.#http.closeAllConnections();
    await closed;
  }
}

/** Ends a stranger's connection that sends much: the frame limit of a trusted peer is far too high for it. */
function limitBytes({ socket }: IncomingMessage): () => void {
  const check = (): void => {
    if (socket.bytesRead > MAX_HANDSHAKE_BYTES) socket.destroy();
  };
  socket.on('data', check);
  return () => socket.off('data', check);
}

/** Connections without a proof; those above the limits are ended at once. */
class Strangers {
  readonly #addresses = new Map<Socket, string>();

  constructor(readonly quota: Quota) {}

  admit(socket: Socket): void {
    const address = socket.remoteAddress ?? '';
    if (!this.quota.take(address)) {
      socket.destroy();
      return;
    }
    this.#addresses.set(socket, address);
    socket.once('close', () => this.trust(socket));
  }

  /** The peer has proved itself. */
  trust(socket: Socket): void {
    const address = this.#addresses.get(socket);
    if (address === undefined) return;
    this.#addresses.delete(socket);
    this.quota.give(address);
  }
}

import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { Quota } from '@isochron/core';
import { type WebSocket, WebSocketServer } from 'ws';
import { type PeerTls, type Presented, presented, secureOptions } from './identity.js';
import type { LinkTuning } from './options.js';
import { socketOptions } from './socket-options.js';

/** Limit of a stranger before its proof: the upgrade request and two small messages. */
const MAX_HANDSHAKE_BYTES = 32 * 1024;

/** Interval of the check for late connections, ms. */
const CHECK_MS = 1_000;

/** A WebSocket from outside. */
export interface Incoming {
  readonly socket: WebSocket;
  /** What the peer has presented; undefined without TLS. */
  readonly presented: Presented | undefined;
  /** To call when the peer is no stranger any more. */
  readonly trust: () => void;
}

/** Where to listen, and how. */
export interface ListenerOptions {
  readonly listen: { readonly host: string; readonly port: number };
  readonly tuning: LinkTuning;
  readonly tls?: PeerTls | undefined;
}

/** The events of a listener. */
export interface ListenerEvents {
  accept(incoming: Incoming): void;
  /** A connection that ended before TLS was agreed on. */
  failed(error: NodeJS.ErrnoException): void;
}

/** The listening side: accepts WebSockets and passes them on. */
export class Listener {
  readonly #http: Server;
  readonly #webSockets: WebSocketServer;

  private constructor(http: Server, webSockets: WebSocketServer) {
    this.#http = http;
    this.#webSockets = webSockets;
  }

  /** Resolves when the port is bound; rejects with the system's error (`EADDRINUSE`) when it cannot be. */
  static async open({ listen, tuning, tls }: ListenerOptions, events: ListenerEvents): Promise<Listener> {
    const http = serverFor(tuning, tls, (_request, response) => {
      response.writeHead(426, { connection: 'close' }).end('This port takes links between nodes only.\n');
    });
    const strangers = new Strangers(new Quota(tuning.maxStrangers, tuning.maxStrangersPerAddress));
    http.on('connection', (socket: Socket) => strangers.admit(socket));
    http.on('tlsClientError', (error: NodeJS.ErrnoException) => events.failed(error));
    await new Promise<void>((resolve, reject) => {
      http.once('error', reject);
      http.listen(listen.port, listen.host, () => {
        http.off('error', reject);
        resolve();
      });
    });
    const webSockets = new WebSocketServer({ server: http, clientTracking: false, ...socketOptions(tuning) });
    webSockets.on('connection', (webSocket: WebSocket, request: IncomingMessage) => {
      const known = limitBytes(request);
      const { socket } = request;
      events.accept({
        socket: webSocket,
        presented: socket instanceof TLSSocket ? presented(socket) : undefined,
        trust: () => {
          known();
          strangers.trust(socket);
        },
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

/** A server of these links alone. Certificates that changed are for connections from then on. */
function serverFor(tuning: LinkTuning, tls: PeerTls | undefined, onRequest: RequestListener): Server {
  const { handshakeTimeoutMs: handshakeTimeout } = tuning;
  const timeouts = { headersTimeout: handshakeTimeout, requestTimeout: handshakeTimeout };
  const options = { ...timeouts, connectionsCheckingInterval: CHECK_MS };
  if (tls === undefined) return createServer(options, onRequest);
  // Certificates are checked by the owner, who has a sentence for each fault: Node would close without one.
  const mutual = { requestCert: true, rejectUnauthorized: false, handshakeTimeout };
  const server = createTlsServer({ ...options, ...mutual, ...secureOptions(tls) }, onRequest);
  const stop = tls.certificates.onChange(() => server.setSecureContext(secureOptions(tls)));
  server.on('close', stop);
  return server;
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
  /** Address by {@link nameOf} the connection: under TLS it has two sockets. */
  readonly #addresses = new Map<string, string>();

  constructor(readonly quota: Quota) {}

  admit(socket: Socket): void {
    const address = socket.remoteAddress ?? '';
    if (!this.quota.take(address)) {
      socket.destroy();
      return;
    }
    const name = nameOf(socket);
    this.#addresses.set(name, address);
    socket.once('close', () => this.#leave(name));
  }

  /** The peer has proved itself. */
  trust(socket: Socket): void {
    this.#leave(nameOf(socket));
  }

  #leave(name: string): void {
    const address = this.#addresses.get(name);
    if (address === undefined) return;
    this.#addresses.delete(name);
    this.quota.give(address);
  }
}

const nameOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

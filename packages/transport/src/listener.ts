import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { TLSSocket } from 'node:tls';
import { Quota } from '@isochron/core';
import { WebSocket, WebSocketServer } from 'ws';
import { ConnectionStates, type OpenConnection, type OpeningState, type StateLimits } from './connection-states.js';
import { type PeerTls, type Presented, presented, secureOptions } from './identity.js';
import type { LinkTuning } from './options.js';
import { socketOptions } from './socket-options.js';

/** Limit of a stranger before its proof: the upgrade request and two small messages. */
const MAX_HANDSHAKE_BYTES = 32 * 1024;

/** Interval of the check for late connections, ms. */
const CHECK_MS = 1_000;

/**
 * States of a connection to the peering port. After the opening: the WebSocket or the proof of the secret is not
 * complete, a link is up, the link is being closed.
 */
export type PeerState = OpeningState | 'handshake' | 'link' | 'closing';

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
  /** A connection was ended at once: too many have no proof. */
  crowded(address: string): void;
}

/** The listening side: accepts WebSockets and passes them on. */
export class Listener {
  readonly #http: Server;
  readonly #webSockets: WebSocketServer;
  readonly #states: ConnectionStates<PeerState>;

  private constructor(http: Server, webSockets: WebSocketServer, states: ConnectionStates<PeerState>) {
    this.#http = http;
    this.#webSockets = webSockets;
    this.#states = states;
    const timer = setInterval(() => states.look(performance.now()), CHECK_MS).unref();
    http.on('close', () => clearInterval(timer));
  }

  /** Resolves when the port is bound; rejects with the system's error (`EADDRINUSE`) when it cannot be. */
  static async open({ listen, tuning, tls }: ListenerOptions, events: ListenerEvents): Promise<Listener> {
    const http = serverFor(tuning, tls, (_request, response) => {
      response.writeHead(426, { connection: 'close' }).end('This port takes links between nodes only.\n');
    });
    const strangers = new Strangers(new Quota(tuning.maxStrangers, tuning.maxStrangersPerAddress), events);
    const states = new ConnectionStates<PeerState>(http, limitsOf(tuning), {
      opened: (connection) => strangers.admit(connection),
    });
    http.on('tlsClientError', (error: NodeJS.ErrnoException) => events.failed(error));
    http.on('upgrade', ({ socket }: IncomingMessage) => {
      const connection = states.of(socket);
      if (connection !== undefined) connection.stage = () => 'handshake';
    });
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
      const connection = states.of(socket);
      if (connection === undefined) {
        webSocket.terminate();
        return;
      }
      let state: PeerState = 'handshake';
      connection.stage = () => (webSocket.readyState === WebSocket.OPEN ? state : 'closing');
      events.accept({
        socket: webSocket,
        presented: socket instanceof TLSSocket ? presented(socket) : undefined,
        trust: () => {
          known();
          state = 'link';
          strangers.trust(connection);
        },
      });
    });
    return new Listener(http, webSockets, states);
  }

  /** The bound port. */
  get port(): number {
    return (this.#http.address() as AddressInfo).port;
  }

  /** How many connections are in each state. */
  counts(): Record<PeerState, number> {
    return this.#states.counts();
  }

  /** Stops listening. Resolves when all connections have ended. */
  async close(): Promise<void> {
    this.#webSockets.close();
    const closed = new Promise<void>((resolve) => this.#http.close(() => resolve()));
    // Those are closed already that the transport knows.
    for (const connection of this.#states) if (connection.state !== 'closing') connection.destroy();
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

/** Nothing but links has no limit: pings find their end. */
const limitsOf = ({ handshakeTimeoutMs }: LinkTuning): StateLimits<PeerState> => ({
  tcp: handshakeTimeoutMs,
  tls: handshakeTimeoutMs,
  head: handshakeTimeoutMs,
  handshake: handshakeTimeoutMs,
  link: Number.POSITIVE_INFINITY,
  closing: handshakeTimeoutMs,
});

/** Connections without a proof; those above the limits are ended at once. */
class Strangers {
  readonly #addresses = new Map<OpenConnection<PeerState>, string>();

  constructor(
    readonly quota: Quota,
    readonly events: Pick<ListenerEvents, 'crowded'>,
  ) {}

  admit(connection: OpenConnection<PeerState>): void {
    const { socket } = connection;
    const address = socket.remoteAddress ?? '';
    if (!this.quota.take(address)) {
      this.events.crowded(address);
      connection.destroy();
      return;
    }
    this.#addresses.set(connection, address);
    socket.once('close', () => this.trust(connection));
  }

  /** The peer has proved itself, or has gone. */
  trust(connection: OpenConnection<PeerState>): void {
    const address = this.#addresses.get(connection);
    if (address === undefined) return;
    this.#addresses.delete(connection);
    this.quota.give(address);
  }
}

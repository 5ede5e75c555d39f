/**
 * A node in memory behind a loopback WebSocket, for the SDK's tests. Several servers may share a cluster, as nodes of
 * its regions or of the same region. The cluster's time passes while a request has no answer.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Capability } from '@isochron/protocols';
import type { MemoryCluster } from '@isochron/testing/nodes/memory-cluster';
import { CUT, type MemoryClient, MemoryNode, type MemorySocket } from '@isochron/testing/nodes/memory-node';
import { SHARED_SUBPROTOCOL } from '@isochron/wire/channels/entries';
import type { ClientFrame, ServerFrame, WelcomeFrame } from '@isochron/wire/session-frames';
import { type WebSocket, WebSocketServer } from 'ws';
import { type ServedSocket, SharedServerSocket } from './shared-server.js';

export interface ServerOptions {
  /** Default: the first region of the cluster. */
  readonly region?: string;
  /** The id of the node. */
  readonly node?: string;
  readonly credits?: number;
  readonly limits?: Partial<WelcomeFrame['limits']>;
  /** Endpoints in the welcome. */
  readonly regions?: WelcomeFrame['regions'];
  /** The id of the cluster. */
  readonly clusterId?: string;
  /** Capabilities of the protocol that the node does not offer. */
  readonly lacks?: readonly Capability[];
  /** Whether the node serves shared sockets. */
  readonly shared?: boolean;
  /** Default: a free port. */
  readonly port?: number;
}

/** A step of the cluster's time, and its real duration. */
const STEP_MS = 5;

export class MemoryServer extends MemoryNode {
  readonly #server: WebSocketServer;
  readonly #clients = new Map<MemorySocket, ServedSocket>();
  /** Whole sockets, each of a session or of many. */
  readonly webSockets = new Set<WebSocket>();
  port = 0;
  #waiters: { readonly matches: () => boolean; readonly resolve: () => void }[] = [];
  #step: NodeJS.Timeout | undefined;

  private constructor(cluster: MemoryCluster, options: ServerOptions) {
    const { region = cluster.regions[0]!, port = 0, shared = false } = options;
    super(region, cluster);
    this.id = options.node ?? this.id;
    this.clusterId = options.clusterId ?? this.clusterId;
    this.credits = options.credits ?? 256;
    this.limits = { ...this.limits, ...options.limits };
    this.regions = options.regions ?? [];
    this.lacks(...(options.lacks ?? []));
    this.#server = new WebSocketServer({
      port,
      host: '127.0.0.1',
      handleProtocols: (offered) => {
        const names = [...offered].filter((name) => shared || name !== SHARED_SUBPROTOCOL);
        return names[0] ?? false;
      },
    });
    this.#server.on('connection', (socket) => {
      this.webSockets.add(socket);
      socket.on('close', () => {
        this.webSockets.delete(socket);
        this.#look();
      });
      if (socket.protocol === SHARED_SUBPROTOCOL) new SharedServerSocket(socket, (session) => this.#serve(session));
      else this.#serve(socket);
    });
  }

  static async start(cluster: MemoryCluster, options: ServerOptions = {}): Promise<MemoryServer> {
    const server = new MemoryServer(cluster, options);
    await once(server.#server, 'listening');
    server.port = (server.#server.address() as AddressInfo).port;
    return server;
  }

  override get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Sessions that are connected. */
  get connections(): number {
    return this.sockets.size;
  }

  /** Resolves as soon as the condition holds; checked whenever a frame or a connection comes or goes. */
  until(matches: () => boolean): Promise<void> {
    if (matches()) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push({ matches, resolve }));
  }

  /** Sends text to a client as it is, or to all clients. */
  sendText(text: string, ...sockets: readonly MemorySocket[]): void {
    for (const socket of sockets.length > 0 ? sockets : this.sockets) this.#clients.get(socket)?.send(text);
  }

  /** Closes a client's socket. */
  closeSocket(socket: MemorySocket, code: number, reason: string): void {
    this.#clients.get(socket)?.close(code, reason);
  }

  /** Cuts all connections, without a close frame. */
  override cut(): void {
    for (const socket of this.webSockets) socket.terminate();
  }

  async close(): Promise<void> {
    clearTimeout(this.#step);
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #serve(socket: ServedSocket): void {
    const served = this.connect(clientOf(socket));
    this.#clients.set(served, socket);
    socket.on('close', () => {
      served.disconnected();
      this.#look();
    });
    socket.on('message', (data) => {
      if (!this.sockets.has(served)) return;
      const message: unknown = JSON.parse(String(data));
      served.receive((Array.isArray(message) ? message : [message]) as ClientFrame[]);
      this.#look();
      this.#pass();
    });
  }

  #look(): void {
    const met = this.#waiters.filter(({ matches }) => matches());
    this.#waiters = this.#waiters.filter((waiter) => !met.includes(waiter));
    for (const { resolve } of met) resolve();
  }

  /** The cluster's time passes while a request has no answer. */
  #pass(): void {
    if (this.#step !== undefined || !this.isBusy) return;
    this.#step = setTimeout(() => {
      this.#step = undefined;
      this.cluster.pass(STEP_MS);
      this.#look();
      this.#pass();
    }, STEP_MS);
  }
}

const clientOf = (socket: ServedSocket): MemoryClient => ({
  deliver: (frames: readonly ServerFrame[]) => {
    if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(frames.length === 1 ? frames[0] : frames));
  },
  closed: (code, reason) => {
    if (code === CUT) socket.terminate();
    else socket.close(code, reason);
  },
});

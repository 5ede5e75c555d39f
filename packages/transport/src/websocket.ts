import type { X509Certificate } from 'node:crypto';
import { TLSSocket } from 'node:tls';
import { type AnyMessage, invariant, type NodeId } from '@isochron/core';
import {
  Handshake,
  type HandshakeOptions,
  type PeerInfo,
  PROTOCOL_VERSION,
  type Refusal,
  randomNonce,
  UNPROTECTED,
} from '@isochron/wire';
import { WebSocket } from 'ws';
import { Connection, type ConnectionEnd } from './connection.js';
import { Dialer } from './dialer.js';
import type { Envelope } from './envelope.js';
import { dialOptions, isIssuedBy, namesAnother, nodeUri, type PeerTls } from './identity.js';
import { Link } from './link.js';
import { type Incoming, Listener, type PeerState } from './listener.js';
import {
  DEFAULT_TUNING,
  dials,
  type LinkTuning,
  type Log,
  type PeerAddress,
  parsePeerUrl,
  type WebSocketTransportOptions,
} from './options.js';
import { Packer } from './packing.js';
import { Renewals } from './renewals.js';
import { socketOptions } from './socket-options.js';
import type { LinkStatus, Transport } from './transport.js';

/** The code of connections that were ended because too many had no proof. */
const CROWDED = 'TOO_MANY_STRANGERS';
const CROWDED_LOG_MS = 60_000;

/** Connections to the peering port. */
export interface IncomingConnections {
  /** How many are in each state now. */
  readonly states: Readonly<Record<PeerState, number>>;
  /** How many were ended at once because too many had no proof. */
  readonly crowded: number;
}

/** Links over WebSocket, one connection for each pair of nodes: the node with the lower id dials. */
export class WebSocketTransport<M extends AnyMessage> implements Transport<M> {
  readonly #options: WebSocketTransportOptions<M>;
  readonly #tuning: LinkTuning;
  readonly #log: Log;
  readonly #links = new Map<NodeId, Link<M>>();
  readonly #dialers = new Map<NodeId, Dialer>();
  /** All connections that have not ended, in whatever state, with the peer's certificate as far as it is known. */
  readonly #connections = new Map<Connection, X509Certificate | undefined>();
  readonly #ends = new Map<string, number>();
  readonly #renewals = new Renewals((node) => this.#renew(node));
  #listener: Listener | undefined;
  #keepAlive: NodeJS.Timeout | undefined;
  #unwatch: (() => void) | undefined;
  #tickedAt = 0;
  #crowdedAt = Number.NEGATIVE_INFINITY;
  #closing: Promise<void> | undefined;
  #stopped = false;

  private constructor(options: WebSocketTransportOptions<M>) {
    this.#options = options;
    this.#tuning = { ...DEFAULT_TUNING, ...options.tuning };
    this.#log = options.log ?? (() => undefined);
    for (const peer of options.peers) this.#addPeer(peer);
  }

  /**
   * Listens, and starts to dial. Resolves when the port is bound; links come up later, see the `link` event. Rejects
   * with the system's own error when the port cannot be bound (`code` is `EADDRINUSE` if it is taken), and with
   * `CONFIG_INVALID` when the secret is empty or a peer's url has another form.
   */
  static async open<M extends AnyMessage>(options: WebSocketTransportOptions<M>): Promise<WebSocketTransport<M>> {
    for (const { url } of options.peers) parsePeerUrl(url);
    const transport = new WebSocketTransport(options);
    transport.#handshake({ role: 'initiator' }); // refuses an empty secret now, not at the first connection
    await transport.#open();
    return transport;
  }

  /** The port that it listens at. */
  get port(): number {
    invariant(this.#listener !== undefined, 'the transport is not open');
    return this.#listener.port;
  }

  send(node: NodeId, envelopes: readonly Envelope<M>[]): void {
    const link = this.#links.get(node);
    invariant(link !== undefined, () => `${node} is not a peer`);
    link.send(envelopes);
  }

  linkUp(node: NodeId): boolean {
    return this.#links.get(node)?.up ?? false;
  }

  silentMs(node: NodeId): number | undefined {
    const link = this.#links.get(node);
    return link?.up === true ? link.connection?.silentMs : undefined;
  }

  links(): LinkStatus[] {
    return [...this.#links.values()].map((link) => link.status());
  }

  /** The number of ended connections, by the code of their end: refused strangers and failed attempts included. */
  connectionEnds(): Record<string, number> {
    return Object.fromEntries(this.#ends);
  }

  /** The connections from outside. */
  incoming(): IncomingConnections {
    invariant(this.#listener !== undefined, 'the transport is not open');
    return { states: this.#listener.counts(), crowded: this.#ends.get(CROWDED) ?? 0 };
  }

  /**
   * Replaces the connections of all links, one after the other: certificates, and what the hello reports of this node,
   * are then the present ones. A link is up all the time, as its old connection ends when the new one is accepted.
   * Links that are down are dialled at once.
   */
  renew(): void {
    for (const node of this.#links.keys()) this.#renewals.add(node);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #open(): Promise<void> {
    const { listen, tls } = this.#options;
    this.#listener = await Listener.open(
      { listen, tls, tuning: this.#tuning },
      {
        accept: (incoming) => this.#accept(incoming),
        failed: (error) => this.#failed(error),
        crowded: (address) => this.#crowded(address),
      },
    );
    this.#unwatch = tls?.certificates.onChange(() => {
      this.#dropStrangers(tls);
      this.renew();
    });
    this.#tickedAt = performance.now();
    this.#keepAlive = setInterval(() => this.#tick(), this.#tuning.pingIntervalMs);
    for (const dialer of this.#dialers.values()) dialer.start();
  }

  async #close(): Promise<void> {
    this.#stopped = true;
    const connections = [...this.#connections.keys()];
    clearInterval(this.#keepAlive);
    this.#unwatch?.();
    this.#renewals.stop();
    for (const dialer of this.#dialers.values()) dialer.stop();
    for (const connection of connections) connection.close('GOING_AWAY', 'the node shuts down');
    await this.#listener?.close();
    await Promise.all(connections.map(({ gone }) => gone));
  }

  #renew(node: NodeId): void {
    const dialer = this.#dialers.get(node);
    if (dialer === undefined) this.#links.get(node)?.connection?.askForRenewal();
    else dialer.renew();
  }

  #addPeer(peer: PeerAddress): void {
    const { self, codec, hlc, events, wallClock = Date.now, random = Math.random } = this.#options;
    const { maxFrameBytes } = this.#tuning;
    const measures = events.sent !== undefined;
    const packer = new Packer(self, peer.node, { codec, hlc, maxFrameBytes, measures });
    this.#links.set(peer.node, new Link({ node: peer.node, packer, events, log: this.#log, wallClock }));
    if (dials(self, peer.node)) this.#dialers.set(peer.node, new Dialer(() => this.#dial(peer), this.#tuning, random));
  }

  #dial({ node, url }: PeerAddress): void {
    const { tls } = this.#options;
    const secure = tls === undefined ? {} : dialOptions(tls, node);
    const socket = new WebSocket(url, { followRedirects: false, ...socketOptions(this.#tuning), ...secure });
    const handshake = this.#handshake({ role: 'initiator', expected: node });
    const connection = this.#connect(socket, node, handshake, () => undefined);
    socket.once('upgrade', ({ socket: carrier }) => {
      const isOpen = this.#connections.has(connection);
      if (isOpen && carrier instanceof TLSSocket) this.#connections.set(connection, carrier.getPeerX509Certificate());
    });
  }

  #accept({ socket, presented, trust }: Incoming): void {
    const handshaking = [...this.#connections.keys()].filter(({ peer }) => peer === undefined).length;
    const connection = this.#connect(
      socket,
      undefined,
      this.#handshake({ role: 'acceptor', admit: (peer) => this.#admit(peer, presented?.certificate) }),
      trust,
    );
    this.#connections.set(connection, presented?.certificate);
    if (presented?.refusal !== undefined) connection.close('PEER_REFUSED', presented.refusal);
    else if (this.#stopped) connection.close('GOING_AWAY', 'the node shuts down');
    else if (handshaking >= this.#tuning.maxHandshakes) connection.close('TOO_MANY_HANDSHAKES', 'try again later');
  }

  #handshake(options: Pick<HandshakeOptions, 'role' | 'expected' | 'admit'>): Handshake {
    const { self, storeId, version = PROTOCOL_VERSION, clusterHash, hlc } = this.#options;
    const { wallClock = Date.now, secret, secondSecret } = this.#options;
    const wallMs = Math.max(0, Math.floor(wallClock()));
    const protection = this.#options.protection?.() ?? UNPROTECTED;
    const info: PeerInfo = { nodeId: self, storeId, version, clusterHash, hlc: hlc(), protection, wallMs };
    return new Handshake({ ...options, self: info, secret, secondSecret, nonce: randomNonce() });
  }

  #connect(socket: WebSocket, dialled: NodeId | undefined, handshake: Handshake, trust: () => void): Connection {
    const delayMs = dialled === undefined ? 0 : this.#delayTo(dialled);
    const connection = new Connection(socket, handshake, this.#tuning, delayMs, {
      opened: (opened, peer) => {
        const refusal = this.#options.events.meets?.(peer, opened.ageMs);
        if (refusal !== undefined) {
          opened.refuse('CLOCK_DRIFT', refusal);
          return;
        }
        trust();
        opened.delayMs = this.#delayTo(peer.nodeId);
        this.#dialers.get(peer.nodeId)?.connected();
        this.#links.get(peer.nodeId)!.attach(opened, peer);
      },
      received: (from, bytes) => this.#links.get(from.peer!.nodeId)!.receive(from, bytes),
      renewalAsked: (from) => this.#renewals.add(from.peer!.nodeId),
      roundTrip: (from, ms) => this.#links.get(from.peer!.nodeId)!.counters.roundTrip(ms),
      closed: (closed, end) => this.#ended(closed, dialled, end),
    });
    this.#connections.set(connection, undefined);
    return connection;
  }

  #delayTo(peer: NodeId): number {
    return this.#options.delayMs?.(this.#options.self, peer) ?? 0;
  }

  /** Whether a node with a valid proof may link from outside. @param certificate what it presented under TLS */
  #admit(peer: PeerInfo, certificate: X509Certificate | undefined): Refusal | undefined {
    const refuse = (detail: string): Refusal => ({ code: 'PEER_REFUSED', detail });
    const { tls } = this.#options;
    const another = tls && namesAnother(certificate?.subjectAltName, nodeUri(tls.cluster, peer.nodeId));
    if (another !== undefined) return refuse(another);
    const link = this.#links.get(peer.nodeId);
    if (link === undefined) return refuse(`${peer.nodeId} is not in the cluster file`);
    if (dials(this.#options.self, peer.nodeId)) return refuse('the node with the lower id dials');
    const other = link.connection?.peer?.storeId ?? peer.storeId;
    // The same store is the same node, back before its old connection was found dead. Another store is another process.
    return other === peer.storeId ? undefined : refuse(`another ${peer.nodeId} is linked, with the store ${other}`);
  }

  /** Authorities were dropped: links with certificates of theirs end. All others stay up. */
  #dropStrangers({ certificates: { current } }: PeerTls): void {
    for (const [connection, certificate] of [...this.#connections]) {
      if (certificate === undefined || isIssuedBy(certificate, current.ca)) continue;
      connection.close('CERTIFICATE_DROPPED', 'the authority of the certificate of the peer is accepted no more');
    }
  }

  #failed({ code = 'TLS_FAILED', message }: NodeJS.ErrnoException): void {
    this.#count(code);
    this.#log('debug', 'connection ended before TLS was agreed on', { code, detail: message });
  }

  /** Logged once in a while: a flood must not fill the log. */
  #crowded(address: string): void {
    this.#count(CROWDED);
    const now = performance.now();
    if (now - this.#crowdedAt < CROWDED_LOG_MS) return;
    this.#crowdedAt = now;
    const { maxStrangers, maxStrangersPerAddress } = this.#tuning;
    const fields = { address, maxStrangers, maxStrangersPerAddress, ended: this.#ends.get(CROWDED) };
    this.#log('warn', 'too many connections to the peering port have no proof: new ones are ended', fields);
  }

  #count(code: string): void {
    this.#ends.set(code, (this.#ends.get(code) ?? 0) + 1);
  }

  #ended(connection: Connection, dialled: NodeId | undefined, end: ConnectionEnd): void {
    this.#connections.delete(connection);
    this.#count(end.code);
    if (this.#stopped) return;
    if (dialled !== undefined) this.#dialers.get(dialled)?.ended(end.code);
    const node = dialled ?? end.claimed;
    this.#log('debug', 'connection ended', { peer: node, code: end.code, detail: end.detail });
    if (node !== null) this.#links.get(node)?.ended(connection, end);
  }

  #tick(): void {
    const now = performance.now();
    const stalled = now - this.#tickedAt > this.#tuning.pingIntervalMs * 2;
    this.#tickedAt = now;
    for (const connection of this.#connections.keys()) connection.keepAlive(stalled);
  }
}

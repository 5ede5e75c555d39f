import { type AnyMessage, invariant, type NodeId, type Timestamp, type WallMs } from '@isochron/core';
import { type FrameCodec, type PeerInfo, PROTOCOL_VERSION, UNPROTECTED } from '@isochron/wire';
import { LinkCounters } from './counters.js';
import { DelayLine, realTime, type Scheduler } from './delay-line.js';
import type { Envelope } from './envelope.js';
import { type PackedFrame, Packer } from './packing.js';
import type { LinkStatus, Transport, TransportEvents } from './transport.js';

export interface InMemoryNetworkOptions<M extends AnyMessage> {
  readonly codec: FrameCodec<M>;
  /** Carries the frames; real time by default. Tasks of the same time must run in the order they were given. */
  readonly scheduler?: Scheduler;
  /** Wall clock for `LinkStatus.since`; the system's by default. */
  readonly wallClock?: () => WallMs;
}

/** A node that joins the network. */
export interface InMemoryNode<M extends AnyMessage> {
  readonly node: NodeId;
  readonly events: TransportEvents<M>;
  readonly hlc: () => Timestamp;
  readonly storeId?: string;
}

/** One node's end of a link. */
interface Port<M extends AnyMessage> {
  readonly packer: Packer<M>;
  readonly counters: LinkCounters;
  /** Frames on their way to the peer. */
  readonly line: DelayLine<PackedFrame<M>>;
  up: boolean;
}

/**
 * Links inside one process. Every frame goes through the codec, as on a socket. Nodes that join are linked to all
 * others; links are FIFO in each direction and lose frames in flight when they are cut.
 */
export class InMemoryNetwork<M extends AnyMessage> {
  readonly #options: InMemoryNetworkOptions<M>;
  readonly scheduler: Scheduler;
  readonly #nodes = new Map<NodeId, InMemoryTransport<M>>();
  readonly #cuts = new Set<string>();
  readonly #delays = new Map<string, number>();

  constructor(options: InMemoryNetworkOptions<M>) {
    this.#options = options;
    this.scheduler = options.scheduler ?? realTime;
  }

  /** A transport for the node. After its `close` the node may join again, as after a restart. */
  join(options: InMemoryNode<M>): Transport<M> {
    const { node } = options;
    invariant(!this.#nodes.has(node), () => `${node} has joined already`);
    const { codec, wallClock = Date.now } = this.#options;
    const transport = new InMemoryTransport<M>(options, codec, wallClock, this);
    this.#nodes.set(node, transport);
    for (const other of this.#nodes.keys()) this.#connect(node, other);
    return transport;
  }

  /** Drops the link between two nodes, with its frames in flight, until `heal`. */
  cut(a: NodeId, b: NodeId): void {
    this.#cuts.add(pairOf(a, b));
    this.#nodes.get(a)?.drop(b);
    this.#nodes.get(b)?.drop(a);
  }

  /** Lets two nodes link again. */
  heal(a: NodeId, b: NodeId): void {
    this.#cuts.delete(pairOf(a, b));
    this.#connect(a, b);
  }

  /** Sets the one-way delay of frames sent from now on. */
  setDelay(from: NodeId, to: NodeId, delayMs: number): void {
    this.#delays.set(directionOf(from, to), delayMs);
  }

  /** The one-way delay, in ms. */
  delayMs(from: NodeId, to: NodeId): number {
    return this.#delays.get(directionOf(from, to)) ?? 0;
  }

  /** Delivers a frame to the node at the other end. */
  deliver(from: NodeId, to: NodeId, frame: PackedFrame<M>): void {
    this.#nodes.get(to)?.receive(from, frame);
  }

  /** Removes a node from the network; the others are notified as soon as the scheduler runs. */
  leave(node: NodeId): void {
    this.#nodes.delete(node);
    for (const other of this.#nodes.values()) other.silence(node);
    this.scheduler.after(0, () => {
      for (const other of this.#nodes.values()) other.drop(node);
    });
  }

  #connect(a: NodeId, b: NodeId): void {
    this.scheduler.after(0, () => {
      const [one, two] = [this.#nodes.get(a), this.#nodes.get(b)];
      if (a === b || one === undefined || two === undefined || this.#cuts.has(pairOf(a, b))) return;
      if (one.linkUp(b)) return;
      // Both ends are up before either is notified: it may send at once.
      one.raise(b);
      two.raise(a);
      one.announce(two);
      two.announce(one);
    });
  }
}

const directionOf = (from: NodeId, to: NodeId): string => `${from}\n${to}`;
const pairOf = (a: NodeId, b: NodeId): string => (a < b ? directionOf(a, b) : directionOf(b, a));

class InMemoryTransport<M extends AnyMessage> implements Transport<M> {
  readonly #ports = new Map<NodeId, Port<M>>();
  #closed = false;

  constructor(
    readonly options: InMemoryNode<M>,
    readonly codec: FrameCodec<M>,
    readonly wallClock: () => WallMs,
    readonly network: InMemoryNetwork<M>,
  ) {}

  get info(): PeerInfo {
    const { node, storeId = `store-of-${node}`, hlc } = this.options;
    return {
      nodeId: node,
      storeId,
      version: PROTOCOL_VERSION,
      clusterHash: 'in-memory',
      protection: UNPROTECTED,
      hlc: hlc(),
      wallMs: this.wallClock(),
    };
  }

  send(node: NodeId, envelopes: readonly Envelope<M>[]): void {
    const port = this.#port(node);
    if (!port.up) {
      port.counters.dropped += envelopes.length;
      return;
    }
    for (const frame of port.packer.pack(envelopes)) {
      port.counters.count('sent', frame.bytes.length, frame.envelopes.length);
      this.options.events.sent?.(node, frame);
      port.line.push(frame, this.network.delayMs(this.options.node, node));
    }
  }

  linkUp(node: NodeId): boolean {
    return this.#ports.get(node)?.up ?? false;
  }

  silentMs(node: NodeId): number | undefined {
    return this.linkUp(node) ? 0 : undefined;
  }

  links(): LinkStatus[] {
    return [...this.#ports].map(([node, { counters }]) => counters.status(node));
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const port of this.#ports.values()) lower(port);
    this.network.leave(this.options.node);
  }

  receive(from: NodeId, frame: PackedFrame<M>): void {
    const { packer, counters } = this.#port(from);
    const { hlc, envelopes } = packer.unpack(frame.bytes);
    counters.count('received', frame.bytes.length, envelopes.length);
    const { events } = this.options;
    if (events.refuses?.(from, hlc, envelopes) === undefined) events.frame(from, hlc, envelopes);
    else this.network.cut(this.options.node, from);
  }

  raise(node: NodeId): void {
    const port = this.#port(node);
    port.up = true;
    port.counters.turned(true);
    port.counters.roundTrip(
      this.network.delayMs(this.options.node, node) + this.network.delayMs(node, this.options.node),
    );
  }

  announce(peer: InMemoryTransport<M>): void {
    if (this.linkUp(peer.options.node)) this.options.events.link(peer.options.node, true, peer.info);
  }

  /** Drops the frames on their way to the node. */
  silence(node: NodeId): void {
    this.#ports.get(node)?.line.clear();
  }

  drop(node: NodeId): void {
    const port = this.#ports.get(node);
    if (port?.up !== true) return;
    lower(port);
    this.options.events.link(node, false);
  }

  #port(node: NodeId): Port<M> {
    const known = this.#ports.get(node);
    if (known !== undefined) return known;
    const { node: self, hlc, events } = this.options;
    const measures = events.sent !== undefined;
    const maxFrameBytes = Number.POSITIVE_INFINITY;
    const port: Port<M> = {
      packer: new Packer(self, node, { codec: this.codec, hlc, maxFrameBytes, measures }),
      counters: new LinkCounters(this.wallClock),
      line: new DelayLine(this.network.scheduler, (frame) => this.network.deliver(self, node, frame)),
      up: false,
    };
    this.#ports.set(node, port);
    return port;
  }
}

function lower<M extends AnyMessage>(port: Port<M>): void {
  if (!port.up) return;
  port.up = false;
  port.line.clear();
  port.counters.turned(false);
}

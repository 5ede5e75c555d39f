/**
 * Sockets between SDK clients and nodes: messages cross encoded, and in order; messages in flight are lost when a
 * socket breaks.
 */
import type { AnyMessage, NodeId, Random, RegionId } from '@isochron/core';
import { isLarge, type Outgoing, PlainFrames, type ServedConnection, type SessionLink } from '@isochron/sessions';
import { exponential } from '@isochron/simulated-world/draws';
import type { VirtualTime } from '@isochron/simulated-world/virtual-time';
import type { SimNode } from '../world/node.js';

/** The state of the world that the network of clients depends on. */
export interface Reachability<M extends AnyMessage> {
  node(id: NodeId): SimNode<M>;
  /** Whether a client of a region can reach a node's machine at the moment. */
  reaches(region: RegionId, node: NodeId): boolean;
  /** Mean one-way delay. */
  delayMs(region: RegionId, node: NodeId): number;
}

/** The longest time that an end of a broken socket takes to notice. */
const NOTICE_MS = 300;
/** A connection attempt fails after this time without an answer. */
const CONNECT_TIMEOUT_MS = 400;

/** The client's end of a socket. */
export interface SocketUser {
  opened(): void;
  message(text: string): void;
  /** Called once. */
  closed(code: number | undefined): void;
}

/** The sockets of a cluster's clients. */
export class SocketNetwork<M extends AnyMessage> {
  readonly #open = new Set<ClientSocket<M>>();

  constructor(
    readonly time: VirtualTime,
    readonly random: Random,
    readonly world: Reachability<M>,
  ) {}

  connect(region: RegionId, id: NodeId, user: SocketUser): ClientSocket<M> {
    const socket = new ClientSocket(this, region, this.world.node(id), user);
    this.#open.add(socket);
    this.time.after(socket.delay(), () => {
      const admitted = this.world.reaches(region, id) && socket.admit();
      if (!admitted) this.time.after(socket.node.up ? CONNECT_TIMEOUT_MS : socket.delay(), () => socket.end());
    });
    return socket;
  }

  /** A node's process is gone, and its sockets with it. */
  crashed(id: NodeId): void {
    this.breakWhere((socket) => socket.node.id === id);
  }

  /** Breaks sockets; both ends notice after a while. */
  breakWhere(which: (socket: ClientSocket<M>) => boolean): void {
    for (const socket of [...this.#open]) if (which(socket)) socket.break();
  }

  noticeMs(): number {
    return this.random.float() * NOTICE_MS;
  }

  ended(socket: ClientSocket<M>): void {
    this.#open.delete(socket);
  }
}

const FRAMES = new PlainFrames();

export class ClientSocket<M extends AnyMessage> implements SessionLink {
  readonly isPaused = false;
  readonly address = '';
  #served: ServedConnection | undefined;
  #whole = true;
  #carriesAnswers = true;
  #ended = false;
  #lastUp = 0;
  #lastDown = 0;
  #out: string[] = [];
  readonly #incarnation: number;

  constructor(
    readonly network: SocketNetwork<M>,
    readonly region: RegionId,
    readonly node: SimNode<M>,
    readonly user: SocketUser,
  ) {
    this.#incarnation = node.incarnation;
  }

  delay(): number {
    const mean = this.network.world.delayMs(this.region, this.node.id);
    return mean / 2 + exponential(this.network.random, mean / 2);
  }

  /** The node takes the connection. False when no process runs there. */
  admit(): boolean {
    if (!this.#whole || this.node.incarnation !== this.#incarnation) return false;
    this.#served = this.node.admit(this);
    if (this.#served === undefined) return false;
    this.#down(() => this.user.opened());
    return true;
  }

  /** The client sends a message. */
  write(text: string): void {
    const { time } = this.network;
    this.#lastUp = Math.max(this.#lastUp, time.now + this.delay());
    time.at(this.#lastUp, () => this.#atNode((served) => served.receive(JSON.parse(text))));
  }

  /** The node sends: data that it sends at one time leave as one message. */
  send(outgoing: Outgoing): void {
    this.#out.push(JSON.stringify(isLarge(outgoing) ? outgoing.encode(FRAMES) : outgoing));
    if (this.#out.length === 1) this.network.time.after(0, () => this.#flush());
  }

  /** The node closes it. */
  close(code: number): void {
    this.#flush();
    this.#down(() => this.end(code));
    this.#gone();
  }

  /** The client closes it. */
  leave(): void {
    if (this.#ended) return;
    this.#lastUp = Math.max(this.#lastUp, this.network.time.now + this.delay());
    this.network.time.at(this.#lastUp, () => this.#gone());
    this.network.time.after(0, () => this.end(1000));
  }

  /** The network loses it; the ends notice later. */
  break(): void {
    if (!this.#whole) return;
    this.#whole = false;
    const { time } = this.network;
    time.after(this.network.noticeMs(), () => this.end());
    time.after(this.network.noticeMs(), () => this.#gone());
  }

  /** Loses all messages of the node, until the socket breaks. */
  loseAnswers(): void {
    this.#carriesAnswers = false;
  }

  /** The client's end is closed. */
  end(code?: number): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#whole = false;
    this.network.ended(this);
    this.user.closed(code);
  }

  #flush(): void {
    const frames = this.#out;
    this.#out = [];
    if (frames.length > 0)
      this.#down(() => this.user.message(frames.length === 1 ? frames[0]! : `[${frames.join(',')}]`));
  }

  #down(run: () => void): void {
    const { time } = this.network;
    this.#lastDown = Math.max(this.#lastDown, time.now + this.delay());
    time.at(this.#lastDown, () => {
      if (this.#whole && this.#carriesAnswers && !this.#ended) run();
    });
  }

  /** The node's end is closed. */
  #gone(): void {
    const served = this.#served;
    this.#served = undefined;
    if (served !== undefined && this.node.up && this.node.incarnation === this.#incarnation) served.disconnected();
  }

  #atNode(run: (served: ServedConnection) => void): void {
    if (!this.#whole) return;
    this.node.whenRunning(this.#incarnation, () => {
      if (this.#served !== undefined) run(this.#served);
    });
  }
}

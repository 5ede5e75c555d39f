/** The network between clients and nodes. */
import type { AnyMessage, NodeId, Random, RegionId, Timestamp, Topology } from '@isochron/core';
import { exponential } from '../engine/draws.js';
import type { VirtualTime } from '../engine/virtual-time.js';
import type { SimNode } from '../world/node.js';
import type { Connection } from './io.js';

/** What the client network knows of the world. */
export interface Reachability<M extends AnyMessage> {
  readonly topology: Topology;
  node(id: NodeId): SimNode<M>;
  /** Whether a client of a region gets through to a node's machine at the moment. */
  reaches(region: RegionId, node: NodeId): boolean;
  /** Mean one-way delay. */
  delayMs(region: RegionId, node: NodeId): number;
}

/** How long an end of a broken connection takes to notice at most. */
const NOTICE_MS = 300;
/** An address that does not answer is given up after this time. */
const CONNECT_TIMEOUT_MS = 400;

export class ClientNetwork<M extends AnyMessage> {
  readonly #open = new Set<ClientConnection<M>>();
  readonly #ports = new Map<NodeId, Map<number, (answer: M) => void>>();
  #lastRef = 0;

  constructor(
    readonly time: VirtualTime,
    readonly random: Random,
    readonly world: Reachability<M>,
    readonly requestOf: (message: M) => number | undefined,
  ) {}

  get topology(): Topology {
    return this.world.topology;
  }

  /** Tries to connect; calls back with the connection and the node's stable time, or undefined. */
  connect(region: RegionId, id: NodeId, done: (opened?: { connection: ClientConnection<M>; ust: Timestamp }) => void) {
    const node = this.world.node(id);
    const delay = () => this.delay(region, id);
    this.time.after(delay(), () => {
      const ready = this.world.reaches(region, id) && node.protocol?.ready(node.clock.now()) === true;
      if (!ready) {
        this.time.after(node.up ? CONNECT_TIMEOUT_MS : delay(), () => done());
        return;
      }
      const connection = new ClientConnection(this, region, node);
      const ust = node.protocol!.ust();
      this.#open.add(connection);
      this.time.after(delay(), () => done({ connection, ust }));
    });
  }

  /** What does not answer a node has changed: it reports that to its clients. */
  reported(id: NodeId): void {
    const { regions } = this.world.node(id).unresponsive;
    for (const connection of this.#open) {
      if (connection.node === id)
        this.time.after(this.world.delayMs(connection.clientRegion, id), () => connection.reported(regions));
    }
  }

  /** A node's process is gone: so are its connections and whom it owed answers. */
  crashed(id: NodeId): void {
    this.#ports.delete(id);
    this.breakWhere((connection) => connection.node === id);
  }

  /** Breaks connections; their clients notice after a while. */
  breakWhere(which: (connection: ClientConnection<M>) => boolean): void {
    for (const connection of [...this.#open]) if (which(connection)) connection.break(this.random.float() * NOTICE_MS);
  }

  delay(region: RegionId, node: NodeId): number {
    const mean = this.world.delayMs(region, node);
    return mean / 2 + exponential(this.random, mean / 2);
  }

  /** Hands a request to the port of a node. */
  enter(node: SimNode<M>, request: (ref: number) => M, onAnswer: (answer: M) => void): void {
    this.#lastRef = (this.#lastRef + 1) % 2 ** 31;
    let port = this.#ports.get(node.id);
    if (port === undefined) {
      port = new Map();
      this.#ports.set(node.id, port);
      const pending = port;
      node.port.onAnswer = (message) => this.#answer(pending, message);
    }
    port.set(this.#lastRef, onAnswer);
    node.request(request(this.#lastRef), { node: node.id, machine: 'coordinator' });
  }

  closed(connection: ClientConnection<M>): void {
    this.#open.delete(connection);
  }

  #answer(pending: Map<number, (answer: M) => void>, message: M): void {
    const ref = this.requestOf(message);
    if (ref === undefined) return;
    const onAnswer = pending.get(ref);
    pending.delete(ref);
    onAnswer?.(message);
  }
}

/** FIFO in both directions; what is in flight when it breaks is lost. */
export class ClientConnection<M extends AnyMessage> implements Connection<M> {
  open = true;
  #whole = true;
  #lastRequest = 0;
  #lastAnswer = 0;
  readonly #life: number;
  #unresponsive: readonly RegionId[];
  readonly #waiting = new Set<(answer: M | undefined) => void>();

  constructor(
    readonly network: ClientNetwork<M>,
    readonly clientRegion: RegionId,
    readonly host: SimNode<M>,
  ) {
    this.#life = host.life;
    this.#unresponsive = host.unresponsive.regions;
  }

  get node(): NodeId {
    return this.host.id;
  }

  get region(): RegionId {
    return this.host.region;
  }

  get avoid(): readonly RegionId[] {
    const { regions } = this.network.topology;
    return regions.every((region) => this.#unresponsive.includes(region)) ? [] : this.#unresponsive;
  }

  /** The node's report has arrived. */
  reported(regions: readonly RegionId[]): void {
    if (this.#whole) this.#unresponsive = regions;
  }

  ask(request: (ref: number) => M, onAnswer: (answer: M | undefined) => void): void {
    if (!this.open) {
      onAnswer(undefined);
      return;
    }
    const { time } = this.network;
    let waiting = true;
    const settle = (answer: M | undefined) => {
      if (!waiting) return;
      waiting = false;
      this.#waiting.delete(settle);
      onAnswer(answer);
    };
    this.#waiting.add(settle);
    this.#lastRequest = Math.max(this.#lastRequest, time.now + this.#delay());
    time.at(this.#lastRequest, () => {
      if (!this.#whole || !this.host.up || this.host.life !== this.#life) return;
      this.network.enter(this.host, request, (answer) => {
        this.#lastAnswer = Math.max(this.#lastAnswer, time.now + this.#delay());
        time.at(this.#lastAnswer, () => {
          if (this.#whole) settle(answer);
        });
      });
    });
  }

  /** The network loses it; the client notices later. */
  break(noticeMs: number): void {
    if (!this.#whole) return;
    this.#whole = false;
    this.network.time.after(noticeMs, () => this.close());
  }

  close(): void {
    this.#whole = false;
    if (!this.open) return;
    this.open = false;
    this.network.closed(this);
    for (const settle of [...this.#waiting]) settle(undefined);
  }

  #delay(): number {
    return this.network.delay(this.clientRegion, this.host.id);
  }
}

/** The whole simulated world: nodes, links, disks, clocks and the network of clients, as a plan describes them. */
import {
  type AnyMessage,
  type DurableFact,
  type DurableRecord,
  factsOf,
  type NodeId,
  type Random,
  type RegionId,
  type Timestamp,
  Topology,
} from '@isochron/core';
import { type Address, DEFAULT_SETTINGS, type Envelope } from '@isochron/protocols';
import { type AccessRules, CREDITS, Policy } from '@isochron/sessions';
import { exponential } from '@isochron/simulated-world/draws';
import { Link } from '@isochron/simulated-world/link';
import { VirtualTime } from '@isochron/simulated-world/virtual-time';
import { WallClock } from '@isochron/simulated-world/wall-clock';
import type { MemoryState } from '@isochron/storage';
import { SocketNetwork } from '../clients/sockets.js';
import { Streams } from '../engine/streams.js';
import { albumRules } from '../plan/album-rules.js';
import type { Plan } from '../plan/plan.js';
import type { ProtocolAdapter } from '../protocols/adapter.js';
import type { HttpAnswer, HttpRequest } from '../protocols/http.js';
import { Disk } from './disk.js';
import { type Frame, reencoded } from './frame.js';
import { type HttpProcess, type NodeListener, type SessionsProcess, SimNode } from './node.js';

/** No disk takes longer for one sync, however many faults slow it down. */
const MAX_SYNC_MS = 3_000;

/** How long a process that stopped by itself takes to come back. */
const RESTART_MS = 50;

/** Clocks further off than this count as far off: more than any other fault of a clock causes. */
const FAR_OFF_MS = 100_000;

/** How long a process that refused to start waits. */
const RETRY_MS = 500;

/** Receives the events of the whole cluster. */
export interface ClusterListener<M extends AnyMessage> extends NodeListener<M> {
  /** A frame leaves its node: from now on other nodes may receive its promises. */
  leaving(from: NodeId, to: NodeId, envelopes: readonly Envelope<M>[], hlc: Timestamp): void;
  /** A frame has left. */
  left(from: NodeId, to: NodeId, envelopes: readonly Envelope<M>[]): void;
  durable(node: NodeId, records: readonly DurableRecord[]): void;
  /** A node refuses a frame because of its timestamps. */
  refused(node: NodeId, peer: NodeId, why: string): void;
  /** A disk has lost data; `left` is the rest. */
  onDataLoss(node: NodeId, left: MemoryState): void;
}

export class Cluster<M extends AnyMessage> {
  readonly time = new VirtualTime();
  readonly topology: Topology;
  readonly streams: Streams;
  readonly nodes: readonly SimNode<M>[];
  /** Of clients. */
  readonly sockets: SocketNetwork<M>;
  /** How much slower than usual each node's disk is. */
  readonly diskSlowness = new Map<NodeId, number>();
  readonly #byId = new Map<NodeId, SimNode<M>>();
  readonly #links = new Map<NodeId, Map<NodeId, Link<Frame<M>>>>();
  /** Nodes whose disks lost data by a fault, and that have not started over since. */
  readonly #lostData = new Set<NodeId>();
  /** Nodes that never come back. */
  readonly #gone = new Set<NodeId>();
  /** Regions that are cut off, and how often. */
  readonly #isolated = new Map<RegionId, number>();
  readonly #access: AccessRules | undefined;

  constructor(
    readonly plan: Plan,
    readonly adapter: ProtocolAdapter<M>,
    readonly listener: ClusterListener<M>,
  ) {
    this.topology = Topology.of(plan.cluster);
    this.streams = new Streams(plan.seed);
    this.#access = accessOf(plan, this.topology);
    this.nodes = this.topology.nodes.map((id, i) => this.#node(id, i));
    for (const node of this.nodes) {
      this.#byId.set(node.id, node);
      this.#links.set(node.id, new Map());
    }
    this.nodes.forEach((a, i) => {
      for (const b of this.nodes.slice(i + 1)) {
        const link = this.#link(a, b);
        this.#links.get(a.id)!.set(b.id, link);
        this.#links.get(b.id)!.set(a.id, link);
      }
    });
    this.sockets = new SocketNetwork(this.time, this.streams.of('sockets'), this);
  }

  /** Starts every node and lets the links connect. */
  start(): void {
    for (const node of this.nodes) node.boot();
    for (const link of this.#allLinks()) link.connectSoon();
  }

  node(id: NodeId): SimNode<M> {
    return this.#byId.get(id)!;
  }

  link(a: NodeId, b: NodeId): Link<Frame<M>> {
    return this.#links.get(a)!.get(b)!;
  }

  linksOf(node: NodeId): Link<Frame<M>>[] {
    return [...this.#links.get(node)!.values()];
  }

  /** Links that lead out of a region. */
  borderOf(region: RegionId): Link<Frame<M>>[] {
    return this.#allLinks().filter(
      ({ a, b }) => (this.topology.regionOf(a.id) === region) !== (this.topology.regionOf(b.id) === region),
    );
  }

  crash(id: NodeId, batchSurvives: boolean): void {
    const node = this.node(id);
    if (!node.up) return;
    node.crash(batchSurvives);
    for (const link of this.linksOf(id)) {
      link.block();
      link.endDied(node);
    }
    this.sockets.crashed(id);
  }

  drain(id: NodeId, done: () => void): void {
    this.node(id).drain(done);
  }

  /**
   * Starts a process if there is none. One that refuses its disk because of its clock is started again, as under a
   * supervisor.
   */
  restart(id: NodeId): void {
    const node = this.node(id);
    if (node.up || this.#gone.has(id)) return;
    if (!node.boot()) {
      this.time.after(RETRY_MS, () => this.restart(id));
      return;
    }
    for (const link of this.linksOf(id)) link.unblock();
  }

  /**
   * Whether a node has reason not to trust its disk: it has no data yet, or a fault has removed some.
   */
  mayQuarantine(id: NodeId): boolean {
    return this.#lostData.has(id) || this.adapter.lacksData(this.node(id).disk.recovered());
  }

  /** As in a driver (D10): the data are set aside, and the node starts on an empty disk. */
  rebuild(id: NodeId): void {
    this.time.after(0, () => {
      this.crash(id, false);
      this.#empty(this.node(id));
      this.time.after(RESTART_MS, () => this.restart(id));
    });
  }

  /**
   * Whether no data are lost when a node loses its own: every partition has another replica, and all other nodes hold
   * theirs. No protocol brings back data that are on no disk.
   */
  maySpare(id: NodeId): boolean {
    const replicated = this.topology.partitionsOn(id).every((p) => this.topology.partitions[p]!.regions.length > 1);
    return replicated && this.nodes.every((node) => !this.mayQuarantine(node.id));
  }

  /** A node dies, and comes back with an older image of its disk, or an empty one. */
  rob(id: NodeId, image: readonly DurableFact[]): void {
    this.crash(id, false);
    const node = this.node(id);
    node.disk.restore(image);
    if (image.length > 0) this.#lostData.add(id);
    this.listener.onDataLoss(id, node.disk.durable);
  }

  /** A node is lost with its disk, for good. */
  lose(id: NodeId): void {
    this.rob(id, []);
    this.#gone.add(id);
  }

  isGone(id: NodeId): boolean {
    return this.#gone.has(id);
  }

  isWhole(): boolean {
    const all = this.topology.nodes.length;
    return this.nodes.every(({ protocol }) => (protocol?.maps.newest.members.length ?? all) === all);
  }

  isEvicted(id: NodeId): boolean {
    const number = this.topology.numberOf(id);
    return this.nodes.some(({ protocol }) => protocol?.maps.newest.evicted?.includes(number));
  }

  /** Whether a node's clock may be set far off: all others are about right, so that most nodes have the right time. */
  mayMisread(id: NodeId): boolean {
    return this.nodes.every((node) => node.id === id || Math.abs(node.clock.errorMs) < FAR_OFF_MS);
  }

  inject(from: Address, to: Address, message: AnyMessage): void {
    const node = this.node(to.node);
    const hlc = node.protocol?.hlc();
    if (hlc === undefined) return;
    node.receive(from.node, { hlc, envelopes: [{ from, to, message: reencoded(this.adapter.schema, message) }] });
  }

  operate({ node: id, machine }: Address, message: AnyMessage): void {
    const from = { node: id, machine: 'driver' };
    this.node(id).deliver([{ from, to: { node: id, machine }, message: reencoded(this.adapter.schema, message) }]);
  }

  isMember(id: NodeId): boolean {
    const newest = this.node(id).protocol?.maps.newest;
    return newest?.members.includes(this.topology.numberOf(id)) ?? true;
  }

  isolate(region: RegionId, isolated: boolean): void {
    this.#isolated.set(region, (this.#isolated.get(region) ?? 0) + (isolated ? 1 : -1));
    for (const link of this.borderOf(region)) {
      if (isolated) link.block();
      else link.unblock();
    }
    this.sockets.breakWhere((socket) => !this.#passes(socket.region, socket.node.region));
  }

  reaches(region: RegionId, node: NodeId): boolean {
    return this.node(node).up && this.#passes(region, this.topology.regionOf(node));
  }

  delayMs(region: RegionId, node: NodeId): number {
    const { delayMs, clientMs } = this.plan.environment;
    const to = this.topology.regions.indexOf(this.topology.regionOf(node));
    return clientMs + delayMs[this.topology.regions.indexOf(region)]![to]!;
  }

  /** Sends a request over HTTP. No answer comes when the node, or the way to it, fails meanwhile. */
  http(random: Random, from: RegionId, to: NodeId, request: HttpRequest, done: (answer: HttpAnswer) => void): void {
    // Callers find another address in place of a node that is gone.
    const id = this.isGone(to) ? this.nodes.find((node) => !this.isGone(node.id))!.id : to;
    const mean = this.delayMs(from, id);
    const delay = () => mean / 2 + exponential(random, mean / 2);
    const node = this.node(id);
    this.time.after(delay(), () => {
      const ready = this.reaches(from, id) && node.protocol?.ready(node.clock.now()) === true;
      if (!ready) {
        this.time.after(delay(), () => done({ status: 'refused', code: 'NOT_READY' }));
        return;
      }
      node.http(request, (answer) => {
        this.time.after(delay(), () => {
          if (this.reaches(from, id)) done(answer);
        });
      });
    });
  }

  /** Each link once, in a fixed order. */
  #allLinks(): Link<Frame<M>>[] {
    return this.nodes.flatMap(({ id }) => this.linksOf(id).filter(({ a }) => a.id === id));
  }

  #empty(node: SimNode<M>): void {
    node.disk.restore([]);
    this.#lostData.delete(node.id);
    this.listener.onDataLoss(node.id, node.disk.durable);
  }

  #passes(from: RegionId, to: RegionId): boolean {
    return from === to || !((this.#isolated.get(from) ?? 0) > 0 || (this.#isolated.get(to) ?? 0) > 0);
  }

  #node(id: NodeId, index: number): SimNode<M> {
    const { environment } = this.plan;
    const clock = new WallClock(this.time, environment.clocks[index]!);
    const random = this.streams.of('disk', id);
    const mean = environment.syncMs[index]!;
    const syncMs = () => Math.min(MAX_SYNC_MS, exponential(random, mean) * (this.diskSlowness.get(id) ?? 1));
    const onDurable = (records: readonly DurableRecord[]) => this.listener.durable(id, records);
    const disk = new Disk(this.time, { syncMs }, environment.lateHorizons, onDurable);
    if (environment.founded) disk.prepare(factsOf(this.adapter.founding));
    return new SimNode<M>(id, this.topology.regionOf(id), clock, disk, {
      time: this.time,
      listener: this.listener,
      random: this.streams.of('reads', id),
      coldReads: environment.coldReads,
      prefetchMs: environment.prefetchMs,
      create: (node) => this.#create(node),
      openHttp: (node, process) => this.#openHttp(node, process),
      openSessions: (node, process) => this.#openSessions(node, process),
      transmit: (from, to, frame) => this.#transmit(from, to, frame),
      topology: this.topology,
      pings: (peer, node) => this.link(peer, node).whole && this.node(peer).up && !this.node(peer).paused,
      operate: (to, message) => this.operate(to, message),
      refuse: (from, peer, why) => {
        this.listener.refused(from.id, peer, why);
        this.link(from.id, peer).drop();
      },
    });
  }

  #openHttp({ id, region, incarnation, clock }: SimNode<M>, process: HttpProcess<M>) {
    const { topology } = this;
    const limits = this.plan.http?.limits ?? {};
    const { outcomeRetentionMs = DEFAULT_SETTINGS.outcomeRetentionMs } = this.plan.settings;
    const now = () => this.time.now;
    return this.adapter.openHttp?.({
      ...process,
      node: id,
      region,
      topology,
      limits,
      outcomeRetentionMs,
      incarnation,
      now,
      wall: () => clock.now(),
    });
  }

  #openSessions({ id, region, incarnation }: SimNode<M>, process: SessionsProcess<M>) {
    const random = this.streams.of('frames', `${id}/${incarnation}`);
    return this.adapter.openSessions({
      ...process,
      node: id,
      region,
      topology: this.topology,
      settings: this.plan.settings,
      credits: this.plan.environment.credits ?? CREDITS,
      requestsPerSecond: this.plan.environment.requestsPerSecond,
      access: this.#access,
      incarnation,
      random: () => random.float(),
    });
  }

  #create(node: SimNode<M>) {
    let recovered = node.disk.recover();
    if (recovered.meta.size > 0 && this.adapter.lacksData(recovered)) {
      this.#empty(node);
      recovered = node.disk.recover();
    }
    return this.adapter.createNode({
      node: node.id,
      diskIsFull: () => node.diskIsFull,
      topology: this.topology,
      settings: this.plan.settings,
      reader: node.disk.reader,
      recovered,
      now: node.clock.now(),
      readings: { wall: () => node.clock.now(), steady: () => this.time.now },
    });
  }

  #transmit(from: SimNode<M>, to: NodeId, frame: Frame<M>): void {
    this.listener.leaving(from.id, to, frame.envelopes, frame.hlc);
    this.link(from.id, to).send(from, this.plan.environment.encoded ? this.#reencoded(frame) : frame);
    this.listener.left(from.id, to, frame.envelopes);
  }

  #reencoded({ hlc, envelopes }: Frame<M>): Frame<M> {
    const { schema } = this.adapter;
    return { hlc, envelopes: envelopes.map((e) => ({ ...e, message: reencoded(schema, e.message) })) };
  }

  #link(a: SimNode<M>, b: SimNode<M>): Link<Frame<M>> {
    const { environment } = this.plan;
    const [i, j] = [a.region, b.region].map((region) => this.topology.regions.indexOf(region)) as [number, number];
    const slow = environment.slowLinks.find((l) => pair(l.a, l.b) === pair(a.id, b.id))?.factor ?? 1;
    const greet = (): boolean => {
      const [one, two] = [a.meets(b), b.meets(a)]; // both receive the other's greeting
      return one && two;
    };
    const pace = { ...environment, delayMs: environment.delayMs[i]![j]! * slow, greet };
    return new Link<Frame<M>>(this.time, this.streams.of('link', pair(a.id, b.id)), pace, a, b);
  }
}

function accessOf({ albums }: Plan, { keyspaces }: Topology): AccessRules | undefined {
  if (albums === undefined) return undefined;
  return { policy: new Policy(albumRules(albums, keyspaces), keyspaces), refused: () => {} };
}

const pair = (a: NodeId, b: NodeId): string => (a < b ? `${a}|${b}` : `${b}|${a}`);

/** One node of the simulated cluster: the real host and machines, on a virtual clock, disk and network. */
import {
  type AnyMessage,
  type DurableRecord,
  IsochronError,
  type NodeId,
  type Random,
  type RegionId,
} from '@isochron/core';
import { type Address, type Envelope, Host, MAPS_MACHINE, type Silent, type Unresponsive } from '@isochron/protocols';
import type { ServedConnection, SessionLink } from '@isochron/sessions';
import type { LinkEnd } from '@isochron/simulated-world/link';
import { WakeTimer } from '@isochron/simulated-world/wake-timer';
import type { WallClock } from '@isochron/simulated-world/wall-clock';
import type { ProtocolNode } from '../protocols/adapter.js';
import type { HttpAnswer, HttpNode, HttpRequest, HttpWorld } from '../protocols/http.js';
import type { SessionsNode, SessionsWorld } from '../protocols/sessions.js';
import type { Disk } from './disk.js';
import type { Frame } from './frame.js';
import { type HealthWorld, SimPeerHealth } from './peer-health.js';
import { type Listener, Tap } from './tap.js';

/** How long a node that closes waits for its clients to leave, ms. */
const LEAVE_MS = 1_000;

/** The parts of the process that the HTTP API of a node uses. */
export type HttpProcess<M extends AnyMessage> = Pick<
  HttpWorld<M>,
  'post' | 'fire' | 'after' | 'ust' | 'map' | 'cutsAfter' | 'latest'
>;

/** The parts of the process that the session frames of a node use. */
export type SessionsProcess<M extends AnyMessage> = Omit<
  SessionsWorld<M>,
  'node' | 'region' | 'topology' | 'settings' | 'credits' | 'requestsPerSecond' | 'access' | 'incarnation' | 'random'
>;

/** The parts of the world that a node uses. */
export interface NodeWorld<M extends AnyMessage> extends HealthWorld {
  readonly listener: NodeListener<M>;
  /** Decides about cold reads. */
  readonly random: Random;
  readonly coldReads: number;
  readonly prefetchMs: number;
  create(node: SimNode<M>): ProtocolNode<M>;
  /** Opens the HTTP API of a process. */
  openHttp(node: SimNode<M>, process: HttpProcess<M>): HttpNode<M> | undefined;
  /** Opens the session frames of a process. */
  openSessions(node: SimNode<M>, process: SessionsProcess<M>): SessionsNode<M>;
  transmit(from: SimNode<M>, to: NodeId, frame: Frame<M>): void;
  /** A request of a node's driver arrives at a machine of the node. */
  operate(to: Address, message: AnyMessage): void;
  /** A node closes its link to a peer. */
  refuse(node: SimNode<M>, peer: NodeId, why: string): void;
}

/** Receives the events of a node, beside those of its machines. */
export interface NodeListener<M extends AnyMessage> extends Listener<M> {
  /** A batch is sent to the disk. */
  persisting(node: NodeId, records: readonly DurableRecord[]): void;
  started(node: NodeId): void;
  crashed(node: NodeId): void;
  failed(node: NodeId, error: unknown): void;
}

export class SimNode<M extends AnyMessage> implements LinkEnd<Frame<M>> {
  up = false;
  incarnation = 0;
  /** Its disk is full: its driver reports that to the machines. */
  diskIsFull = false;
  #host: Host<M> | undefined;
  #protocol: ProtocolNode<M> | undefined;
  #http: HttpNode<M> | undefined;
  #sessions: SessionsNode<M> | undefined;
  #health: SimPeerHealth | undefined;
  readonly #timer: WakeTimer;
  readonly #random: Random;
  /** Number of reasons for the process to stand still, and the events that wait until it goes on. */
  #pauses = 0;
  #later: (() => void)[] = [];

  constructor(
    readonly id: NodeId,
    readonly region: RegionId,
    readonly clock: WallClock,
    readonly disk: Disk,
    readonly world: NodeWorld<M>,
  ) {
    this.#random = world.random;
    this.#timer = new WakeTimer(world.time, () => this.#whenRunning(() => this.#host?.wake()));
  }

  /** The machines of the running process. */
  get protocol(): ProtocolNode<M> | undefined {
    return this.up ? this.#protocol : undefined;
  }

  /** Whether the process stands still. */
  get paused(): boolean {
    return this.#pauses > 0;
  }

  /** The peers that do not answer it, as last reported. */
  get unresponsive(): Unresponsive {
    return this.#health?.unresponsive ?? { nodes: [], regions: [] };
  }

  /**
   * Starts a process on the content of the disk. False when it refuses to start because the disk is ahead of its clock
   * (K5).
   */
  boot(): boolean {
    const { world, id } = this;
    const protocol = this.#create();
    if (protocol === undefined) return false;
    this.incarnation++;
    this.up = true;
    const { incarnation } = this;
    const host = this.#open(incarnation);
    this.#host = host;
    this.#protocol = protocol;
    const process = this.#processOf(host, protocol, incarnation);
    this.#http = world.openHttp(this, process);
    this.#sessions = world.openSessions(this, {
      ...process,
      wall: () => this.clock.now(),
      steady: () => this.world.time.now,
      ready: () => protocol.ready(this.clock.now()),
      served: () => protocol.served(),
      want: (ts) => protocol.want(ts),
      unresponsive: () => this.unresponsive,
    });
    const ofClients = [...(this.#http?.machines ?? []), this.#sessions.machine];
    for (const [name, machine] of [...protocol.machines, ...ofClients]) {
      const alive = () => this.up && this.incarnation === incarnation;
      host.add(name, new Tap({ node: id, machine: name }, machine, world.listener, alive));
    }
    this.#health = new SimPeerHealth(
      id,
      world,
      () => {
        this.#sessions?.sessions.tick(true);
        this.#reportSilent(protocol);
      },
      () => protocol.maps,
    );
    this.#health.start((ms, run) => {
      world.time.after(ms, () => {
        if (this.incarnation === incarnation && this.up) this.#whenRunning(run);
      });
    });
    world.listener.started(id);
    host.run();
    return true;
  }

  /** As the server's driver: the nodes from which nothing comes. */
  #reportSilent({ machines }: ProtocolNode<M>): void {
    if (!machines.some(([name]) => name === MAPS_MACHINE)) return;
    const message: Silent = { type: 'Silent', nodes: this.#health!.silent };
    this.world.operate({ node: this.id, machine: MAPS_MACHINE }, message);
  }

  #create(): ProtocolNode<M> | undefined {
    try {
      return this.world.create(this);
    } catch (error) {
      if (error instanceof IsochronError && error.code === 'CLOCK_BEHIND_DATA') return undefined;
      throw error;
    }
  }

  /** The process dies at once. `batchSurvives`: the batch on its way had reached the disk. */
  crash(batchSurvives: boolean): void {
    this.up = false;
    this.#host?.stop();
    this.#host = undefined;
    this.#protocol = undefined;
    this.#http = undefined;
    this.#sessions = undefined;
    this.#later = [];
    this.#timer.stop();
    this.disk.crash(batchSurvives);
    this.world.listener.crashed(this.id);
  }

  /** The process stands still: all events wait. */
  pause(): void {
    this.#pauses++;
  }

  /** It goes on, with all events that came meanwhile. */
  resume(): void {
    if (--this.#pauses > 0) return;
    const later = this.#later;
    this.#later = [];
    for (const run of later) run();
  }

  link(peer: NodeId, up: boolean): void {
    this.#whenRunning(() => {
      this.#host?.link(peer, up);
      this.#health?.link(peer, up);
    });
  }

  /** As in the server's driver: a refused frame reaches no machine, and its link is closed (K1). */
  receive(peer: NodeId, frame: Frame<M>): void {
    this.#whenRunning(() => {
      this.#health?.receivedFrom(peer);
      const refusal = this.#protocol?.receives(peer, frame.hlc, frame.envelopes);
      if (refusal === undefined) this.#host?.receive(frame.envelopes);
      else this.world.refuse(this, peer, refusal);
    });
  }

  /** Messages of its own driver. */
  deliver(envelopes: Frame<M>['envelopes']): void {
    this.#whenRunning(() => this.#host?.receive(envelopes));
  }

  /** Whether the clocks of a node at the other end of a link that opens are accepted here. */
  meets(peer: SimNode<M>): boolean {
    const greeting = peer.protocol?.greeting();
    return greeting === undefined || this.protocol?.meets(peer.id, greeting) === undefined;
  }

  /** A request over HTTP arrives. */
  http(request: HttpRequest, done: (answer: HttpAnswer) => void): void {
    this.#whenRunning(() => this.#http?.handle(request, done));
  }

  /** A client's socket arrives; undefined where no process takes it. */
  admit(link: SessionLink): ServedConnection | undefined {
    return this.up && !this.paused ? this.#sessions?.sessions.admit(link) : undefined;
  }

  /** An event for a process: it waits while the process stands still, and is lost with it. */
  whenRunning(incarnation: number, run: () => void): void {
    if (this.up && this.incarnation === incarnation) this.#whenRunning(run);
  }

  /** Sends clients elsewhere, and hands over the sessions of HTTP callers; then calls back. */
  drain(done: () => void): void {
    this.#whenRunning(() => {
      const handOver = () => (this.#http === undefined ? done() : this.#http.leave(done));
      this.#sessions?.leave();
      if (this.#sessions === undefined) handOver();
      else this.#sessions.sessions.leave(LEAVE_MS, handOver);
    });
  }

  describe(): object {
    return this.#host?.describe() ?? {};
  }

  #whenRunning(run: () => void): void {
    if (this.#pauses === 0) run();
    else if (this.up) this.#later.push(run);
  }

  #processOf(host: Host<M>, protocol: ProtocolNode<M>, incarnation: number): HttpProcess<M> {
    return {
      post: (envelope) => host.post(envelope),
      fire: (machine, timer) => host.fire(machine, timer),
      latest: () => protocol.latest(),
      ust: () => protocol.ust(),
      map: () => protocol.maps.current.version,
      cutsAfter: (version) => protocol.maps.cutsAfter(version),
      after: (ms, run) => {
        this.world.time.after(ms, () => {
          if (this.incarnation === incarnation && this.up) this.#whenRunning(run);
        });
      },
    };
  }

  #open(incarnation: number): Host<M> {
    const { time, listener } = this.world;
    const living = (run: () => void) => () => {
      if (this.incarnation === incarnation && this.up) this.#whenRunning(run);
    };
    return new Host<M>(this.id, {
      now: () => this.clock.now(),
      persist: (records, done) => {
        if (this.incarnation !== incarnation || !this.up) return; // it died in the turn of this write
        listener.persisting(this.id, records);
        this.disk.persist(records, living(done));
      },
      resident: () => this.world.coldReads === 0 || !this.#random.chance(this.world.coldReads),
      prefetch: (_needs, done) => {
        time.after(this.#random.float() * 2 * this.world.prefetchMs, living(done));
      },
      transmit: (to, envelopes) => this.#transmit(to, envelopes),
      endOfTurn: (run) => {
        time.after(0, living(run));
      },
      wakeAfter: (ms) => {
        if (this.incarnation === incarnation && this.up) this.#timer.wakeAfter(ms);
      },
      fail: (error) => listener.failed(this.id, error),
    });
  }

  #transmit(to: NodeId, envelopes: readonly Envelope<M>[]): void {
    if (!this.up) return; // it died between two frames of one turn
    this.world.transmit(this, to, { hlc: this.#protocol!.hlc(), envelopes });
  }
}

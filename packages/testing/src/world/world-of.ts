/**
 * A small world for claim tests: nodes on a virtual clock, links with delays that can be cut, disks that sync after a
 * delay and lose unsynced writes when a node crashes. Nothing here is random: a test controls every event.
 */
import {
  type AnyMessage,
  type ClusterSpec,
  type DurableRecord,
  type ErrorCode,
  HLC_EPOCH_MS,
  type NodeId,
  type Timestamp,
  Topology,
  type WallMs,
} from '@isochron/core';
import { Host } from '@isochron/protocols/host';
import { ROUNDS_MACHINE } from '@isochron/protocols/kernel/activity';
import type { DriftWatch } from '@isochron/protocols/kernel/drift-watch';
import { HeartbeatCollector, heartbeatsIn } from '@isochron/protocols/kernel/heartbeats';
import type { NodeClock } from '@isochron/protocols/kernel/node-clock';
import type { CommonNodeOptions } from '@isochron/protocols/kernel/node-parts';
import { replicaName } from '@isochron/protocols/kernel/node-state';
import { PeerClocks } from '@isochron/protocols/kernel/peer-clocks';
import type { Membership } from '@isochron/protocols/kernel/replication/membership';
import type { Heartbeat, Heartbeats } from '@isochron/protocols/kernel/replication/messages';
import type { Rebuild } from '@isochron/protocols/kernel/replication/rebuild';
import type { StableTime } from '@isochron/protocols/kernel/replication/stable-time';
import { DEFAULT_SETTINGS, type ProtocolSettings } from '@isochron/protocols/kernel/settings';
import type { Address, Effects, Envelope, Input, Machine } from '@isochron/protocols/machine';
import { VirtualTime } from '@isochron/simulated-world/virtual-time';
import { PlainStore } from './plain-store.js';

/** The parts of the nodes of every family of protocols. */
export interface AnyNode<M extends AnyMessage> {
  readonly clock: NodeClock;
  readonly drift: DriftWatch;
  readonly stable: StableTime;
  readonly membership: Membership;
  readonly rebuild: Rebuild;
  readonly machines: readonly (readonly [name: string, machine: Machine<M>])[];
}

/** A request or an answer of a client. */
type Referring = AnyMessage & { readonly ref: number };

/** Three regions of one node, six partitions, two replicas of each. */
export const THREE_REGIONS: ClusterSpec = {
  regions: ['virginia', 'oregon', 'ireland'].map((id) => ({ id, nodes: [{ id: `${id}-1` }] })),
  keyspaces: [{ name: 'default', partitions: 6, replication: 2 }],
};

/** Collects the answers of coordinators. */
class AnswerCollector<M extends AnyMessage, Response extends Referring> implements Machine<M> {
  readonly answers = new Map<number, Response>();

  step(input: Input<M>, _out: Effects<M>): void {
    if (input.kind !== 'message' || !('ref' in input.message)) return;
    const answer: AnyMessage = input.message;
    this.answers.set((answer as Response).ref, answer as Response);
  }

  invariants(): void {}

  describe(): object {
    return {};
  }
}

/** One node in operation. */
export interface WorldNode<M extends AnyMessage, Response extends Referring, Node> {
  readonly id: NodeId;
  readonly store: PlainStore;
  host: Host<M>;
  parts: Node;
  client: AnswerCollector<M, Response>;
  peers: PeerClocks<M>;
  up: boolean;
  /** When its timer is due, in virtual time; infinite where it has none. */
  wakeMs: number;
  /** Grows with every start, so that messages of a previous incarnation are dropped. */
  incarnation: number;
  /** Offset of its wall clock. */
  skewMs: number;
}

export interface WorldOptions {
  readonly spec?: ClusterSpec;
  readonly settings?: Partial<ProtocolSettings>;
  /** One-way delay of a link. */
  readonly delayMs?: (from: NodeId, to: NodeId) => number;
  readonly syncMs?: number;
  /** The time to load something into memory; 0 when everything is there. */
  readonly prefetchMs?: number;
  /** Nodes start as a new cluster's do, on empty disks; by default as if they had met before. */
  readonly empty?: boolean;
  /** The error of a node's wall clock, from the start on. */
  readonly skewMs?: (node: NodeId) => number;
  /** Nodes check their clocks as a driver lets them (K1, K2); by default the time of each step is taken for right. */
  readonly readings?: boolean;
  /** Receives conflicting writes, under protocols that detect them. */
  readonly conflict?: CommonNodeOptions['conflict'];
  /** Keyspaces in which no write is late (F9). */
  readonly lateInOrder?: readonly string[];
}

/** The facts about its disk that a node gets when it starts (D10). */
type Words = Pick<CommonNodeOptions, 'acceptLoss' | 'setAside'>;

function joinedStore(): PlainStore {
  const store = new PlainStore();
  store.apply({ kind: 'meta', name: 'joined', value: 1 });
  return store;
}

const START = HLC_EPOCH_MS + 1_000_000;
/** Clocks may be wrong by any amount, unless a test sets a limit. */
const WIDE_DRIFT_MS = 600_000;

/** A world of nodes that exchange `M`, of one family of protocols. */
export class WorldOf<
  M extends AnyMessage,
  Request extends M & Referring,
  Response extends M & Referring,
  Node extends AnyNode<M>,
> {
  readonly topology: Topology;
  readonly settings: ProtocolSettings;
  readonly nodes = new Map<NodeId, WorldNode<M, Response, Node>>();
  /** Every message that crossed a link, for tests of the wire. */
  readonly sent: Envelope<M>[] = [];
  /** The same by frame: messages that left one node for another at once. */
  readonly frames: (readonly Envelope<M>[])[] = [];
  /** Durable batches begun, by node. */
  readonly batches = new Map<NodeId, number>();
  failure: unknown;
  /** The node that failed. */
  failedNode: NodeId | undefined;
  /** Why every node refuses new writes (D11). */
  refusal: ErrorCode | undefined;
  readonly #time = new VirtualTime();
  readonly #delayMs: (from: NodeId, to: NodeId) => number;
  readonly #syncMs: number;
  readonly #prefetchMs: number;
  readonly #conflict: CommonNodeOptions['conflict'];
  readonly #lateInOrder: readonly string[];
  readonly #readings: boolean;
  /** Frames that were refused because of their clocks: receiver and reason. */
  readonly refusedFrames: { readonly node: NodeId; readonly from: NodeId; readonly why: string }[] = [];
  #nextRef = 1;
  readonly #cut = new Set<string>();
  /** Sync times of single nodes' disks, in ms; `Infinity` stalls a disk until it has a finite time again. */
  readonly diskMs = new Map<NodeId, number>();
  /** Drops or keeps a message on the wire. */
  filter: (envelope: Envelope<M>) => boolean = () => true;

  /** @param create puts a node's machines together */
  constructor(
    options: WorldOptions,
    readonly create: (options: CommonNodeOptions, store: PlainStore) => Node,
    readonly newest: (message: M) => Timestamp = () => 0,
  ) {
    this.topology = Topology.of(options.spec ?? THREE_REGIONS);
    this.settings = { ...DEFAULT_SETTINGS, maxClockDriftMs: WIDE_DRIFT_MS, ...options.settings };
    this.#delayMs = options.delayMs ?? (() => 1);
    this.#syncMs = options.syncMs ?? 1;
    this.#prefetchMs = options.prefetchMs ?? 0;
    this.#conflict = options.conflict;
    this.#lateInOrder = options.lateInOrder ?? [];
    this.#readings = options.readings ?? false;
    for (const id of this.topology.nodes) {
      this.#boot(id, options.empty ? new PlainStore() : joinedStore(), 1, options.skewMs?.(id) ?? 0);
    }
    for (const a of this.nodes.values()) for (const b of this.nodes.values()) if (a.id < b.id) this.#connect(a, b);
  }

  /** The time of a right clock. */
  get now(): WallMs {
    return START + this.#time.now;
  }

  node(id: NodeId): WorldNode<M, Response, Node> {
    return this.nodes.get(id)!;
  }

  /** Runs until `ms` have passed. */
  run(ms: number): void {
    const end = this.#time.now + ms;
    for (;;) {
      const node = this.#nextToWake(end);
      if (!this.#happens(node?.wakeMs ?? end)) {
        if (node === undefined) return;
        node.wakeMs = Number.POSITIVE_INFINITY;
        node.host.wake();
      }
      if (this.failure !== undefined) throw this.failure;
    }
  }

  /** Runs something later, unless the returned function is called first. */
  after(ms: number, run: () => void): () => void {
    const event = this.#time.after(ms, run);
    return () => this.#time.cancel(event);
  }

  /** Lets the next event happen, if it comes by then. A node's timer comes after every event of its time. */
  #happens(by: number): boolean {
    if (by < this.#time.now) return false;
    let happened = false;
    this.#time.runUntil(by, () => {
      happened = true;
      return true;
    });
    return happened;
  }

  /** Runs until the condition holds; fails after `withinMs` of virtual time. */
  until(condition: () => boolean, withinMs = 60_000): void {
    const end = this.now + withinMs;
    while (!condition()) {
      if (this.now >= end) throw new Error(`the condition did not come true within ${withinMs} virtual ms`);
      this.run(1);
    }
  }

  /** Sends a client's request to a node's coordinator and returns its reference. */
  ask(node: NodeId, request: Omitted<Request>): number {
    const ref = this.#nextRef++;
    const { host } = this.node(node);
    const address = { node, machine: 'coordinator' };
    host.receive([
      {
        to: address,
        from: { node, machine: 'client' },
        message: Object.assign({ ref }, request) as object as Request,
      },
    ]);
    return ref;
  }

  answer(node: NodeId, ref: number): Response | undefined {
    return this.node(node).client.answers.get(ref);
  }

  /** Asks and runs until the answer is there. */
  call<T extends Response['type']>(node: NodeId, request: Omitted<Request>, type?: T): Extract<Response, { type: T }> {
    const ref = this.ask(node, request);
    this.until(() => this.answer(node, ref) !== undefined);
    const answer = this.answer(node, ref)!;
    if (type !== undefined && answer.type !== type) throw new Error(`expected ${type}: ${JSON.stringify(answer)}`);
    return answer as Extract<Response, { type: T }>;
  }

  /** Delivers a message to a machine as if a peer had sent it. */
  inject(to: Address, from: Address, message: M): void {
    this.node(to.node).host.receive([{ to, from, message }]);
  }

  cut(a: NodeId, b: NodeId): void {
    this.#cut.add(pair(a, b));
    if (this.node(a).up) this.node(a).host.link(b, false);
    if (this.node(b).up) this.node(b).host.link(a, false);
  }

  heal(a: NodeId, b: NodeId): void {
    this.#cut.delete(pair(a, b));
    const [one, two] = [this.node(a), this.node(b)];
    if (one.up && two.up) {
      if (!this.#connect(one, two)) this.#cut.add(pair(a, b));
      return;
    }
    if (one.up) one.host.link(b, true);
    if (two.up) two.host.link(a, true);
  }

  /** kill -9: unsynced writes are lost. */
  crash(id: NodeId): void {
    const node = this.node(id);
    node.up = false;
    node.host.stop();
    node.incarnation++;
    for (const other of this.nodes.values()) if (other !== node && other.up) other.host.link(id, false);
  }

  /** Starts a crashed node again, on its disk or on the one given, with the facts about it (D10). */
  restart(id: NodeId, store = this.node(id).store, words: Words = {}): void {
    const { incarnation, skewMs } = this.node(id);
    const node = this.#boot(id, store, incarnation + 1, skewMs, words);
    for (const other of this.nodes.values()) {
      if (other === node || !other.up || this.#cut.has(pair(id, other.id))) continue;
      this.#connect(other, node);
    }
  }

  /** The lowest universal stable time of any running node. */
  ust(): Timestamp {
    return Math.min(...[...this.nodes.values()].filter((n) => n.up).map((n) => n.parts.stable.value));
  }

  /** A link opens, unless one of both refuses the clock of the other one (K1). */
  #connect(a: WorldNode<M, Response, Node>, b: WorldNode<M, Response, Node>): boolean {
    const meets = (one: typeof a, { id, parts }: typeof a) =>
      one.peers.meets(id, { hlc: parts.clock.last, wallMs: parts.drift.wall(this.now) }, this.now);
    const refusals = this.#readings ? [meets(a, b), meets(b, a)] : [];
    if (refusals.some((refusal) => refusal !== undefined)) return false;
    a.host.link(b.id, true);
    b.host.link(a.id, true);
    return true;
  }

  #boot(
    id: NodeId,
    store: PlainStore,
    incarnation: number,
    skewMs: number,
    words: Words = {},
  ): WorldNode<M, Response, Node> {
    let booted: WorldNode<M, Response, Node> | undefined;
    const wall = () => this.now + (booted?.skewMs ?? skewMs);
    const host: Host<M> = new Host(id, {
      now: () => wall(),
      persist: (records, done) => this.#persist(node, incarnation, records, done),
      resident: () => this.#prefetchMs === 0,
      prefetch: (_needs, done) => void this.#time.after(this.#prefetchMs, done),
      transmit: (to, envelopes) => this.#transmit(node, to, envelopes),
      endOfTurn: (run) => run(),
      wakeAfter: (ms) => {
        node.wakeMs = this.now - START + ms;
      },
      fail: (error) => {
        this.failure = error;
        this.failedNode = id;
      },
    });
    const recovered = store.recover();
    const { topology, settings } = this;
    const machines = this.create(
      {
        node: id,
        topology,
        settings,
        reader: store,
        recovered,
        now: this.now + skewMs,
        ...words,
        writable: () => this.refusal,
        ...(this.#readings && { readings: { wall, steady: () => this.#time.now } }),
        ...(this.#conflict && { conflict: this.#conflict }),
        lateInOrder: this.#lateInOrder,
      },
      store,
    );
    const node: WorldNode<M, Response, Node> = {
      id,
      store,
      host,
      parts: machines,
      client: new AnswerCollector(),
      peers: new PeerClocks<M>(machines.clock, machines.drift, this.newest),
      up: true,
      wakeMs: Number.POSITIVE_INFINITY,
      incarnation,
      skewMs,
    };
    booted = node;
    this.nodes.set(id, node);
    for (const [name, machine] of machines.machines) host.add(name, machine);
    host.add('client', node.client);
    host.run();
    return node;
  }

  #persist(
    node: WorldNode<M, Response, Node>,
    incarnation: number,
    records: readonly DurableRecord[],
    done: () => void,
  ): void {
    const batch = [...records];
    this.batches.set(node.id, (this.batches.get(node.id) ?? 0) + 1);
    const sync = (): void => {
      if (node.incarnation !== incarnation || !node.up) return; // unsynced writes are lost with the process
      if (this.diskMs.get(node.id) === Number.POSITIVE_INFINITY) {
        this.#time.after(1, sync);
        return;
      }
      for (const record of batch) node.store.apply(record);
      done();
    };
    const takesMs = this.diskMs.get(node.id) ?? this.#syncMs;
    this.#time.after(Number.isFinite(takesMs) ? takesMs : 1, sync);
  }

  #transmit(from: WorldNode<M, Response, Node>, to: NodeId, envelopes: readonly Envelope<M>[]): void {
    const kept = apart(envelopes).filter((envelope) => this.filter(envelope));
    this.frames.push(kept);
    const incarnations = `${from.incarnation}/${this.nodes.get(to)?.incarnation}`;
    const hlc = from.parts.clock.last;
    this.#time.after(this.#delayMs(from.id, to), () => {
      const target = this.node(to);
      if (
        !target.up ||
        incarnations !== `${from.incarnation}/${target.incarnation}` ||
        this.#cut.has(pair(from.id, to))
      )
        return;
      this.sent.push(...kept);
      const why = target.peers.receives(from.id, hlc, kept, this.now + target.skewMs);
      if (why === undefined) {
        target.host.receive(together(kept));
        return;
      }
      this.refusedFrames.push({ node: to, from: from.id, why });
      this.cut(from.id, to);
    });
  }

  /** The node whose timer is due first, until the end at most. */
  #nextToWake(end: number): WorldNode<M, Response, Node> | undefined {
    let first: WorldNode<M, Response, Node> | undefined;
    for (const node of this.nodes.values()) {
      if (node.up && node.wakeMs <= end && node.wakeMs < (first?.wakeMs ?? Number.POSITIVE_INFINITY)) first = node;
    }
    return first;
  }
}

/** A request as its sender makes it. */
type Omitted<Request extends AnyMessage> = { [R in Request as R['type']]: Omit<R, 'ref'> }[Request['type']];
const pair = (a: NodeId, b: NodeId): string => (a < b ? `${a}|${b}` : `${b}|${a}`);

/** Each heartbeat of a round by itself, so that filters and claims can name its partition. */
function apart<M extends AnyMessage>(envelopes: readonly Envelope<M>[]): Envelope<M>[] {
  return envelopes.flatMap((envelope) => {
    const message: AnyMessage = envelope.message;
    if (!isHeartbeats(message)) return [envelope];
    return heartbeatsIn(message).map((heartbeat) => ({
      to: { node: envelope.to.node, machine: replicaName(heartbeat.partition) },
      from: envelope.from,
      message: heartbeat as AnyMessage as M,
    }));
  });
}

/** As they travel: the heartbeats that were kept of a round, in one message. */
function together<M extends AnyMessage>(envelopes: readonly Envelope<M>[]): Envelope<M>[] {
  const rounds = envelopes.filter(({ from }) => from.machine === ROUNDS_MACHINE);
  const first = rounds.find(({ message }) => message.type === 'Heartbeat');
  if (first === undefined) return [...envelopes];
  const heartbeats = rounds.flatMap(({ message }) => (isHeartbeat(message) ? [message] : []));
  const collector = new HeartbeatCollector(heartbeats[0]!.source);
  for (const heartbeat of heartbeats) collector.add(first.to.node, heartbeat);
  const rest = envelopes.filter(({ from, message }) => from.machine !== ROUNDS_MACHINE || message.type !== 'Heartbeat');
  collector.flush({
    send: (to, message) => rest.push({ to, from: first.from, message: message as AnyMessage as M }),
  });
  return rest;
}

const isHeartbeats = (message: AnyMessage): message is Heartbeats => message.type === 'Heartbeats';
const isHeartbeat = (message: AnyMessage): message is Heartbeat => message.type === 'Heartbeat';

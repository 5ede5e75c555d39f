/** One node: the real host and machines, whose work takes the time that the cost model gives it. */
import type { DurableRecord, NodeId, RecoveredState, RegionId, Timestamp, Topology } from '@isochron/core';
import {
  type Envelope,
  Host,
  type Machine,
  type ProtocolSettings,
  type TransactionMessage,
  type TransactionNode,
} from '@isochron/protocols';
import { CREDITS, isLarge, PlainFrames, type ServedConnection } from '@isochron/sessions';
import type { VirtualTime } from '@isochron/simulated-world/virtual-time';
import { WakeTimer } from '@isochron/simulated-world/wake-timer';
import type { WallClock } from '@isochron/simulated-world/wall-clock';
import type { VersionStore } from '@isochron/storage';
import type { SessionsNode, SessionsWorld } from '../protocols/sessions.js';
import type { NodeMessage } from '../protocols/transactions/message.js';
import { type CostModel, costOf, itemsOf, type Price, Prices } from './cost-model.js';
import { EventLoop } from './event-loop.js';
import { type StepListener, StepTap } from './step-tap.js';

type M = TransactionMessage;
type ServerFrame = ReturnType<PlainFrames['frame']>;

const FRAMES = new PlainFrames();

/** The content of one frame on a link. */
export interface ScaleFrame {
  readonly hlc: Timestamp;
  readonly envelopes: readonly Envelope<M>[];
}

/** The parts of the world that a node uses. */
export interface ScaleWorld {
  readonly time: VirtualTime;
  readonly model: CostModel;
  readonly cores: number;
  readonly topology: Topology;
  readonly settings: ProtocolSettings & Readonly<Record<string, number>>;
  readonly random: () => number;
  /** Receives each step, too. */
  readonly watcher?: StepListener | undefined;
  transmit(from: NodeId, to: NodeId, frame: ScaleFrame): void;
}

/** The way to a client. */
export interface ClientLink {
  /** A node sends a message: frames. */
  sent(message: readonly ServerFrame[]): void;
}

/** The content of a node's disk that has data, and nothing else. */
export const FOUNDED: RecoveredState = { meta: new Map([['joined', 1]]), prepared: [], logEnds: new Map() };

export class ScaleNode {
  readonly loop: EventLoop;
  readonly parts: TransactionNode;
  readonly host: Host<M>;
  readonly #sessions: SessionsNode<NodeMessage>;
  /** Messages of the present turn for each client. */
  readonly #answers = new Map<ClientLink, ServerFrame[]>();
  #answersTurn = 0;
  readonly #steps: Prices;
  readonly #encode: Prices;
  readonly #decode: Prices;
  /** How long its disk has worked, ms. */
  diskMs = 0;

  constructor(
    readonly id: NodeId,
    readonly region: RegionId,
    readonly clock: WallClock,
    readonly store: VersionStore,
    readonly world: ScaleWorld,
    create: () => TransactionNode,
    openFrames: (world: SessionsWorld<NodeMessage>) => SessionsNode<NodeMessage>,
  ) {
    this.loop = new EventLoop(world.time, world.cores, world.model.turnUs);
    const timer = new WakeTimer(world.time, () => this.loop.submit(() => this.host.wake()));
    this.host = new Host<M>(id, {
      now: () => clock.now(),
      persist: (records, done) => this.#persist(records, done),
      resident: () => true,
      prefetch: (_needs, done) => done(),
      transmit: (to, envelopes) => this.#transmit(to, envelopes),
      endOfTurn: (run) => this.loop.lastInTurn(run),
      wakeAfter: (ms) => timer.wakeAfter(ms),
      fail: (error) => {
        throw error;
      },
    });
    this.parts = create();
    const { watcher, model } = world;
    this.#steps = new Prices(model.steps);
    this.#encode = new Prices(model.encode);
    this.#decode = new Prices(model.decode);
    const listener: StepListener = {
      stepping: () => watcher?.stepping(),
      stepped: (kind, items) => {
        watcher?.stepped(kind, items);
        this.#chargePrice(this.#steps.of(kind), items);
      },
    };
    for (const [name, machine] of this.parts.machines) this.host.add(name, new StepTap(name, machine, listener));
    this.#sessions = openFrames(this.#framesWorld());
    const [name, machine] = this.#sessions.machine;
    this.host.add(name, machine as Machine<M>);
    this.loop.submit(() => this.host.run());
  }

  #framesWorld(): SessionsWorld<NodeMessage> {
    const { topology, settings, time, random } = this.world;
    const { clock, maps, stable } = this.parts;
    return {
      node: this.id,
      region: this.region,
      topology,
      settings,
      credits: CREDITS,
      incarnation: 1,
      wall: () => this.clock.now(),
      steady: () => this.world.time.now,
      latest: () => clock.latest(this.clock.now(), settings.maxClockDriftMs / 2),
      ready: () => true,
      ust: () => stable.value,
      map: () => maps.current.version,
      cutsAfter: (version) => maps.cutsAfter(version),
      served: () => stable.served,
      want: (ts) => stable.want(ts),
      unresponsive: () => ({ nodes: [], regions: [] }),
      random,
      post: (envelope) => this.host.post(envelope as Envelope<M>),
      after: (ms, run) => void time.after(ms, () => this.loop.submit(run)),
    };
  }

  link(peer: NodeId): void {
    this.loop.submit(() => this.host.link(peer, true));
  }

  receive({ hlc, envelopes }: ScaleFrame): void {
    this.loop.submit(() => {
      this.loop.charge('frames', this.world.model.frame.receiveUs);
      for (const { message } of envelopes) this.#chargePrice(this.#decode.of(message.type), itemsOf(message));
      this.parts.clock.observe(hlc);
      this.host.receive(envelopes);
    });
  }

  /** A client's connection. */
  admit(client: ClientLink): ServedConnection {
    return this.#sessions.sessions.admit({
      isPaused: false,
      address: '',
      send: (outgoing) => this.#answer(client, isLarge(outgoing) ? outgoing.encode(FRAMES) : outgoing),
      close: () => {},
    });
  }

  /** A message of a client. */
  receives(connection: ServedConnection, message: readonly object[]): void {
    this.loop.submit(() => {
      const items = message.reduce((sum: number, frame) => sum + itemsIn(frame), 0);
      this.loop.charge('clients', costOf(this.world.model.client.receive, items));
      connection.receive(message);
    });
  }

  /** Answers of one turn share a message. */
  #answer(client: ClientLink, frame: ServerFrame): void {
    const { us, perItemUs } = this.world.model.client.send;
    this.loop.charge('clients', perItemUs * itemsIn(frame));
    const { turn } = this.loop;
    if (this.#answersTurn !== turn) this.#answers.clear();
    this.#answersTurn = turn;
    const more = this.#answers.get(client);
    if (more !== undefined) {
      more.push(frame);
      return;
    }
    const answers = [frame];
    this.#answers.set(client, answers);
    this.loop.charge('clients', us);
    this.loop.afterTurn(() => client.sent(answers));
  }

  #persist(records: readonly DurableRecord[], done: () => void): void {
    void this.store.commit(records); // in memory: visible at once
    const { loop, disk } = this.world.model.batch;
    this.loop.charge('durable batches', costOf(loop, records.length));
    const ms = costOf(disk, records.length) / 1000;
    this.loop.afterTurn(() => {
      this.diskMs += ms;
      this.world.time.after(ms, () => this.loop.submit(done));
    });
  }

  #transmit(to: NodeId, envelopes: readonly Envelope<M>[]): void {
    this.loop.charge('frames', this.world.model.frame.sendUs);
    for (const { message } of envelopes) this.#chargePrice(this.#encode.of(message.type), itemsOf(message));
    const hlc = this.parts.clock.last;
    this.loop.afterTurn(() => this.world.transmit(this.id, to, { hlc, envelopes }));
  }

  #chargePrice({ group, cost }: Price, items: number): void {
    this.loop.charge(group, costOf(cost, items));
  }
}

/** Keys, writes or values of a frame. */
function itemsIn(frame: unknown): number {
  const { keys, writes, values } = frame as { readonly [name: string]: readonly unknown[] | undefined };
  return (keys ?? writes ?? values ?? []).length;
}

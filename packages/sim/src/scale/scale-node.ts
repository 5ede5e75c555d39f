/** One node: the real host and machines, whose work takes the time that the cost model gives it. */
import type { AnyMessage, DurableRecord, NodeId, RecoveredState, RegionId, Timestamp } from '@isochron/core';
import { type Envelope, Host, type TransactionMessage, type TransactionNode } from '@isochron/protocols';
import type { VersionStore } from '@isochron/storage';
import type { Scheduled } from '../engine/event-queue.js';
import type { VirtualTime } from '../engine/virtual-time.js';
import type { WallClock } from '../world/wall-clock.js';
import { ClientPort } from './client-port.js';
import { type CostModel, costOf, itemsOf, type Price, Prices } from './cost-model.js';
import { EventLoop } from './event-loop.js';
import { type StepListener, StepTap } from './step-tap.js';

type M = TransactionMessage;

const CLIENT_MACHINE = 'client';

/** What crosses a link at once. */
export interface ScaleFrame {
  readonly hlc: Timestamp;
  readonly envelopes: readonly Envelope<M>[];
}

/** What a node is given of its world. */
export interface ScaleWorld {
  readonly time: VirtualTime;
  readonly model: CostModel;
  readonly cores: number;
  /** Told of each step, too. */
  readonly watcher?: StepListener | undefined;
  transmit(from: NodeId, to: NodeId, frame: ScaleFrame): void;
}

/** A client's connection, as the node sees it. */
export interface ClientConnection {
  /** What a node has to say at once. */
  answered(answers: readonly M[]): void;
}

/** A node that has data, and nothing else. */
export const FOUNDED: RecoveredState = { meta: new Map([['joined', 1]]), prepared: [], logEnds: new Map() };

export class ScaleNode {
  readonly loop: EventLoop;
  readonly parts: TransactionNode;
  readonly host: Host<M>;
  readonly #coordinator;
  readonly #clients;
  readonly #waiting = new Map<number, ClientConnection>();
  /** What a turn has for each client. */
  readonly #answers = new Map<ClientConnection, M[]>();
  #answersTurn = 0;
  readonly #steps: Prices;
  readonly #encode: Prices;
  readonly #decode: Prices;
  #lastRef = 0;
  #wake: { readonly at: number; readonly event: Scheduled } | undefined;
  /** How long its disk has worked, ms. */
  diskMs = 0;

  constructor(
    readonly id: NodeId,
    readonly region: RegionId,
    readonly clock: WallClock,
    readonly store: VersionStore,
    readonly world: ScaleWorld,
    create: () => TransactionNode,
  ) {
    this.loop = new EventLoop(world.time, world.cores, world.model.turnUs);
    this.#coordinator = { node: id, machine: 'coordinator' };
    this.#clients = { node: id, machine: CLIENT_MACHINE };
    this.host = new Host<M>(id, {
      now: () => clock.now(),
      persist: (records, done) => this.#persist(records, done),
      resident: () => true,
      prefetch: (_needs, done) => done(),
      transmit: (to, envelopes) => this.#transmit(to, envelopes),
      endOfTurn: (run) => this.loop.lastInTurn(run),
      wakeAt: (at) => this.#wakeAt(at),
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
    const port = new ClientPort<M>();
    port.onAnswer = (message) => this.#answer(message);
    this.host.add(CLIENT_MACHINE, port);
    this.loop.submit(() => this.host.run());
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

  /** One message of a client, with requests that lack nothing but their reference. */
  request(client: ClientConnection, requests: readonly ((ref: number) => M)[]): void {
    this.loop.submit(() => {
      const messages = requests.map((request) => request(++this.#lastRef));
      const items = messages.reduce((sum, message) => sum + itemsOf(message), 0);
      this.loop.charge('clients', costOf(this.world.model.client.receive, items));
      for (const message of messages) {
        this.#waiting.set(refOf(message)!, client);
        this.host.post({ to: this.#coordinator, from: this.#clients, message });
      }
    });
  }

  /** Answers of one turn share a message. */
  #answer(message: M): void {
    const ref = refOf(message);
    const client = ref === undefined ? undefined : this.#waiting.get(ref);
    if (ref === undefined || client === undefined) return;
    this.#waiting.delete(ref);
    const { us, perItemUs } = this.world.model.client.send;
    this.loop.charge('clients', perItemUs * itemsOf(message));
    const { turn } = this.loop;
    if (this.#answersTurn !== turn) this.#answers.clear();
    this.#answersTurn = turn;
    const more = this.#answers.get(client);
    if (more !== undefined) {
      more.push(message);
      return;
    }
    const answers = [message];
    this.#answers.set(client, answers);
    this.loop.charge('clients', us);
    this.loop.afterTurn(() => client.answered(answers));
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

  /** As the server's driver does it: a timer is moved only when an earlier time is asked for. */
  #wakeAt(at: number): void {
    const { time } = this.world;
    if (this.#wake !== undefined) {
      if (this.#wake.at <= at) return;
      time.cancel(this.#wake.event);
    }
    const event = time.after(Math.max(1, at - this.clock.now()), () => {
      this.#wake = undefined;
      this.loop.submit(() => this.host.wake());
    });
    this.#wake = { at, event };
  }
}

const refOf = (message: AnyMessage): number | undefined => (message as { readonly ref?: number }).ref;

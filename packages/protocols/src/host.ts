/**
 * Runs the machines of one node: delivers messages between them without serialising, gathers messages for other
 * nodes, keeps one durable batch in flight while the next fills, and holds promises until their batch is on disk (D1).
 * It does no I/O of its own: the server hands it sockets and LevelDB, a simulation hands it a virtual network and disk.
 */
import type { AnyMessage, DurableRecord, NodeId, ReadNeeds, WallMs } from '@isochron/core';
import type { Address, Effects, Envelope, Input, Machine, TimerKind, WriteSeq } from './machine.js';
import { SteadyClock } from './steady-clock.js';
import { TimerQueue } from './timer-queue.js';

/** The environment of a host. */
export interface HostPorts<M extends AnyMessage> {
  /** The node's wall clock. */
  now(): WallMs;
  /** Makes the records durable, atomically and in the order of the calls, then calls back exactly once. */
  persist(records: readonly DurableRecord[], done: (error?: unknown) => void): void;
  /** Whether everything that `needs` names is in memory. */
  resident(needs: ReadNeeds): boolean;
  /** Loads it, then calls back; on an error the message is dropped and its sender's retry takes over. */
  prefetch(needs: ReadNeeds, done: (error?: unknown) => void): void;
  /** Hands messages to the link towards a node: in order, lost when the link drops. */
  transmit(node: NodeId, envelopes: readonly Envelope<M>[]): void;
  /**
   * Calls back when everything that arrived together has been handed in: at once, or at the end of an event loop's
   * turn.
   */
  endOfTurn(run: () => void): void;
  /**
   * Asks for a call of `wake` after this time on a monotonic clock, ms, or earlier. Only the latest request counts.
   */
  wakeAfter(ms: number): void;
  /** A write failed or an invariant broke: the node must stop, nothing more may leave. */
  fail(error: unknown): void;
}

/** A machine under its name, and its timers. */
interface Added<M extends AnyMessage> {
  readonly machine: Machine<M>;
  readonly address: Address;
  /** Each timer that it has set: the key in the queue. */
  readonly timers: Map<TimerKind, Timer<M>>;
}

interface Timer<M extends AnyMessage> {
  readonly of: Added<M>;
  readonly timer: TimerKind;
}

type Job<M extends AnyMessage> = { readonly machine: Machine<M>; readonly self: Address; readonly input: Input<M> };

export class Host<M extends AnyMessage> {
  readonly #machines = new Map<string, Added<M>>();
  readonly #timers = new TimerQueue<Timer<M>>();
  readonly #clock: SteadyClock;
  #outgoing = new Map<NodeId, Envelope<M>[]>();
  #jobs: Job<M>[] = [];
  #running = false;
  #flushing = false;
  readonly #flush = (): void => {
    this.#flushing = false;
    if (this.#stopped) return;
    const outgoing = this.#outgoing;
    if (outgoing.size > 0) this.#outgoing = new Map();
    for (const [node, envelopes] of outgoing) this.ports.transmit(node, envelopes);
    if (this.#batch.length > 0 && !this.#inFlight) this.#persist();
  };
  #stopped = false;
  #paused = false;
  /**
   * Inputs that arrived during a pause, in order. The data of prefetched messages may have left the memory meanwhile.
   */
  #later: (() => void)[] = [];
  /** The batch now filling has this number; batches below are in flight or durable. */
  #filling: WriteSeq = 1;
  #batch: DurableRecord[] = [];
  #durable: WriteSeq = 0;
  #inFlight = false;
  /** Promises of the step that runs now: bound to a batch at its end, after all its writes. */
  #promises: Envelope<M>[] = [];
  #held: { after: WriteSeq; envelope: Envelope<M> }[] = [];
  #stepping: Address;
  readonly #effects: Effects<M>;

  constructor(
    readonly node: NodeId,
    readonly ports: HostPorts<M>,
  ) {
    this.#clock = new SteadyClock(() => ports.now());
    this.#stepping = { node, machine: '' };
    this.#effects = {
      send: (to, message, by = this.#stepping) => this.#route({ to, from: by, message }),
      sendAfterPersist: (to, message, by = this.#stepping) => {
        this.#promises.push({ to, from: by, message });
      },
      write: (record) => {
        this.#batch.push(record);
        return this.#filling;
      },
      lastWrite: () => this.#lastWrite(),
      setTimer: (timer, at, by = this.#stepping) => this.#timers.set(this.#timerOf(timer, by), at),
    };
  }

  /** Adds a machine under a name and hands it the `start` timer, so that it can set its own. */
  add(name: string, machine: Machine<M>): void {
    const address = { node: this.node, machine: name };
    this.#machines.set(name, { machine, address, timers: new Map() });
    this.#jobs.push({ machine, self: address, input: { kind: 'timer', now: this.#clock.now(), timer: 'start' } });
  }

  machine(name: string): Machine<M> | undefined {
    return this.#machines.get(name)?.machine;
  }

  /**
   * Sends a message on behalf of a machine that acts outside of its steps (a client port), to this node or to another
   * one.
   */
  post(envelope: Envelope<M>): void {
    this.#route(envelope);
    this.run();
  }

  /** Hands in messages for this node, which came over a link, and runs all that follows. */
  receive(envelopes: readonly Envelope<M>[]): void {
    for (const envelope of envelopes) this.#deliver(envelope);
    this.run();
  }

  /** A peer became reachable or unreachable. */
  link(node: NodeId, up: boolean): void {
    if (this.#paused) {
      this.#later.push(() => this.link(node, up));
      return;
    }
    const now = this.#clock.now();
    for (const { machine, address } of this.#machines.values()) {
      this.#jobs.push({ machine, self: address, input: { kind: 'link', now, node, up } });
    }
    this.run();
  }

  /** Fires a machine's timer now: for a driver whose request to the machine came outside of its steps. */
  fire(name: string, timer: TimerKind): void {
    const entry = this.#machines.get(name);
    if (entry === undefined) return;
    const input = { kind: 'timer', now: this.#clock.now(), timer } as const;
    this.#jobs.push({ machine: entry.machine, self: entry.address, input });
    this.run();
  }

  /** Fires the timers that are due. */
  wake(): void {
    const now = this.#clock.now();
    for (const { of, timer } of this.#timers.due(now))
      this.#jobs.push({ machine: of.machine, self: of.address, input: { kind: 'timer', now, timer } });
    this.run();
  }

  /**
   * Until `resume` no machine takes a step, and nothing is read: for a driver that reopens its store. Inputs wait.
   */
  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    const later = this.#later;
    this.#later = [];
    for (const hand of later) hand();
    this.run();
  }

  /** Ends all activity: nothing is delivered, sent or written any more. */
  stop(): void {
    this.#stopped = true;
  }

  describe(): object {
    const machines: Record<string, object> = {};
    for (const [name, { machine }] of this.#machines) machines[name] = machine.describe();
    return machines;
  }

  /** Runs every queued job; messages to other nodes and writes to disk follow at the end of the turn. */
  run(): void {
    if (this.#running || this.#stopped || this.#paused) return;
    this.#running = true;
    try {
      while (this.#jobs.length > 0) {
        const jobs = this.#jobs;
        this.#jobs = [];
        for (const job of jobs) {
          this.#stepping = job.self;
          job.machine.step(job.input, this.#effects);
          if (this.#promises.length > 0) this.#hold();
          job.machine.invariants();
        }
      }
      this.#afterwards();
    } catch (error) {
      this.#stopped = true;
      this.ports.fail(error);
    } finally {
      this.#running = false;
    }
  }

  #timerOf(timer: TimerKind, { machine }: Address): Timer<M> {
    const of = this.#machines.get(machine)!;
    let known = of.timers.get(timer);
    if (known === undefined) {
      known = { of, timer };
      of.timers.set(timer, known);
    }
    return known;
  }

  #hold(): void {
    const after = this.#lastWrite();
    const free = after <= this.#durable && this.#held.length === 0;
    for (const envelope of this.#promises) {
      if (free) this.#route(envelope);
      else this.#held.push({ after, envelope });
    }
    this.#promises.length = 0;
  }

  #lastWrite(): WriteSeq {
    return this.#batch.length > 0 ? this.#filling : this.#filling - 1;
  }

  #route(envelope: Envelope<M>): void {
    if (envelope.to.node === this.node) {
      this.#deliver(envelope);
      return;
    }
    const queue = this.#outgoing.get(envelope.to.node);
    if (queue === undefined) this.#outgoing.set(envelope.to.node, [envelope]);
    else queue.push(envelope);
  }

  #deliver(envelope: Envelope<M>): void {
    if (this.#paused) {
      this.#later.push(() => this.#deliver(envelope));
      return;
    }
    const entry = this.#machines.get(envelope.to.machine);
    if (entry === undefined) return; // from a peer with another placement, which the handshake refuses
    const { machine, address } = entry;
    const { from, message } = envelope;
    const needs = machine.needs?.(message);
    if (needs === undefined || this.ports.resident(needs)) {
      this.#queue(machine, address, from, message);
      return;
    }
    this.ports.prefetch(needs, (error) => {
      if (this.#paused) this.#later.push(() => this.#deliver(envelope));
      if (this.#paused || error !== undefined) return;
      this.#queue(machine, address, from, message);
      this.run();
    });
  }

  #queue(machine: Machine<M>, self: Address, from: Address, message: M): void {
    this.#jobs.push({ machine, self, input: { kind: 'message', now: this.#clock.now(), from, message } });
  }

  /** Effects wait for the end of the turn, so that the effects of many inputs share frames and durable batches. */
  #afterwards(): void {
    const next = this.#timers.next();
    // By a new reading: the machine's clock may have been set since the inputs of this run.
    if (next !== undefined) this.ports.wakeAfter(next - this.#clock.now());
    if (this.#flushing || (this.#outgoing.size === 0 && this.#batch.length === 0)) return;
    this.#flushing = true;
    this.ports.endOfTurn(this.#flush);
  }

  #persist(): void {
    const seq = this.#filling++;
    const records = this.#batch;
    this.#batch = [];
    this.#inFlight = true;
    this.ports.persist(records, (error) => {
      this.#inFlight = false;
      if (this.#stopped) return;
      if (error !== undefined) {
        this.#stopped = true;
        this.ports.fail(error);
        return;
      }
      this.#durable = seq;
      this.#release();
      const now = this.#clock.now();
      for (const { machine, address } of this.#machines.values()) {
        this.#jobs.push({ machine, self: address, input: { kind: 'persisted', now, upTo: seq } });
      }
      this.run();
    });
  }

  #release(): void {
    let free = 0;
    while (free < this.#held.length && this.#held[free]!.after <= this.#durable) free++;
    const released = this.#held.splice(0, free);
    for (const { envelope } of released) this.#route(envelope);
  }
}

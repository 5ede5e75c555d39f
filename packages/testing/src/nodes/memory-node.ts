/**
 * A node in memory as its clients reach it: real sessions over the machines of its region. The `script` of a test runs
 * before each frame that arrives, and `sends` before each frame that leaves; both may put a fault in its place.
 */
import {
  ANONYMOUS_PRINCIPAL,
  DEFAULT_LIMITS,
  type Limits,
  type RegionId,
  type Timestamp,
  type TxId,
  wallOf,
} from '@isochron/core';
import type { Capability, Unresponsive } from '@isochron/protocols';
import {
  type FrameEncoder,
  isLarge,
  type Outgoing,
  PlainFrames,
  Rules,
  type ServedConnection,
  type ServedNode,
  ServedSessions,
  Serving,
  type SessionLink,
  StableWaiters,
} from '@isochron/sessions';
import type { ClientFrame, Freshness, ServerFrame, WelcomeFrame, WireValue } from '@isochron/wire/session-frames';
import { MemoryCluster, type WireWrite } from './memory-cluster.js';

/**
 * The reaction of a script to a frame that arrives. Undefined: the node serves the frame. `drop`: the node does not
 * receive it; a write is received, and stays undecided. `close`: the connection ends before it. `apply-and-drop`,
 * `apply-and-close`: the node serves it, and the answer is lost. `hold`: the node serves it, and the answer leaves with
 * `letGo`; a promise: once that has resolved. A frame is the answer.
 */
export type Reaction =
  | undefined
  | 'drop'
  | 'close'
  | 'apply-and-drop'
  | 'apply-and-close'
  | 'hold'
  | Promise<unknown>
  | ServerFrame;

/** The client's end of a connection. */
export interface MemoryClient {
  /** The frames of one message. */
  deliver(frames: readonly ServerFrame[]): void;
  /** The node, or the network, has ended it. */
  closed(code: number, reason: string): void;
}

/** How often clients receive the stable time, ms. */
const TICK_MS = 1_000;
/** The close code of a connection that was cut. */
export const CUT = 1006;

export class MemoryNode {
  /** Every frame that came in, and how many came in each message. */
  readonly frames: ClientFrame[] = [];
  readonly packing: number[] = [];
  /** Every frame that left. */
  readonly sent: ServerFrame[] = [];
  /** Runs before a frame that arrives. */
  script: (frame: ClientFrame, socket: MemorySocket) => Reaction = () => undefined;
  /** Runs before a frame that leaves; undefined: it is lost. */
  sends: (frame: ServerFrame, socket: MemorySocket) => ServerFrame | undefined = (frame) => frame;
  authenticate: ServedNode['authenticate'] = (_credentials, done) => done(ANONYMOUS_PRINCIPAL);
  /**
   * `refuses`: no connection opens. `silent`: a connection neither opens nor fails, and
   * nothing comes over an open one. For worlds that have a network.
   */
  state: 'serves' | 'refuses' | 'silent' = 'serves';
  /** One-way delay of a message, in such a world. */
  delayMs = 1;
  credits = 16;
  limits: Limits = DEFAULT_LIMITS;
  /** The id of the node. */
  id: string;
  /** The id of the cluster. */
  clusterId = 'test';
  unresponsive: Unresponsive = { nodes: [], regions: [] };
  /** What it reports of the age of its stable time, if other than that. */
  aged: Partial<Freshness> = {};
  /** Endpoints in its welcomes. */
  regions: WelcomeFrame['regions'] = [];
  capabilities: ReadonlySet<Capability>;
  readonly sockets = new Set<MemorySocket>();
  #other: OtherClient | undefined;
  readonly #waitersHere: StableWaiters;
  readonly #waitersEverywhere: StableWaiters;
  readonly #stalled = new Set<TxId>();
  readonly #sessions: ServedSessions;

  constructor(
    readonly name: string,
    readonly cluster: MemoryCluster,
    readonly region: RegionId = name,
  ) {
    const { family } = cluster;
    this.id = `${name}-1`;
    this.capabilities = family.entry.capabilities;
    const after: ServedNode['after'] = (ms, run) => family.world.after(ms, run);
    this.#waitersHere = new StableWaiters(after);
    this.#waitersEverywhere = new StableWaiters(after);
    const { open } = family.serve(this.#machines, `sessions ${cluster.nodes.length}`, (tx) => this.#stalled.has(tx));
    this.#sessions = new ServedSessions(this.#served(after), () => open(this.#sessions.node));
    const tick = (): void => {
      this.#sessions.tick(false);
      after(TICK_MS, tick);
    };
    tick();
    cluster.nodes.push(this);
    cluster.onPass(() => this.#timePasses());
  }

  /** Where a world that has a network finds it. */
  get url(): string {
    return `ws://${this.name}`;
  }

  /** Whether a request has no answer yet. Requests that wait for changes do not count. */
  get isBusy(): boolean {
    return [...this.sockets].some(({ isBusy }) => isBusy);
  }

  /** The frames of a type, in the order of their arrival. */
  received<T extends ClientFrame['type']>(type: T): Extract<ClientFrame, { type: T }>[] {
    return this.frames.filter((frame): frame is Extract<ClientFrame, { type: T }> => frame.type === type);
  }

  /** The frames of a type that left. */
  answers<T extends ServerFrame['type']>(type: T): Extract<ServerFrame, { type: T }>[] {
    return this.sent.filter((frame): frame is Extract<ServerFrame, { type: T }> => frame.type === type);
  }

  /** Transactions that its clients have open. */
  get openTransactions(): number {
    const ended = new Set([...this.received('abort'), ...this.received('commit')].map(({ tx }) => tx));
    return new Set(
      this.received('start')
        .map(({ tx }) => tx)
        .filter((tx) => !ended.has(tx)),
    ).size;
  }

  /** The age of its stable time. */
  freshness(): Freshness {
    const { now } = this.cluster;
    const stalenessMs = Math.max(0, Math.round(now - wallOf(this.cluster.ustOf(this.region))));
    return { now: Math.floor(now), stalenessMs, stale: false, heldBackBy: null, ...this.aged };
  }

  connect(client: MemoryClient): MemorySocket {
    return new MemorySocket(this, client, (link) => this.#sessions.admit(link));
  }

  /** Sends frames to every connection, in one message. */
  push(...frames: readonly ServerFrame[]): void {
    for (const socket of this.sockets) {
      socket.push(frames);
      socket.flush();
    }
  }

  /** The answers that wait leave. */
  letGo(): void {
    for (const socket of this.sockets) socket.letGo();
  }

  /** The node serves clients without these capabilities. */
  lacks(...capabilities: readonly Capability[]): void {
    this.capabilities = new Set([...this.capabilities].filter((name) => !capabilities.includes(name)));
  }

  /** The network cuts all connections. */
  cut(): void {
    for (const socket of [...this.sockets]) socket.cut();
  }

  /** Whether a write stays undecided from now on. */
  stall(tx: TxId, isStalled: boolean): void {
    if (isStalled) this.#stalled.add(tx);
    else this.#stalled.delete(tx);
  }

  /** Waits end, and answers leave. */
  #timePasses(): void {
    const { value, served } = this.cluster.family.stable(this.#machines);
    this.#waitersHere.advance(value);
    this.#waitersEverywhere.advance(served);
    for (const socket of this.sockets) socket.flush();
  }

  writeBeside(writes: readonly WireWrite[]): Timestamp {
    this.#other ??= new OtherClient(this.cluster, this.cluster.regions[0]!);
    return this.#other.write(writes);
  }

  get #machines(): string {
    return `${this.region}-1`;
  }

  #served(after: ServedNode['after']): ServedNode {
    const { cluster } = this;
    const { family } = cluster;
    const self = this;
    const clock = {
      now: () => Math.floor(cluster.now),
      steady: () => cluster.now,
      ust: () => cluster.ustOf(this.region),
    };
    const stable = () => family.stable(this.#machines);
    const serving = new Serving(
      {
        ...clock,
        ready: () => true,
        unprotected: () => undefined,
        clockProblem: () => undefined,
        verification: () => ({ state: 'verified' }),
        stable: (ts, timeoutMs, done) => {
          stable().want(ts);
          this.#waitersEverywhere.wait(ts, stable().served, timeoutMs, done);
        },
        visibleHere: (ts, timeoutMs, done) => this.#waitersHere.wait(ts, stable().value, timeoutMs, done),
      },
      30_000,
      {},
    );
    return {
      ...clock,
      get id() {
        return self.id;
      },
      region: this.region,
      get cluster() {
        return self.clusterId;
      },
      topology: family.world.topology,
      maxTransactionMs: 30_000,
      stalenessAlertMs: 10_000,
      serving,
      get protocol() {
        return { name: family.entry.protocol.name, capabilities: self.capabilities };
      },
      get rules() {
        return new Rules(family.world.topology, self.limits);
      },
      get credits() {
        return self.credits;
      },
      get regions() {
        return self.regions;
      },
      latest: () => family.latest(this.#machines),
      freshness: () => this.freshness(),
      map: () => 0,
      cutsAfter: () => [],
      unresponsive: () => this.unresponsive,
      authenticate: (credentials, done) => this.authenticate(credentials, done),
      client: (_principal, address) => address,
      random: () => 0.5,
      after,
      refused: () => undefined,
      failed: (cause) => {
        throw cause;
      },
    };
  }
}

const PLAIN = new PlainFrames();

/** Frames as JSON carries them. */
const FRAMES: FrameEncoder<ServerFrame> = {
  frame: (frame) => frame,
  value: jsonValue,
  values: (...parts) => {
    const { values, ...frame } = PLAIN.values(...parts);
    return { ...frame, values: values.map((found) => found && [found[0], jsonValue(found[1])]) };
  },
};

function jsonValue(value: WireValue): WireValue {
  return value instanceof Uint8Array ? { bytes: Buffer.from(value).toString('base64') } : value;
}

/** The request that a frame answers; 0 for the welcome, and for a refusal of the hello. */
const answered = (frame: ServerFrame): number => ('id' in frame ? (frame.id ?? 0) : 0);
const requested = (frame: ClientFrame): number => (frame.type === 'hello' ? 0 : frame.id);

/** A connection of a client. */
export class MemorySocket implements SessionLink {
  readonly isPaused = false;
  readonly address = '';
  readonly #connection: ServedConnection;
  readonly #open = new Map<number, ClientFrame>();
  /** Requests whose answers are lost. */
  readonly #lost = new Set<number>();
  /** Requests whose answers wait. */
  readonly #held = new Map<number, ServerFrame[]>();
  #out: ServerFrame[] = [];
  #isOpen = true;

  constructor(
    readonly node: MemoryNode,
    readonly client: MemoryClient,
    admit: (link: SessionLink) => ServedConnection,
  ) {
    this.#connection = admit(this);
    node.sockets.add(this);
  }

  get isBusy(): boolean {
    return [...this.#open.values()].some(({ type }) => type !== 'live' && type !== 'changes');
  }

  /** The client's frames of one message arrive. */
  receive(frames: readonly ClientFrame[]): void {
    const { node } = this;
    node.packing.push(frames.length);
    node.frames.push(...frames);
    const served: ClientFrame[] = [];
    let isCut = false;
    for (const frame of frames) {
      const reaction = node.script(frame, this);
      isCut = reaction === 'close' || reaction === 'apply-and-close';
      if (this.#react(frame, reaction)) served.push(frame);
      if (isCut) break;
    }
    this.#connection.receive(served);
    node.cluster.pass(0);
    if (isCut) this.cut();
  }

  /** Returns whether the node receives the frame. */
  #react(frame: ClientFrame, reaction: Reaction): boolean {
    const id = requested(frame);
    if (frame.type === 'commit' || frame.type === 'put') this.node.stall(frame.tx, reaction === 'drop');
    else if (reaction === 'drop') return false;
    if (reaction === 'close') return false;
    if (reaction instanceof Promise) {
      this.#held.set(id, []);
      void reaction.then(() => this.letGo(id));
    } else if (typeof reaction === 'object') {
      this.push([reaction]);
      return false;
    }
    if (reaction === 'apply-and-drop' || reaction === 'apply-and-close') this.#lost.add(id);
    if (reaction === 'hold') this.#held.set(id, []);
    this.#open.set(id, frame);
    return true;
  }

  send(outgoing: Outgoing): void {
    const frame = isLarge(outgoing) ? outgoing.encode(FRAMES) : outgoing;
    const id = answered(frame);
    const request = this.#open.get(id);
    this.#open.delete(id);
    if (request?.type === 'commit' && frame.type === 'committed') this.node.cluster.committed(request.tx, frame.ts);
    if (request?.type === 'put' && frame.type === 'written') this.node.cluster.committed(request.tx, frame.ts);
    if (request !== undefined && this.#lost.delete(id)) return;
    const held = this.#held.get(id);
    if (request !== undefined && held !== undefined) held.push(frame);
    else this.#leave(frame);
  }

  /** Frames that the node does not send by itself. */
  push(frames: readonly ServerFrame[]): void {
    this.node.sent.push(...frames);
    this.#out.push(...frames);
  }

  /** The answers that wait leave, of these requests or of all, and the later answers to these requests, too. */
  letGo(...ids: readonly number[]): void {
    for (const id of ids.length > 0 ? ids : [...this.#held.keys()]) {
      for (const frame of this.#held.get(id) ?? []) this.#leave(frame);
      this.#held.delete(id);
    }
    this.flush();
  }

  /** Everything that is ready leaves in one message. */
  flush(): void {
    if (this.#out.length === 0 || !this.#isOpen) return;
    const frames = this.#out;
    this.#out = [];
    this.client.deliver(frames);
  }

  /** The node has ended the connection. */
  close(code: number, reason: string): void {
    this.flush();
    this.#end(code, reason);
  }

  /** The network cuts it. */
  cut(): void {
    this.#end(CUT, '');
  }

  /** The client has ended it. */
  disconnected(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.node.sockets.delete(this);
    this.#connection.disconnected();
    this.node.cluster.pass(0);
  }

  #end(code: number, reason: string): void {
    if (!this.#isOpen) return;
    this.disconnected();
    this.client.closed(code, reason);
  }

  #leave(frame: ServerFrame): void {
    const sent = this.node.sends(frame, this);
    if (sent !== undefined) this.push([sent]);
  }
}

/** The refusal of a request, or of the hello, as a node sends it. */
export const refusal = (id: number | undefined, code: string, retryable: boolean): ServerFrame => ({
  type: 'error',
  ...(id === undefined ? {} : { id }),
  code,
  detail: `scripted ${code}`,
  retryable,
});

/** The most bytes that the other client writes. */
const MAX_BYTES = 2 ** 26;

/** A client beside the test's own. */
class OtherClient {
  readonly #socket: MemorySocket;
  #answer: ServerFrame | undefined;
  #writes = 0;

  constructor(
    readonly cluster: MemoryCluster,
    readonly region: RegionId,
  ) {
    const node = new MemoryNode('other', cluster, region);
    node.limits = { ...node.limits, maxValueBytes: MAX_BYTES, maxRequestBytes: MAX_BYTES };
    this.#socket = node.connect({
      deliver: (frames) => {
        this.#answer = frames.at(-1);
      },
      closed: () => undefined,
    });
    this.#socket.receive([{ type: 'hello' }]);
  }

  write(writes: readonly WireWrite[]): Timestamp {
    const { region } = this;
    const { ust, family } = this.cluster;
    const common = { sentAfter: ust, attemptRegions: [region] };
    if (family.entry.kind === 'transactions')
      return this.#send({ type: 'commit', snapshot: ust, hwt: 0, writes, ...common });
    const puts = writes.map(({ key, value }) => this.#send({ type: 'put', seen: [], region, key, value, ...common }));
    return Math.max(...puts);
  }

  #send(frame: object): Timestamp {
    const id = ++this.#writes;
    const tx = `other-0123456789abcdef.${id.toString(36)}`;
    this.#socket.receive([{ ...frame, id, tx } as ClientFrame]);
    const answer = this.#answer;
    if (answer?.type === 'committed' || answer?.type === 'written') return answer.ts;
    throw new Error(`not written: ${JSON.stringify(answer)}`);
  }
}

/** A new cluster's nodes: a node in each of these regions. */
export function memoryNodes<Regions extends readonly RegionId[]>(
  ...regions: Regions
): { [I in keyof Regions]: MemoryNode } {
  const cluster = new MemoryCluster({ regions });
  return regions.map((region) => new MemoryNode(region, cluster)) as { [I in keyof Regions]: MemoryNode };
}

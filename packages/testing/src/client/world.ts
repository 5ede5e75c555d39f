/**
 * A client machine and its environment, for tests: nodes in memory, sockets that deliver in order, one clock. Nothing
 * here takes real time. Every effect is checked against the rules that drivers rely on; `violations` lists the broken
 * ones.
 */
import { jsonCodec } from '@isochron/client/link/codec';
import { Homing } from '@isochron/client/link/homing';
import { openRenewal } from '@isochron/client/link/renewal';
import { openLive } from '@isochron/client/live/live';
import type { LiveObserver, LiveScope } from '@isochron/client/live/observer';
import {
  type Call,
  type ClientEffects,
  type ClientInput,
  ClientMachine,
  type ClientSettings,
  type Encoded,
  type RandomSource,
  type SocketId,
} from '@isochron/client/machine';
import type { OpenEngine } from '@isochron/client/session/engine';
import type { ImportedSession } from '@isochron/client/session/exported';
import { openTransactions } from '@isochron/client/session/transactions';
import type { TxId } from '@isochron/core/ids';
import { Session } from '@isochron/protocols/kernel/transactions/session';
import { parisSession } from '@isochron/protocols/paris/session';
import type { ClientFrame, RequestFrame, ServerFrame } from '@isochron/wire/session-frames';
import type { MemoryCluster } from '../nodes/memory-cluster.js';
import { CUT, type MemoryNode, type MemorySocket } from '../nodes/memory-node.js';

/** The result of a call. */
export interface Called {
  /** How often it was settled. */
  settled: number;
  value?: unknown;
  reason?: { readonly code?: string };
  readonly call: Call;
  cancel(reason: unknown): void;
}

interface Socket {
  readonly id: SocketId;
  readonly node: MemoryNode;
  /** `closing`: the machine has closed it; `gone`: the machine has got its `closed`. */
  state: 'opening' | 'open' | 'closing' | 'gone';
  /** The network has cut it. */
  isCut: boolean;
  /** Requests without an answer that has reached the machine. */
  readonly inFlight: Map<number, RequestFrame>;
  lastArrivalMs: number;
  /** The writes that were refused on it. */
  readonly refused: Set<TxId>;
  /** The node's end. */
  served: MemorySocket | undefined;
}

interface Due {
  readonly atMs: number;
  readonly run: () => void;
}

export interface ClientWorldOptions {
  readonly settings?: Partial<ClientSettings>;
  readonly random?: RandomSource;
  /** The client of the cluster's protocol; by default that of PaRiS. */
  readonly engine?: OpenEngine;
  /** The endpoints that the application names; by default those of all nodes. */
  readonly given?: readonly string[];
  /** The token that the client begins with. */
  readonly token?: string | undefined;
  /** A session that goes on here. */
  readonly session?: ImportedSession;
  /** Gives credentials, or an error; undefined never answers. Absent: they are not renewed. */
  readonly auth?: () => unknown;
}

const ofParis = openTransactions((id, state) => new Session(id, parisSession, state));

type Untimed<I> = I extends ClientInput ? Omit<I, 'nowMs'> : never;

/** More events than any test has: the machine loops. */
const MAX_EVENTS = 50_000;
/**
 * The nodes' time passes in such steps, ms. While they owe an answer, the steps after the arrival of a message begin
 * small, and double.
 */
const FIRST_STEP_MS = 5;
const LAST_STEP_MS = 80;
const IDLE_STEP_MS = 1_000;

export class World implements ClientEffects {
  readonly machine: ClientMachine;
  readonly violations: string[] = [];
  readonly sockets = new Map<SocketId, Socket>();
  readonly calls: Called[] = [];
  /** The node of each attempt to connect. */
  readonly dialled: string[] = [];
  nowMs = 0;
  /** When the machine wants a timer; infinite for none. */
  timerMs = Number.POSITIVE_INFINITY;
  /** Loads of protocols are answered at once; else by `loaded`. */
  loadsAtOnce = true;
  readonly loads: string[] = [];
  readonly #engine: OpenEngine;
  /** How often the status has changed. */
  changes = 0;
  /** How long `auth` takes, and how often it was called. */
  authMs = 1;
  authCalls = 0;
  readonly #auth: (() => unknown) | undefined;
  #isAuthCalled = false;
  /** Extra time of a message. */
  jitterMs: () => number = () => 0;
  #events: Due[] = [];
  #turnIsDue = false;
  #isStepping = false;
  /** Up to here the time of the nodes has passed. */
  #passedMs = 0;
  #stepMs = FIRST_STEP_MS;
  /** Messages that have left for the client. */
  #delivered = 0;
  #lastId = 0;
  #count = 0;
  /** The writes in the order in which they were sent first, and whether their last sendings have been answered. */
  readonly #writes = new Map<TxId, boolean>();
  /** Writes that the session no longer waits for. */
  #givenUp: ReadonlySet<TxId> = new Set();

  constructor(
    readonly nodes: readonly MemoryNode[],
    { settings, random = () => 0, engine = ofParis, auth, given, token, session }: ClientWorldOptions = {},
  ) {
    this.#engine = engine;
    this.#auth = auth;
    const all: ClientSettings = {
      client: 'test',
      credentials: undefined,
      renewal: auth && openRenewal,
      requestTimeoutMs: 1000,
      connectTimeoutMs: 500,
      commitTimeoutMs: 3000,
      returnAfterMs: Number.POSITIVE_INFINITY,
      Homing,
      codec: jsonCodec,
      newId: () => `session${++this.#lastId}`.padEnd(22, '0'),
      ...settings,
    };
    const endpoints = given ?? nodes.map(({ url }) => url);
    this.machine = new ClientMachine({ endpoints, token, session }, all, this, random, 0);
  }

  /** Sockets that are open or being opened. */
  get live(): Socket[] {
    return [...this.sockets.values()].filter(({ state }) => state !== 'gone');
  }

  step(input: Untimed<ClientInput>): void {
    if (this.#isStepping) this.violations.push(`a step ${input.kind} inside of another one`);
    this.#isStepping = true;
    try {
      this.machine.step({ ...input, nowMs: this.nowMs } as ClientInput);
    } finally {
      this.#isStepping = false;
    }
  }

  watch(observer: LiveObserver, ...scopes: LiveScope[]): void {
    this.step({ kind: 'watch', open: openLive, observer, scopes });
  }

  unwatch(observer: LiveObserver): void {
    this.step({ kind: 'unwatch', observer });
  }

  call(call: Call): Called {
    const called: Called = {
      call,
      settled: 0,
      cancel: (reason) => this.step({ kind: 'cancel', caller, reason }),
    };
    const settle = (outcome: Partial<Called>): void => {
      Object.assign(called, outcome);
      if (++called.settled > 1) this.violations.push(`a ${call.f} was settled ${called.settled} times`);
    };
    const caller = {
      resolve: (value: unknown) => settle({ value }),
      reject: (reason: unknown) => settle({ reason: reason as { code?: string } }),
    };
    this.calls.push(called);
    if (call.f === 'detach') this.#givenUp = new Set(this.#writes.keys());
    this.step({ kind: 'call', call, caller });
    return called;
  }

  /** Makes a call, and lets some time pass. */
  ask(call: Call, ms = 50): Called {
    const called = this.call(call);
    this.run(ms);
    return called;
  }

  write(key: string, value = '1'): Called {
    return this.call({ f: 'write', key: `default/${key}`, value });
  }

  read(key: string): Called {
    return this.call({ f: 'read', keys: [`default/${key}`] });
  }

  loaded(protocol: string): void {
    this.step({ kind: 'loaded', protocol, engine: this.#engine });
  }

  /** Lets time pass. */
  run(ms: number): void {
    const endMs = this.nowMs + ms;
    for (;;) {
      if (++this.#count > MAX_EVENTS) throw new Error(`more than ${MAX_EVENTS} events`);
      if (this.#turnIsDue) {
        this.#turnIsDue = false;
        this.step({ kind: 'turn' });
        continue;
      }
      const next = this.#events[0];
      const dueMs = Math.min(next?.atMs ?? Number.POSITIVE_INFINITY, this.timerMs);
      if (this.#passes(Math.min(dueMs, endMs))) continue;
      if (dueMs > endMs) break;
      this.nowMs = Math.max(this.nowMs, dueMs);
      if (next !== undefined && next.atMs <= this.timerMs) {
        this.#events.shift();
        next.run();
      } else {
        this.timerMs = Number.POSITIVE_INFINITY;
        this.step({ kind: 'timer' });
      }
    }
    this.nowMs = endMs;
  }

  /** The time of the nodes passes, until a message leaves for the client. Returns whether a message has left. */
  #passes(toMs: number): boolean {
    const before = this.#delivered;
    while (this.#passedMs < toMs) {
      const stepMs = this.#cluster.isBusy ? this.#stepMs : IDLE_STEP_MS;
      this.#stepMs = Math.min(LAST_STEP_MS, this.#stepMs * 2);
      const beforeMs = this.#passedMs;
      this.#passedMs = Math.min(toMs, beforeMs + stepMs);
      this.nowMs = Math.max(this.nowMs, this.#passedMs);
      this.#cluster.pass(this.#passedMs - beforeMs);
      if (this.#delivered !== before) return true;
    }
    return false;
  }

  get #cluster(): MemoryCluster {
    return this.nodes[0]!.cluster;
  }

  /** The program stands still for a while: messages and timers of that time come after it. */
  sleep(ms: number): void {
    this.nowMs += ms;
  }

  /** The network cuts the connections to a node. */
  cut(node: MemoryNode): void {
    for (const socket of this.live) if (socket.node === node) this.#cut(socket);
  }

  // The effects of the machine.

  open(id: SocketId, url: string): void {
    const node = this.nodes.find((one) => url.startsWith(`${one.url}/`));
    if (node === undefined) throw new Error(`no node at ${url}`);
    const socket: Socket = {
      id,
      node,
      state: 'opening',
      isCut: false,
      inFlight: new Map(),
      lastArrivalMs: 0,
      refused: new Set(),
      served: undefined,
    };
    this.sockets.set(id, socket);
    this.dialled.push(node.url);
    if (node.state === 'silent') return;
    this.#later(this.#arrivalMs(socket), () => {
      if (socket.state !== 'opening') return;
      if (node.state === 'refuses') this.#gone(socket);
      else {
        socket.state = 'open';
        socket.served = node.connect({
          deliver: (frames) => this.#deliver(socket, frames),
          closed: (code, reason) => {
            if (code === CUT) this.#cut(socket);
            else this.#later(this.#arrivalMs(socket), () => this.#gone(socket, { code, reason }));
          },
        });
        this.step({ kind: 'opened', socket: id });
      }
    });
  }

  send(id: SocketId, message: Encoded): void {
    const socket = this.sockets.get(id)!;
    if (socket.state !== 'open') this.violations.push(`a message on a socket that is ${socket.state}`);
    const decoded: unknown = JSON.parse(message as string);
    const frames = (Array.isArray(decoded) ? decoded : [decoded]) as ClientFrame[];
    for (const frame of frames) this.#check(socket, frame);
    if (!socket.isCut) this.#later(this.#arrivalMs(socket), () => this.#arrive(socket, frames));
  }

  close(id: SocketId, abrupt: boolean): void {
    const socket = this.sockets.get(id)!;
    if (socket.state === 'gone') return;
    socket.state = 'closing';
    if (abrupt || socket.node.state !== 'silent') this.#later(this.#arrivalMs(socket), () => this.#gone(socket));
  }

  load(protocol: string): void {
    this.loads.push(protocol);
    if (this.loadsAtOnce) this.#later(this.nowMs, () => this.loaded(protocol));
  }

  authenticate(): void {
    if (this.#isAuthCalled) this.violations.push('credentials were asked for while the answer was awaited');
    this.#isAuthCalled = true;
    this.authCalls++;
    this.#later(this.nowMs + this.authMs, () => {
      const credentials = this.#auth?.();
      if (credentials === undefined) return;
      this.#isAuthCalled = false;
      this.step({ kind: 'credentials', credentials });
    });
  }

  setTimer(atMs: number): void {
    this.timerMs = atMs;
  }

  turn(): void {
    if (this.#turnIsDue) this.violations.push('a second turn was asked for before the end of the first one');
    this.#turnIsDue = true;
  }

  changed(): void {
    this.changes++;
  }

  log(): void {}

  #check({ inFlight, node }: Socket, frame: ClientFrame): void {
    if (frame.type === 'hello') return;
    inFlight.set(frame.id, frame);
    if (inFlight.size > node.credits) this.violations.push(`${inFlight.size} requests with ${node.credits} credits`);
    if (frame.type !== 'commit') return;
    const { tx, after } = frame;
    const order = [...this.#writes.keys()];
    const before = order.slice(0, order.includes(tx) ? order.indexOf(tx) : undefined);
    const previous = before.at(-1);
    if (previous !== undefined && previous !== after && !this.#writes.get(previous) && !this.#givenUp.has(previous))
      this.violations.push(`${tx} was sent before the outcome of ${previous} was known`);
    this.#writes.set(tx, false);
  }

  #arrive(socket: Socket, frames: readonly ClientFrame[]): void {
    this.#stepMs = FIRST_STEP_MS;
    if (!socket.isCut && socket.state !== 'gone') socket.served?.receive(frames);
  }

  #deliver(socket: Socket, frames: readonly ServerFrame[]): void {
    if (socket.node.state === 'silent') return;
    this.#delivered++;
    this.#later(this.#arrivalMs(socket), () => {
      if (socket.isCut || socket.state === 'gone') return;
      for (const frame of frames) {
        const id = 'id' in frame ? (frame.id ?? -1) : -1;
        const request = socket.inFlight.get(id);
        socket.inFlight.delete(id);
        if (request?.type !== 'commit' || socket.state !== 'open') continue;
        this.#writes.set(request.tx, true);
        if (frame.type === 'error') socket.refused.add(request.tx);
      }
      this.step({ kind: 'message', socket: socket.id, data: JSON.stringify(frames) });
    });
  }

  #cut(socket: Socket): void {
    socket.isCut = true;
    this.#later(this.nowMs, () => this.#gone(socket));
  }

  #gone(socket: Socket, end: { readonly code?: number; readonly reason?: string } = {}): void {
    if (socket.state === 'gone') return;
    if (socket.state === 'open') this.#withdraw(socket);
    socket.state = 'gone';
    socket.served?.disconnected();
    this.step({ kind: 'closed', socket: socket.id, ...end });
  }

  /** A write behind a refused write has not begun. */
  #withdraw({ inFlight, refused }: Socket): void {
    for (const frame of inFlight.values()) {
      if (frame.type !== 'commit' || frame.after === undefined || !refused.has(frame.after)) continue;
      this.#writes.set(frame.tx, true);
      refused.add(frame.tx);
    }
  }

  /** Arrival of a message that leaves now: not before the one that left before it. */
  #arrivalMs(socket: Socket): number {
    socket.lastArrivalMs = Math.max(socket.lastArrivalMs, this.nowMs + socket.node.delayMs + this.jitterMs());
    return socket.lastArrivalMs;
  }

  #later(atMs: number, run: () => void): void {
    let at = this.#events.length;
    while (at > 0 && this.#events[at - 1]!.atMs > atMs) at--;
    this.#events.splice(at, 0, { atMs, run });
  }
}

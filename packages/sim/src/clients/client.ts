/** A client in simulated time: the machine that the SDKs drive, over simulated sockets. */
import {
  type Call,
  CLIENT_KIT,
  type ClientEffects,
  type ClientInput,
  ClientMachine,
  type Codec,
  type Encoded,
  type HandleId,
  Homing,
  importSession,
  jsonCodec,
  type SocketId,
  type TransactionStatus,
} from '@isochron/client';
import type { Caller } from '@isochron/client/link/exchange';
import { openRenewal } from '@isochron/client/link/renewal';
import { openLive } from '@isochron/client/live/live';
import type { LiveObserver, LiveScope } from '@isochron/client/live/observer';
import { DEFAULT_TIMES } from '@isochron/client/times';
import { type AnyMessage, IsochronError, type NodeId, type RegionId, type Timestamp, type TxId } from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';
import type { Scheduled } from '@isochron/simulated-world/event-queue';
import type { VirtualTime } from '@isochron/simulated-world/virtual-time';
import { type Co, waitFor } from '../engine/coroutine.js';
import { urlOf } from '../protocols/sessions.js';
import type { ActorClient } from './actor.js';
import { holderIn, newCredentials } from './credentials.js';
import { LiveQueries } from './live.js';
import { type ClientPlace, tapped } from './place.js';
import {
  type BeginOptions,
  type Carried,
  type ClientSession,
  type ClientTransaction,
  type CommitHooks,
  RequestFailed,
} from './session.js';
import type { ClientSocket } from './sockets.js';
import { MachineOperation, MachineTransaction, type TransactionsSession } from './transactions.js';

/** How long a client that has moved finds only the nodes of its new region. */
const MOVING_MS = 2_000;
/** How long an application needs for new credentials, at most. */
const AUTH_MS = 50;
const CONNECT_TIMEOUT_MS = 1_000;
const RETURN_AFTER_MS = 3_000;
/** About how long a client waits that has found no node, as at the beginning of a run. */
const CONNECT_AGAIN_MS = 250;
/** How many nodes of other regions an application names. */
const FAR_ENDPOINTS = 2;
/** How long a commit that is repeated elsewhere waits for its answer there. */
const ASIDE_MS = 5_000;

/** An input without its time. */
type Untimed<I> = I extends ClientInput ? Omit<I, 'nowMs'> : never;

type ClientFrame = Parameters<Codec['encode']>[0];
type WriteFrame = Extract<ClientFrame, { readonly type: 'commit' | 'put' }>;

/** A write whose first sending is reported. */
interface WatchedWrite {
  readonly sent: CommitHooks['sent'];
  /** The snapshot that a commit reads from, if its frame does not have it. */
  readonly snapshot?: () => Snapshot;
  /** The frame that was sent last, unless it was refused before it began. */
  frame: WriteFrame | undefined;
  isReported: boolean;
  /** The same write was sent to another coordinator too. */
  isElsewhere: boolean;
}

/** A commit as it is sent when its transaction is not open. */
const inItsSnapshot = (frame: WriteFrame, { ts: snapshot, deps }: Snapshot): WriteFrame =>
  frame.type === 'put' || frame.snapshot !== undefined ? frame : { ...frame, snapshot, ...(deps && { deps }) };

const NOT_SENT = { frame: undefined, isReported: false, isElsewhere: false };

/** Refusals after which the request cannot have taken effect. */
const NOT_BEGUN = /"(NOT_READY|CREDITS_EXHAUSTED|RATE_LIMITED|SNAPSHOT_UNAVAILABLE|SESSION_GAP)"/;

/** The result of a call. */
type Settled = { readonly value: unknown } | { readonly reason: unknown };

/** One client: its place, and the session that it holds now. */
export class Client<M extends AnyMessage> implements ActorClient {
  readonly live: LiveQueries;
  #session: MachineSession<M> | undefined;
  /** The only region whose nodes it finds after a move, and until when. */
  #only: { readonly region: RegionId; readonly untilMs: number } | undefined;

  constructor(
    readonly place: ClientPlace<M>,
    public region: RegionId,
  ) {
    this.live = new LiveQueries(place);
  }

  get time(): VirtualTime {
    return this.place.time;
  }

  /** Opens a session, new or as the continuation of an exported one; closes the one before it. */
  open(id: string, carried: Carried): MachineSession<M> {
    this.live.closing();
    this.#session?.close();
    this.#session = new MachineSession(this, id, carried);
    return this.#session;
  }

  connection(): Co<void> {
    return this.#session!.connected();
  }

  *stable(ts: Timestamp, timeoutMs: number): Co<boolean> {
    try {
      yield* this.#session!.call({ f: 'stable', ts, timeoutMs });
      return true;
    } catch (error) {
      if (error instanceof RequestFailed) return false;
      throw error;
    }
  }

  pause(ms: number): Co<void> {
    return waitFor<void>((resume) => {
      this.time.after(ms, () => resume());
    });
  }

  /** Its network changes: its sockets break, and for a while it finds the nodes of one region only. */
  moveTo(region: RegionId): void {
    this.region = region;
    this.#only = { region, untilMs: this.time.now + MOVING_MS };
    this.#session?.breakSockets();
  }

  /** Whether it finds a node now. */
  finds(node: NodeId): boolean {
    const only = this.#only;
    return only === undefined || this.time.now >= only.untilMs || this.place.topology.regionOf(node) === only.region;
  }

  get settling(): boolean {
    return this.#session?.settling ?? false;
  }

  loseAnswers(): () => void {
    return this.#session!.loseAnswers();
  }

  leave(): void {
    this.#session?.close();
  }

  die(): void {
    this.live.die();
    this.#session?.die();
  }
}

export class MachineSession<M extends AnyMessage> implements ClientSession, TransactionsSession {
  readonly #machine: ClientMachine;
  readonly #sockets = new Map<SocketId, ClientSocket<M>>();
  /** Inputs that came during a step, and calls that a step has settled. */
  readonly #inputs: Untimed<ClientInput>[] = [];
  readonly #settled: (() => void)[] = [];
  /** Writes that leave with the next message. */
  readonly #leaving: WriteFrame[] = [];
  #isStepping = false;
  #isDead = false;
  #timer: Scheduled | undefined;
  #handles: HandleId = 0;
  #connected = false;
  #put: ((txId: TxId, resend: (region: RegionId) => void, node: NodeId) => void) | undefined;
  readonly #watched = new Map<TxId, WatchedWrite>();

  constructor(
    readonly client: Client<M>,
    readonly id: string,
    { session: exported, token }: Carried,
    readonly holder = holderIn(client.place),
  ) {
    const { requestTimeoutMs, commitTimeoutMs, random, time } = client.place;
    let ids = 0;
    const settings = {
      client: 'simulated',
      renewal: newCredentials(client.place) === undefined ? undefined : openRenewal,
      ...DEFAULT_TIMES,
      requestTimeoutMs,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      commitTimeoutMs,
      returnAfterMs: RETURN_AFTER_MS,
      Homing,
      codec: { ...jsonCodec, encode: (frame: ClientFrame) => this.#encode(frame) },
      newId: () => `${id}${ids++ === 0 ? '' : `-${ids}`}`.padEnd(22, '_'),
    };
    const session = exported === undefined ? undefined : importSession(exported, CLIENT_KIT);
    this.#machine = new ClientMachine(
      { endpoints: this.#endpoints(), session, token },
      settings,
      this.#effects,
      () => random.float(),
      time.now,
    );
  }

  get cached(): number {
    return this.#hasTransactions ? this.#machine.core.session.cacheSize : 0;
  }

  get ust(): Timestamp {
    return this.#machine.core.session.ust;
  }

  get settling(): boolean {
    const { queue, own } = this.#machine.core;
    return queue.writes.length > 0 || own?.deferred[0] !== undefined;
  }

  get #hasTransactions(): boolean {
    return this.#machine.core.can('transactions');
  }

  observe(ust: Timestamp): void {
    if (this.#connected && this.#hasTransactions) this.#machine.core.session.stable(ust);
  }

  export(part: keyof Carried): Carried {
    const { core } = this.#machine;
    return part === 'token' ? { token: core.currentToken() } : { session: JSON.stringify(core.export()) };
  }

  begin(options: BeginOptions): ClientTransaction {
    if (!this.#hasTransactions) return new MachineOperation(this, ++this.#handles);
    const handle = ++this.#handles;
    this.#give({ kind: 'begin', handle, mode: options.mode, at: options.at?.ts });
    return new MachineTransaction(this, handle, this.#machine.handle(handle).tx, options);
  }

  *status(txId: TxId): Co<{ readonly status: string; readonly ts: Timestamp | null }> {
    const { state, timestamp } = (yield* this.call({ f: 'status', txId })) as TransactionStatus;
    return { status: state, ts: timestamp ?? null };
  }

  /** Connects, and tries again when no node can be reached. */
  *connected(): Co<void> {
    while (!this.#connected) {
      try {
        yield* this.call({ f: 'connect' });
        this.#connected = true;
        this.client.live.connected(this);
      } catch (error) {
        if (!(error instanceof RequestFailed) || error.code === 'SESSION_DEFERRED') throw error;
        yield* this.client.pause(CONNECT_AGAIN_MS * (0.5 + this.client.place.random.float()));
      }
    }
  }

  *call(call: Call): Co<unknown> {
    const settled = yield* waitFor<Settled>((resume) => {
      const settle = (outcome: Settled): void => void this.#settled.push(() => resume(outcome));
      const caller = {
        resolve: (value: unknown) => settle({ value }),
        reject: (reason: unknown) => settle({ reason }),
      };
      this.#give({ kind: 'call', call, caller: call.f === 'commit' ? this.#ownWrites(call.handle, caller) : caller });
    });
    if ('value' in settled) return settled.value;
    const { reason } = settled;
    // INTERNAL is a machine that threw: it ends the run.
    if (reason instanceof IsochronError && reason.code !== 'INTERNAL') throw new RequestFailed(reason.code);
    throw reason;
  }

  /** Reports a transaction to live queries, and its outcome in the step in which the client learns it. */
  #ownWrites(handle: HandleId, { resolve, reject }: Caller<unknown>): Caller<unknown> {
    const { live } = this.client;
    const { id, writes } = this.#machine.handle(handle).tx;
    live.called(id, writes);
    return {
      resolve: (value) => {
        live.committed(id);
        resolve(value);
      },
      reject: (reason) => {
        live.rejected(id, reason);
        reject(reason);
      },
    };
  }

  end(handle: HandleId): void {
    this.#give({ kind: 'end', handle });
  }

  watchLive(observer: LiveObserver, scopes: readonly LiveScope[]): void {
    this.#give({ kind: 'watch', open: openLive, observer, scopes });
  }

  unwatchLive(observer: LiveObserver): void {
    this.#give({ kind: 'unwatch', observer });
  }

  isInUse(handle: HandleId): boolean {
    const { current } = this.#machine.core.connector;
    return current !== undefined && this.#machine.handle(handle).isOpenOn(current);
  }

  watch(txId: TxId, { sent }: CommitHooks, snapshot: () => Snapshot): void {
    this.#watched.set(txId, { sent, snapshot, ...NOT_SENT });
  }

  watchPut(sent: (txId: TxId, resend: (region: RegionId) => void, node: NodeId) => void): void {
    this.#put = sent;
  }

  breakSockets(): void {
    for (const socket of this.#sockets.values()) socket.break();
  }

  /** Loses all messages to its sockets. Returns a function that breaks them. */
  loseAnswers(): () => void {
    const sockets = [...this.#sockets.values()];
    for (const socket of sockets) socket.loseAnswers();
    return () => {
      for (const socket of sockets) socket.break();
    };
  }

  close(): void {
    this.#give({ kind: 'call', call: { f: 'close' }, caller: { resolve: () => {}, reject: () => {} } });
  }

  die(): void {
    this.#isDead = true;
    for (const socket of this.#sockets.values()) socket.break();
  }

  /** The effects that the machine asks for. */
  readonly #effects: ClientEffects = {
    open: (id, url) => this.#open(id, url),
    send: (id, message) => this.#send(id, message as string),
    close: (id) => this.#sockets.get(id)?.leave(),
    load: (protocol) => {
      const { engine, time } = this.client.place;
      time.after(0, () => this.#give({ kind: 'loaded', protocol, engine }));
    },
    authenticate: () => {
      const { time, random } = this.client.place;
      time.after(random.float() * AUTH_MS, () => {
        this.#give({ kind: 'credentials', credentials: newCredentials(this.client.place) });
      });
    },
    setTimer: (atMs) => {
      const { time } = this.client.place;
      if (this.#timer !== undefined) time.cancel(this.#timer);
      this.#timer = Number.isFinite(atMs) ? time.at(atMs, () => this.#give({ kind: 'timer' })) : undefined;
    },
    turn: () => void this.client.time.after(0, () => this.#give({ kind: 'turn' })),
    changed: () => {},
    log: (_level, message) => this.client.place.note(() => message),
  };

  #open(id: SocketId, url: string): void {
    const { sockets, topology, time } = this.client.place;
    const node = topology.nodes.find((one) => url.startsWith(`${urlOf(one)}/`))!;
    const closed = (code: number | undefined): void => {
      this.#sockets.delete(id);
      this.#give({ kind: 'closed', socket: id, code });
    };
    if (!this.client.finds(node)) {
      time.after(1, () => closed(undefined));
      return;
    }
    const socket: ClientSocket<M> = sockets.connect(this.client.region, node, {
      opened: () => this.#give({ kind: 'opened', socket: id }),
      message: (data) => {
        if (this.#losesRefusal(data)) socket.break();
        else this.#give({ kind: 'message', socket: id, data: tapped(this.client.place, 'ruledAnswered', id, data) });
      },
      closed,
    });
    this.#sockets.set(id, socket);
  }

  /**
   * The endpoints that an application names: the nodes of its region, and some others. The client learns the rest from
   * those.
   */
  #endpoints(): string[] {
    const { region, place } = this.client;
    const { topology, random } = place;
    const others = topology.nodes.filter((node) => topology.regionOf(node) !== region);
    const some = Array.from({ length: Math.min(FAR_ENDPOINTS, others.length) }, () => random.pick(others));
    return [...new Set([...topology.nodesOf(region), ...some])].map(urlOf);
  }

  /** A write is passed to the socket that sends next. */
  #encode(frame: ClientFrame): Encoded {
    if (frame.type === 'commit' || frame.type === 'put') this.#leaving.push(frame);
    return jsonCodec.encode(frame);
  }

  #send(id: SocketId, message: string): void {
    const socket = this.#sockets.get(id);
    socket?.write(tapped(this.client.place, 'ruledAsked', id, message));
    for (const frame of this.#leaving.splice(0)) if (socket !== undefined) this.#report(frame, socket.node.id);
  }

  #give(input: Untimed<ClientInput>): void {
    if (this.#isDead) return;
    this.#inputs.push(input);
    if (this.#isStepping) return;
    for (let next = this.#inputs.shift(); next !== undefined; next = this.#inputs.shift()) {
      this.#isStepping = true;
      try {
        this.#machine.step({ ...next, nowMs: this.client.time.now } as ClientInput);
      } finally {
        this.#isStepping = false;
      }
      this.client.live.turned();
      for (let run = this.#settled.shift(); run !== undefined; run = this.#settled.shift()) run();
    }
  }

  /** Reports the first sending of a watched write, and keeps the frame that was sent last. */
  #report(frame: WriteFrame, node: NodeId): void {
    const { tx } = frame;
    if (frame.type === 'put' && this.#put !== undefined && !this.#watched.has(tx)) {
      const sent = this.#put;
      this.#put = undefined;
      this.#watched.set(tx, { sent: (resend, to) => sent(tx, resend, to), ...NOT_SENT });
    }
    const watched = this.#watched.get(tx);
    if (watched === undefined) return;
    watched.frame = watched.snapshot === undefined ? frame : inItsSnapshot(frame, watched.snapshot());
    if (watched.isReported) return;
    watched.isReported = true;
    watched.sent((region) => this.#aside(region, watched), node);
  }

  /**
   * After a refusal before the write began, the next sending is a new one: it may have another home. The earlier one
   * cannot take effect elsewhere after that. If it was also sent elsewhere, its refusal is lost. Returns whether that
   * is so.
   */
  #losesRefusal(message: string): boolean {
    if (!NOT_BEGUN.test(message)) return false;
    const { queue } = this.#machine.core;
    const all = [...this.#watched];
    if (all.some(([tx, { isElsewhere }]) => isElsewhere && queue.isUnderWay(tx))) return true;
    for (const [, watched] of all) watched.frame = undefined;
    return false;
  }

  /** Sends a commit to a node of a region beside the session's own connections. */
  #aside(region: RegionId, watched: WatchedWrite): void {
    const { frame } = watched;
    if (frame === undefined) return;
    watched.isElsewhere = true;
    const { sockets, topology, random, time } = this.client.place;
    const credentials = newCredentials(this.client.place);
    const hello = { type: 'hello', client: 'simulated', ...(credentials === undefined ? {} : { credentials }) };
    const socket: ClientSocket<M> = sockets.connect(this.client.region, random.pick(topology.nodesOf(region)), {
      opened: () => socket.write(JSON.stringify([hello, { ...frame, id: 1 }])),
      message: () => {},
      closed: () => {},
    });
    time.after(ASIDE_MS, () => socket.leave());
  }
}

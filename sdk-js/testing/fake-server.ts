/**
 * A scripted node for the SDK's tests: the session protocol over a loopback WebSocket, on a Map. Several servers may
 * share one store, as the regions of a cluster do. Writes become stable only when the test asks for it.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { wallOf } from '@isochron/core/hlc';
import type { Deps, Origin } from '@isochron/core/ids';
import { Fold } from '@isochron/core/updates/fold';
import { Update } from '@isochron/core/updates/update';
import { isOfLevel } from '@isochron/core/versions';
import { SHARED_SUBPROTOCOL } from '@isochron/wire/channels/entries';
import type {
  ClientFrame,
  CommitFrame,
  Freshness,
  ListFrame,
  PutFrame,
  ReadFrame,
  RequestFrame,
  ServerFrame,
  StartFrame,
  StatusFrame,
  Unresponsive,
  WelcomeFrame,
  WireContent,
  WireSeen,
  WireUpdate,
  WireValue,
} from '@isochron/wire/session-frames';
import { type WebSocket, WebSocketServer } from 'ws';
import { type ServedSocket, SharedServerSocket } from './shared-server.js';

interface StoredVersion extends Origin {
  readonly value: WireContent;
}

/** The shared state of one cluster's fake servers. */
export class FakeStore {
  readonly versions = new Map<string, StoredVersion[]>();
  readonly outcomes = new Map<string, number>();
  clock = 1000;
  ust = 1000;
  /** The entries of a snapshot beside its timestamp, and of a commit. */
  deps: Deps | undefined;

  /** Makes all commits so far stable. */
  stabilise(): number {
    this.ust = this.clock;
    return this.ust;
  }

  commit(frame: Pick<CommitFrame, 'tx' | 'hwt' | 'sentAfter' | 'writes'>): number {
    const known = this.outcomes.get(frame.tx);
    if (known !== undefined) return known;
    this.clock = Math.max(this.clock, frame.hwt, frame.sentAfter) + 1;
    for (const { key, value } of frame.writes) {
      const chain = this.versions.get(key) ?? [];
      chain.push({ ts: this.clock, txId: frame.tx, value });
      this.versions.set(key, chain);
    }
    this.outcomes.set(frame.tx, this.clock);
    return this.clock;
  }

  /** A write of another client. Stable at once. */
  seed(key: string, document: unknown): void {
    const value = JSON.stringify(document);
    this.commit({ tx: `seed${this.clock}`, hwt: 0, sentAfter: 0, writes: [{ key, value }] });
    this.stabilise();
  }

  read(key: string, snapshot: number): readonly [number, WireValue] | null {
    return this.#folded(key, snapshot).value;
  }

  /** The version that made the document of a key. */
  originOf(key: string, snapshot: number): readonly [number, string] | null {
    const { origin } = this.#folded(key, snapshot);
    return origin === undefined ? null : [origin.ts, origin.txId];
  }

  #folded(
    key: string,
    snapshot: number,
  ): { readonly value: readonly [number, WireValue] | null; readonly origin?: Origin | undefined } {
    const chain = (this.versions.get(key) ?? []).filter(({ ts }) => ts <= snapshot);
    const newest = chain.at(-1);
    if (newest === undefined || newest.value === null) return { value: null };
    if (!isUpdate(newest.value)) return { value: [newest.ts, newest.value], origin: newest };
    const from = chain.findLastIndex(({ value }) => !isUpdate(value));
    const base = chain[from]?.value;
    const fold = new Fold(typeof base === 'string' ? base : null, chain[from]);
    for (const { value, ...version } of chain.slice(from + 1))
      if (isUpdate(value)) fold.apply(new Update(value.operations), version);
    const result = fold.result();
    return { value: result === null ? null : [newest.ts, result], origin: fold.origin };
  }

  /** Sorted by code units: the tests' keys are ASCII. */
  keys(): string[] {
    return [...this.versions.keys()].sort();
  }
}

const isUpdate = (content: WireContent): content is WireUpdate =>
  typeof content === 'object' && content !== null && 'operations' in content;

/**
 * A script's reaction to a frame: undefined (the usual answer), an answer of its own, no answer at all, or the end of
 * the connection.
 */
export type Scripted =
  | undefined
  | 'drop'
  | 'close'
  | 'apply-and-drop'
  | 'apply-and-close'
  | ServerFrame
  | Promise<undefined>;

export interface FakeOptions {
  readonly region?: string;
  readonly node?: string;
  readonly credits?: number;
  readonly limits?: Partial<WelcomeFrame['limits']>;
  /** Endpoints in the welcome. */
  readonly regions?: WelcomeFrame['regions'];
  readonly cluster?: string;
  /** Default paris, with all its capabilities. */
  readonly protocol?: string;
  readonly capabilities?: readonly string[];
  /** Whether it serves shared sockets. */
  readonly shared?: boolean;
  /** Its port; default a free one. */
  readonly port?: number;
}

/** A snapshot in the form of frames. */
interface FrameSnapshot {
  readonly snapshot: number;
  readonly deps?: Deps;
}

export const ALL = ['transactions', 'list', 'stable', 'snapshots', 'read-past', 'stable-snapshots'];

export class FakeServer {
  readonly #server: WebSocketServer;
  readonly #open = new Map<ServedSocket, Map<string, FrameSnapshot>>();
  /** Whole sockets, each of a session or of many. */
  readonly sockets = new Set<WebSocket>();
  /** Every frame that came in, and how many came in each message. */
  readonly frames: ClientFrame[] = [];
  readonly packing: number[] = [];
  /** Runs before a frame is answered. */
  script: (frame: ClientFrame, socket: ServedSocket) => Scripted = () => undefined;
  /** Snapshot of starts and reads; default the store's stable time. */
  lag: number | undefined;
  /** The freshness that it reports, if other than the store's. */
  freshness: Partial<Freshness> = {};
  /** The nodes and regions that do not answer it. */
  unresponsive: Unresponsive | undefined;
  /** The welcome's commit timestamp of the session's last write. */
  hwt = 0;
  /** How long credentials are valid once they are accepted; undefined: for ever. */
  lifeMs: number | undefined;
  /** The state that it reports for a token's session. */
  seen: WireSeen | undefined;
  port = 0;
  #waiters: { readonly matches: () => boolean; readonly resolve: () => void }[] = [];

  private constructor(
    readonly store: FakeStore,
    readonly options: FakeOptions,
  ) {
    const { port = 0, shared = false } = options;
    this.#server = new WebSocketServer({
      port,
      host: '127.0.0.1',
      handleProtocols: (offered) => {
        const names = [...offered].filter((name) => shared || name !== SHARED_SUBPROTOCOL);
        return names[0] ?? false;
      },
    });
    this.#server.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.on('close', () => {
        this.sockets.delete(socket);
        this.#look();
      });
      if (socket.protocol === SHARED_SUBPROTOCOL) new SharedServerSocket(socket, (one) => this.#connected(one));
      else this.#connected(socket);
    });
  }

  static async start(store = new FakeStore(), options: FakeOptions = {}): Promise<FakeServer> {
    const server = new FakeServer(store, options);
    await once(server.#server, 'listening');
    server.port = (server.#server.address() as AddressInfo).port;
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get region(): string {
    return this.options.region ?? 'virginia';
  }

  get connections(): number {
    return this.#open.size;
  }

  /** Frames of one type, in the order of their arrival. */
  received<T extends ClientFrame['type']>(type: T): Extract<ClientFrame, { type: T }>[] {
    return this.frames.filter((frame): frame is Extract<ClientFrame, { type: T }> => frame.type === type);
  }

  /** Resolves as soon as the condition holds; checked whenever a frame or a connection comes or goes. */
  until(matches: () => boolean): Promise<void> {
    if (matches()) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push({ matches, resolve }));
  }

  /** Sends to every connection: a frame, or text as it is. */
  push(frame: ServerFrame | string): void {
    for (const socket of this.#open.keys()) socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
  }

  /** Cuts all connections, without a close frame. */
  cut(): void {
    for (const socket of this.sockets) socket.terminate();
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #connected(socket: ServedSocket): void {
    this.#open.set(socket, new Map());
    socket.on('close', () => {
      this.#open.delete(socket);
      this.#look();
    });
    socket.on('message', (data) => {
      const message: unknown = JSON.parse(String(data));
      const frames = (Array.isArray(message) ? message : [message]) as ClientFrame[];
      this.packing.push(frames.length);
      this.frames.push(...frames);
      for (const frame of frames) this.#serve(frame, socket);
      this.#look();
    });
  }

  #look(): void {
    const met = this.#waiters.filter(({ matches }) => matches());
    this.#waiters = this.#waiters.filter((waiter) => !met.includes(waiter));
    for (const { resolve } of met) resolve();
  }

  #serve(frame: ClientFrame, socket: ServedSocket): void {
    const scripted = this.script(frame, socket);
    if (scripted instanceof Promise) void scripted.then(() => this.#reply(this.#answer(frame, socket), socket));
    else if (scripted === undefined) this.#reply(this.#answer(frame, socket), socket);
    else if (scripted === 'apply-and-drop') this.#answer(frame, socket);
    else if (scripted === 'apply-and-close') {
      this.#answer(frame, socket);
      socket.terminate();
    } else if (scripted === 'close') socket.terminate();
    else if (scripted !== 'drop') this.#reply(scripted, socket);
  }

  #reply(frame: ServerFrame, socket: ServedSocket): void {
    if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(frame));
  }

  #answer(frame: ClientFrame, socket: ServedSocket): ServerFrame {
    switch (frame.type) {
      case 'hello':
        return this.welcomeFrame();
      case 'start':
        return this.#start(frame, socket);
      case 'read':
        return this.#read(frame, socket);
      case 'list':
        return this.#list(frame, socket);
      case 'commit':
        return this.#commit(frame, socket);
      case 'origin': {
        const { id, key, at } = frame;
        return { type: 'origin', id, value: this.store.read(key, at), origin: this.store.originOf(key, at) };
      }
      case 'get':
        return this.#got(frame.id, [frame.key]);
      case 'rot':
        return this.#got(frame.id, frame.keys);
      case 'put':
        return this.#put(frame);
      case 'abort':
        this.#open.get(socket)?.delete(frame.tx);
        return { type: 'aborted', id: frame.id };
      case 'status':
        return this.#status(frame);
      case 'stable':
        return this.#stable(frame);
      case 'ping':
        return { type: 'pong', id: frame.id };
      case 'authenticate': {
        const { now } = this.freshnessNow();
        return { type: 'authenticated', id: frame.id, now, ...this.#expiry(now) };
      }
      case 'changes':
      case 'live':
        return refusal(frame.id, 'FRAME_TYPE_UNKNOWN', false);
    }
  }

  #expiry(now: number): { readonly expiresAt?: number } {
    return this.lifeMs === undefined ? {} : { expiresAt: now + this.lifeMs };
  }

  /** Its welcome. */
  welcomeFrame(): WelcomeFrame {
    const { region } = this;
    const { node = `${region}-1`, credits = 256, limits, regions = [], cluster = 'test' } = this.options;
    const { protocol = 'paris', capabilities = ALL } = this.options;
    const ust = this.lag ?? this.store.ust;
    return {
      type: 'welcome',
      region,
      node,
      cluster,
      protocol,
      capabilities,
      ust,
      ...this.#deps(),
      ...(capabilities.includes('stable-snapshots') ? {} : { stable: ust }),
      ...(this.seen === undefined ? {} : { seen: this.seen }),
      hwt: this.hwt,
      freshness: this.freshnessNow(),
      ...(this.unresponsive === undefined ? {} : { unresponsive: this.unresponsive }),
      ...this.#expiry(this.freshnessNow().now),
      token: `${region}-${this.store.ust}`,
      credits,
      limits: {
        maxKeyBytes: 1024,
        maxValueBytes: 1024 * 1024,
        maxKeysPerRequest: 1000,
        maxRequestBytes: 8 * 1024 * 1024,
        ...limits,
      },
      maxTransactionMs: 30_000,
      regions,
    };
  }

  /** The freshness that it reports: its clock stands at the store's stable time. */
  freshnessNow(): Freshness {
    const now = Math.ceil(wallOf(this.lag ?? this.store.ust));
    return { now, stalenessMs: 0, stale: false, heldBackBy: null, ...this.freshness };
  }

  #status({ id, tx }: StatusFrame): ServerFrame {
    const ts = this.store.outcomes.get(tx);
    return ts === undefined
      ? { type: 'status', id, status: 'unknown', ts: null }
      : { type: 'status', id, status: 'committed', ts };
  }

  #start({ id, tx, at, deps }: StartFrame, socket: ServedSocket): ServerFrame {
    const open = this.#open.get(socket);
    if (open?.has(tx)) return refusal(id, 'TX_ID_REUSED', false);
    const snapshot = this.#assigned(at, deps);
    open?.set(tx, snapshot);
    return { type: 'started', id, ...snapshot, token: `${this.region}-${snapshot.snapshot}` };
  }

  #deps(): { readonly deps?: Deps } {
    const { deps } = this.store;
    return deps === undefined ? {} : { deps };
  }

  /** A request with all entries of a snapshot gets that snapshot. */
  #assigned(at: number | undefined, deps: Deps | undefined): FrameSnapshot {
    if (at !== undefined && deps !== undefined) return { snapshot: at, deps };
    return { snapshot: at ?? this.lag ?? this.store.ust, ...this.#deps() };
  }

  #snapshot({ tx, at, deps }: ReadFrame | ListFrame, socket: ServedSocket): FrameSnapshot | undefined {
    return tx === undefined ? this.#assigned(at, deps) : this.#open.get(socket)?.get(tx);
  }

  #read(frame: ReadFrame, socket: ServedSocket): ServerFrame {
    const snapshot = this.#snapshot(frame, socket);
    if (snapshot === undefined) return refusal(frame.id, 'TRANSACTION_UNKNOWN', false);
    const values = frame.keys.map((key) => this.store.read(key, snapshot.snapshot));
    return { type: 'values', id: frame.id, ...snapshot, values };
  }

  #list(frame: ListFrame, socket: ServedSocket): ServerFrame {
    const snapshot = this.#snapshot(frame, socket);
    if (snapshot === undefined) return refusal(frame.id, 'TRANSACTION_UNKNOWN', false);
    const { keyspace, prefix = '', start = '', limit = 100, level } = frame;
    const found: [string, number, WireValue][] = [];
    for (const qualified of this.store.keys()) {
      const key = qualified.slice(keyspace.length + 1);
      if (!qualified.startsWith(`${keyspace}/${prefix}`) || key < start || !isOfLevel(level, qualified)) continue;
      const version = this.store.read(qualified, snapshot.snapshot);
      if (version !== null) found.push([key, ...version]);
    }
    const next = found[limit]?.[0] ?? null;
    return { type: 'listed', id: frame.id, ...snapshot, entries: found.slice(0, limit), next };
  }

  #commit(frame: CommitFrame, socket: ServedSocket): ServerFrame {
    if (frame.snapshot === undefined && !this.#open.get(socket)?.has(frame.tx))
      return refusal(frame.id, 'TRANSACTION_UNKNOWN', false);
    this.#open.get(socket)?.delete(frame.tx);
    const ts = this.store.commit(frame);
    return { type: 'committed', id: frame.id, ts, ...this.#deps(), token: `${this.region}-w${ts}` };
  }

  /** For single operations: everything is visible at once, and the seen timestamp is that of the store's clock. */
  #got(id: number, keys: readonly string[]): ServerFrame {
    const { clock, ust } = this.store;
    const values = keys.map((key) => this.store.read(key, clock));
    return { type: 'got', id, values, seen: [clock, 0], ust, token: `${this.region}-${clock}` };
  }

  #put({ id, tx, sentAfter, key, value, attemptRegions }: PutFrame): ServerFrame {
    const ts = this.store.commit({ tx, hwt: 0, sentAfter, writes: [{ key, value }] });
    const region = attemptRegions.at(-1) ?? this.region;
    return { type: 'written', id, ts, seen: [ts, 0], region, ust: this.store.ust, token: `${this.region}-w${ts}` };
  }

  #stable({ id, ts }: Extract<ClientFrame, { type: 'stable' }>): ServerFrame {
    const { ust } = this.store;
    return ust >= ts ? { type: 'stable', id, ust } : refusal(id, 'STABLE_TIMEOUT', true);
  }

  /** Transactions that are open on all connections. */
  get openTransactions(): number {
    return [...this.#open.values()].reduce((sum, open) => sum + open.size, 0);
  }
}

/** An error frame. */
export const refusal = (id: number | undefined, code: string, retryable: boolean): ServerFrame => ({
  type: 'error',
  ...(id === undefined ? {} : { id }),
  code,
  detail: `scripted ${code}`,
  retryable,
});

/** Id of a request frame. */
export const idOf = (frame: ClientFrame): number => (frame as RequestFrame).id;

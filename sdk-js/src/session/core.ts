/** What all parts of one client share: session, connection, commits, limits, status. */
import { IsochronError } from '@isochron/core/errors';
import type { Timestamp, TxId } from '@isochron/core/ids';
import { DEFAULT_LIMITS, type Limits } from '@isochron/core/limits';
import type { Session } from '@isochron/protocols/kernel/transactions/session';
import type { HeldBack, UstFrame } from '@isochron/wire/session-frames';
import type { ConnectOptions, Settings } from '../options.js';
import { Connector, type ConnectorEvents } from '../transport/connector.js';
import type { Exchange } from '../transport/exchange.js';
import type { Welcome } from '../transport/frames.js';
import type { Engine } from './engine.js';
import { type ImportedSession, importSession, otherProtocol } from './exported.js';
import { OneByOne } from './one-by-one.js';
import { loadEngine } from './protocols.js';
import { ServerClock } from './server-clock.js';
import { StableExchange } from './stable.js';
import { type TransactionStatus, TxStatusExchange } from './tx-status.js';

/** How the client is doing. */
export interface ClientStatus {
  /** `offline`: no connection at the moment; requests wait for the next one. */
  readonly state: 'connecting' | 'online' | 'offline' | 'closed';
  /** Region and node of the connection; undefined while there is none. */
  readonly region: string | undefined;
  readonly node: string | undefined;
  /** Last measured round trip, in ms. */
  readonly rttMs: number | undefined;
  /** Timestamp of the highest snapshot that the session has seen; under PaRiS it is a stable one. */
  readonly ust: Timestamp;
  /** Age of that timestamp by the node's clock, in ms: what the session reads is at most this old. Undefined before the first one. */
  readonly stalenessMs: number | undefined;
  /** Whether stable time has fallen behind the cluster's `stalenessAlertMs`: a region is down or cut off. Reads and writes go on. */
  readonly stale: boolean;
  /** Whose writes are missing, while `stale` and where the node knows. */
  readonly heldBackBy: HeldBack | undefined;
  /**
   * Nodes that do not answer the node of the connection: new writes avoid their regions. Empty while there is no
   * connection.
   */
  readonly unresponsive: readonly string[];
  /** Commits whose outcome is not known yet, those that wait for their turn included. */
  readonly pendingCommits: number;
  /** How long ago the oldest of them was asked for, in ms; undefined while there is none. */
  readonly oldestPendingCommitMs: number | undefined;
}

type Listener = (status: ClientStatus) => void;

export class SessionCore implements ConnectorEvents {
  readonly connector: Connector;
  /** What the session does one at a time: writes; under protocols of single operations, everything. */
  readonly queue: OneByOne;
  readonly clock = new ServerClock();
  limits: Limits = DEFAULT_LIMITS;
  /** What the cluster can do, as its last node has said. */
  #capabilities: readonly string[] = [];
  #token: string | undefined;
  #engine: Engine | undefined;
  #protocol = '';
  /** Everything up to here is known to be in every region. */
  #stable: Timestamp = 0;
  /**
   * Every node of every region serves everything up to here, as a node has answered: what is stable at one node may not
   * be served yet.
   */
  #served: Timestamp = 0;
  readonly #imported: ImportedSession | undefined;
  /** The session's last write as its token has it, where that is not known to be visible everywhere. */
  #tokenHwt: Timestamp = 0;
  readonly #listeners = new Set<Listener>();
  #telling = false;

  constructor(
    options: ConnectOptions,
    readonly settings: Settings,
  ) {
    const imported = options.session === undefined ? undefined : importSession(options.session);
    this.#token = imported?.token ?? options.token;
    this.#imported = imported;
    this.connector = new Connector(options.endpoints, settings, this);
    this.queue = new OneByOne(this);
    this.connector.dispatcher.onSweep = (nowMs) => this.queue.sweep(nowMs);
  }

  /** There is one once a node has been met; nobody has the client before. */
  get engine(): Engine {
    if (this.#engine === undefined) throw new IsochronError('CONNECTION_LOST', 'no node has been met yet');
    return this.#engine;
  }

  /** The session of transactions. Throws NOT_SUPPORTED_BY_PROTOCOL where there are none. */
  get session(): Session {
    const { session } = this.engine;
    if (session !== undefined) return session;
    const instead = 'get, set and delete keys, one or a few at a time';
    const message = `the protocol of this cluster, ${this.#protocol}, has no transactions, snapshots and listings: ${instead}`;
    throw new IsochronError('NOT_SUPPORTED_BY_PROTOCOL', message);
  }

  /** Name of the cluster's protocol. */
  get protocol(): string {
    return this.#protocol;
  }

  /** Whether the cluster's protocol can do something, by its name in `welcome`. */
  can(capability: string): boolean {
    return this.#capabilities.includes(capability);
  }

  get status(): ClientStatus {
    const { current } = this.connector;
    const ust = this.#engine?.ust ?? 0;
    return {
      state: this.#state(),
      region: current?.region,
      node: current?.welcome.node,
      rttMs: current?.rttMs,
      ust,
      stalenessMs: this.clock.ageMs(ust),
      stale: this.clock.latest?.stale ?? false,
      heldBackBy: this.clock.latest?.heldBackBy ?? undefined,
      unresponsive: current?.unresponsive.nodes ?? [],
      pendingCommits: this.queue.writes,
      oldestPendingCommitMs: this.queue.oldestWriteMs(performance.now()),
    };
  }

  /** The session's newest token. */
  currentToken(): string | undefined {
    return this.#token;
  }

  token(token: string): void {
    this.#token = token;
  }

  /** Loads what the cluster's protocol needs. Rejects with NOT_SUPPORTED_BY_PROTOCOL, or TOKEN_INVALID for a session of another one. */
  async prepare(welcome: Welcome): Promise<void> {
    const { protocol } = welcome;
    if (this.#engine === undefined) await this.#begin(welcome);
    if (this.#protocol !== protocol)
      throw new IsochronError('CONNECTION_LOST', `the endpoint runs another protocol, ${protocol}`);
  }

  async #begin(welcome: Welcome): Promise<void> {
    const { protocol } = welcome;
    if (this.#imported !== undefined && this.#imported.protocol !== protocol)
      throw otherProtocol(this.#imported.protocol, protocol);
    const open = await loadEngine(protocol);
    // Another endpoint may have been quicker.
    if (this.#engine !== undefined) return;
    this.#engine = open(this, welcome, this.#imported);
    this.#protocol = protocol;
  }

  welcomed(welcome: Welcome): void {
    this.#capabilities = welcome.capabilities;
    this.limits = welcome.limits;
    this.#token = welcome.token;
    this.#tokenHwt = welcome.hwt;
    this.clock.take(welcome.freshness);
    this.engine.welcomed(welcome);
    this.#sawStable(welcome.stable ?? 0);
  }

  ust({ ust, freshness }: UstFrame): void {
    this.clock.take(freshness);
    this.#sawStable(ust);
    this.changed();
  }

  /** An answer is overdue on a connection that seems alive. */
  suspect(exchange: Exchange): void {
    this.connector.suspect(exchange);
  }

  /** Tells the listeners, once for all changes of a turn. */
  changed(): void {
    if (this.#telling || this.#listeners.size === 0) return;
    this.#telling = true;
    queueMicrotask(() => {
      this.#telling = false;
      const { status } = this;
      for (const listener of this.#listeners) listener(status);
    });
  }

  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resolves once every new session of every region sees what was written at `timestamp`. */
  async stable(timestamp: Timestamp, timeoutMs: number, signal?: AbortSignal): Promise<void> {
    if (timestamp <= this.#served) return;
    const { dispatcher } = this.connector;
    const served = await new StableExchange(timestamp, timeoutMs, this.settings).run(dispatcher.submit, signal);
    this.#served = Math.max(this.#served, served);
    this.#sawStable(served);
  }

  /** A token comes without the writes that it knows of: they are part of every snapshot once stable time has passed them (D9). */
  async closeGap(signal?: AbortSignal): Promise<void> {
    // Stable at the node of the connection is enough for what this session reads itself.
    if (this.#tokenHwt <= (this.can('stable-snapshots') ? this.engine.ust : this.#stable)) return;
    try {
      await this.stable(this.#tokenHwt, this.settings.requestTimeoutMs, signal);
    } catch (cause) {
      if (!(cause instanceof IsochronError) || cause.code !== 'STABLE_TIMEOUT') throw cause;
      const message = 'what the session of the token wrote is not visible everywhere yet';
      throw new IsochronError('SESSION_GAP', message, { cause });
    }
  }

  /** What became of a transaction, of this session or of any other. */
  async txStatus(txId: TxId, birth?: Timestamp, signal?: AbortSignal): Promise<TransactionStatus> {
    if (!this.can('transactions')) {
      const instead = 'a write that is repeated under its id says so itself';
      const message = `the protocol of this cluster, ${this.#protocol}, cannot be asked what became of a write: ${instead}`;
      throw new IsochronError('NOT_SUPPORTED_BY_PROTOCOL', message);
    }
    const { dispatcher } = this.connector;
    const status = await new TxStatusExchange(txId, birth).run(dispatcher.submitTimed, signal);
    // This client still repeats it: an attempt that was aborted, or has not arrived, is not the last one.
    const undecided = status.state !== 'committed' && this.queue.isUnderWay(txId);
    return undecided ? { state: 'pending', timestamp: undefined } : status;
  }

  /** Goes on without the write whose outcome is not known, as another session; returns its id. */
  detach(): TxId | undefined {
    return this.queue.detach(() => this.engine.detach());
  }

  async close(): Promise<void> {
    // First those that wait, or each would move up only to be turned away.
    this.queue.close();
    const closing = this.connector.close();
    this.changed();
    await closing;
  }

  #sawStable(ust: Timestamp): void {
    this.#stable = Math.max(this.#stable, ust);
    this.engine.stable(ust);
  }

  #state(): ClientStatus['state'] {
    if (this.connector.isClosed) return 'closed';
    if (this.connector.current !== undefined) return 'online';
    return this.#engine !== undefined ? 'offline' : 'connecting';
  }
}

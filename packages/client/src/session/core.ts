/** The state that all parts of one client share: session, connection, commits, limits, status. */

import type { SessionCut } from '@isochron/core/cuts';
import { IsochronError } from '@isochron/core/errors';
import type { Timestamp, TxId } from '@isochron/core/ids';
import { DEFAULT_LIMITS, type Limits } from '@isochron/core/limits';
import type { OwnCommits } from '@isochron/protocols/kernel/transactions/own-commits';
import type { Session } from '@isochron/protocols/kernel/transactions/session';
import type { Freshness, HeldBack, UstFrame } from '@isochron/wire/session-frames';
import { invalidSession, toIsochronError } from '../errors.js';
import { Connector, type ConnectorEvents } from '../link/connector.js';
import type { Caller, Cancellable, Exchange } from '../link/exchange.js';
import type { Welcome } from '../link/frames.js';
import type { LiveQueries } from '../live/observer.js';
import type { Loop, Timer } from '../loop.js';
import type { ClientOptions, ClientSettings } from '../settings.js';
import type { TransactionStatus } from '../transaction-status.js';
import { type CloseReport, CommitQueue } from './commit-queue.js';
import type { Engine, OpenEngine } from './engine.js';
import { type ExportedSession, exportSession, type ImportedSession } from './exported.js';
import { CLIENT_KIT } from './kit.js';
import type { ClientParts } from './parts.js';
import { Recommits } from './recommits.js';
import { ServerClock } from './server-clock.js';
import { StableExchange } from './stable.js';
import { TxStatusExchange } from './tx-status.js';

/** The state of the client. */
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
  /**
   * Age of that timestamp by the node's clock, in ms: what the session reads is at most this old. Undefined before the
   * first one.
   */
  readonly stalenessMs: number | undefined;
  /**
   * Whether stable time has fallen behind the cluster's `stalenessAlertMs`: a region is down or cut off, or this client
   * has no connection. Reads and writes go on.
   */
  readonly stale: boolean;
  /** The region or node whose writes are missing, while `stale`; undefined if not known to the node. */
  readonly heldBackBy: HeldBack | undefined;
  /**
   * Nodes that do not answer the node of the connection: new writes avoid their regions. Empty while there is no
   * connection.
   */
  readonly unresponsive: readonly string[];
  /** Commits whose outcome is not known yet, those that wait for their turn included. */
  readonly pendingCommits: number;
  /**
   * Commits that succeeded and that no other session sees, because a node that they need was suspended: they are being
   * committed again, and later writes wait for them. Until then the session's reads show what it has seen before.
   */
  readonly deferredCommits: number;
  /** Age of the oldest of them, in ms; undefined if there is none. */
  readonly oldestPendingCommitMs: number | undefined;
}

/** Begins live queries: `live/live` has it. */
export type OpenLive = (core: ClientCore) => LiveQueries;

export class ClientCore implements ClientParts, ConnectorEvents {
  readonly connector: Connector;
  readonly queue: CommitQueue;
  readonly recommits: Recommits;
  readonly clock = new ServerClock();
  limits: Limits = DEFAULT_LIMITS;
  /** Live queries, from the first call on. */
  live: LiveQueries | undefined;
  /** The cluster's capabilities, by the newest welcome. */
  #capabilities: readonly string[] = [];
  #token: string | undefined;
  #engine: Engine | undefined;
  #protocol = '';
  /** Connections that wait until the client of their protocol is loaded. */
  readonly #loading = new Map<string, ((loaded: OpenEngine | IsochronError) => void)[]>();
  /** Every region has all writes up to this timestamp. */
  #stable: Timestamp = 0;
  /**
   * Every node of every region serves all writes up to here, by a node's answer: a write that is stable at one node may
   * not be served yet.
   */
  #served: Timestamp = 0;
  readonly #imported: ImportedSession | undefined;
  /** The session's last write in its token, if it is not known to be visible everywhere. */
  #tokenHwt: Timestamp = 0;
  /** A map may have deferred that write. */
  #isCut = false;
  /** The cluster's `stalenessAlertMs`. */
  #alertMs = Number.POSITIVE_INFINITY;
  /** Steady time at which stable time is that far behind, unless a node reports before. */
  #staleMs = Number.POSITIVE_INFINITY;
  #alert: Timer | undefined;
  #hasNews = false;
  /** The callers that wait until the client has closed; undefined before the first call. */
  #closing: ((report: CloseReport) => void)[] | undefined;
  #flushedBy = Number.POSITIVE_INFINITY;
  #report: CloseReport | undefined;

  /** @throws IsochronError INVALID_REQUEST for endpoints that are no URLs */
  constructor(
    readonly loop: Loop,
    { endpoints, session, token }: ClientOptions,
    readonly settings: ClientSettings,
  ) {
    this.#token = session?.token ?? token;
    this.#imported = session;
    this.connector = new Connector(loop, endpoints, settings, this);
    this.queue = new CommitQueue(this);
    this.recommits = new Recommits(this, this.queue);
    this.connector.dispatcher.onSweep = (nowMs) => this.queue.sweep(nowMs);
    this.connector.renewal = settings.renewal?.(CLIENT_KIT, loop, settings, this.connector);
  }

  /** Defined from the first welcome on. */
  get engine(): Engine {
    if (this.#engine === undefined) throw new IsochronError('CONNECTION_LOST', 'no node has answered yet');
    return this.#engine;
  }

  /** The session of transactions. Throws NOT_SUPPORTED_BY_PROTOCOL if there is none. */
  get session(): Session {
    const { session } = this.engine;
    if (session !== undefined) return session;
    throw this.unsupported('has only get, set and delete');
  }

  get own(): OwnCommits | undefined {
    return this.can('stable-snapshots') ? this.#engine?.session?.own : undefined;
  }

  /** The error of a call that the cluster's protocol does not support. */
  unsupported(what: string): IsochronError {
    return new IsochronError('NOT_SUPPORTED_BY_PROTOCOL', `the cluster's protocol, ${this.#protocol}, ${what}`);
  }

  /** Name of the cluster's protocol. */
  get protocol(): string {
    return this.#protocol;
  }

  /** Whether the cluster's protocol has a capability, by its name in `welcome`. */
  can(capability: string): boolean {
    return this.#capabilities.includes(capability);
  }

  /** Throws NOT_SUPPORTED_BY_PROTOCOL if the cluster's protocol has no updates. */
  requireUpdates(): void {
    if (!this.can('updates')) throw this.unsupported('has no updates: get and set');
  }

  status(nowMs: number): ClientStatus {
    const { current } = this.connector;
    const ust = this.#engine?.ust ?? 0;
    const writesSinceMs = this.queue.writes.map(({ queuedMs }) => queuedMs);
    return {
      state: this.#state(),
      region: current?.region,
      node: current?.welcome.node,
      rttMs: current?.rttMs,
      ust,
      stalenessMs: this.clock.ageMs(ust, nowMs),
      stale: this.clock.latest?.stale === true || nowMs >= this.#staleMs,
      heldBackBy: this.clock.latest?.heldBackBy ?? undefined,
      unresponsive: current?.unresponsive.nodes ?? [],
      pendingCommits: writesSinceMs.length,
      deferredCommits: this.own?.deferred.length ?? 0,
      oldestPendingCommitMs:
        writesSinceMs.length === 0 ? undefined : Math.max(0, nowMs - this.loop.stalledMs - Math.min(...writesSinceMs)),
    };
  }

  /** The session as data. @throws IsochronError CONNECTION_LOST before the first welcome */
  export(): ExportedSession {
    return exportSession(this.engine.export(), this.#token ?? '', this.#protocol);
  }

  /**
   * The session's newest token. While an older connection still answers, it may lack for a round trip the changes of
   * one of the two.
   */
  currentToken(): string | undefined {
    return this.#token;
  }

  token(token: string): void {
    this.#token = token;
  }

  /**
   * Loads the client of the cluster's protocol. Ends with NOT_SUPPORTED_BY_PROTOCOL if there is none, with
   * TOKEN_INVALID for a session of another protocol.
   */
  prepare(welcome: Welcome, done: (error?: IsochronError) => void): void {
    const { protocol } = welcome;
    const foreign = this.#imported !== undefined && this.#imported.protocol !== protocol;
    if (this.#engine !== undefined) done(this.#misfit(protocol));
    else if (foreign)
      done(invalidSession(`it is of the protocol ${this.#imported.protocol}, the cluster runs ${protocol}`));
    else this.#load(protocol, (loaded) => done(this.#begin(loaded, welcome)));
  }

  #load(protocol: string, done: (loaded: OpenEngine | IsochronError) => void): void {
    const waiting = this.#loading.get(protocol);
    if (waiting !== undefined) {
      waiting.push(done);
      return;
    }
    this.#loading.set(protocol, [done]);
    this.loop.out.load(protocol);
  }

  /** The driver has loaded the client of a protocol, or cannot. */
  loaded(protocol: string, engine: OpenEngine | IsochronError): void {
    const waiting = this.#loading.get(protocol) ?? [];
    this.#loading.delete(protocol);
    for (const done of waiting) done(engine);
  }

  /** Begins with the first endpoint whose protocol is loaded. Returns why the client cannot use this one. */
  #begin(loaded: OpenEngine | IsochronError, welcome: Welcome): IsochronError | undefined {
    if (loaded instanceof IsochronError) return loaded;
    if (this.#engine === undefined) {
      try {
        this.#engine = loaded(this, CLIENT_KIT, welcome, this.#imported);
      } catch (error) {
        return toIsochronError(error);
      }
      this.#protocol = welcome.protocol;
    }
    return this.#misfit(welcome.protocol);
  }

  #misfit(protocol: string): IsochronError | undefined {
    if (this.#protocol === protocol) return undefined;
    return new IsochronError('CONNECTION_LOST', `the endpoint runs another protocol, ${protocol}`);
  }

  welcomed(welcome: Welcome): void {
    this.#capabilities = welcome.capabilities;
    this.limits = welcome.limits;
    this.#token = welcome.token;
    this.#tokenHwt = welcome.hwt;
    this.#alertMs = welcome.stalenessAlertMs ?? this.#alertMs;
    this.#fresh(welcome.freshness);
    // An imported session may have deferred commits.
    this.#cut(welcome.cuts, this.own?.deferred[0] !== undefined);
    this.engine.welcomed(welcome);
    this.#sawStable(welcome.stable ?? 0);
  }

  ust({ ust, freshness, cuts }: UstFrame): void {
    this.#fresh(freshness);
    this.#cut(cuts);
    this.#sawStable(ust);
    this.changed();
  }

  /** Maps have suspended nodes: some of the session's commits may be deferred (M10). */
  #cut(cuts: readonly SessionCut[] = [], wasBehind = false): void {
    this.#isCut ||= cuts.some(({ horizon }) => this.#tokenHwt > horizon);
    let defers = wasBehind;
    for (const cut of cuts) defers = this.own?.cut(cut) === true || defers;
    if (defers) this.recommits.next();
  }

  /** The program stood still, as in a sleeping machine: the network may have changed, and ages have grown. */
  woke(): void {
    this.connector.dispatcher.woke();
    this.connector.networkChanged();
    this.changed();
  }

  /** An answer is overdue on a connection that seems alive. Returns whether a connection owes it. */
  suspect(exchange: Exchange): boolean {
    return this.connector.suspect(exchange);
  }

  /** The status has changed: the driver is notified once for all changes of a turn. */
  changed(): void {
    if (this.#hasNews) return;
    this.#hasNews = true;
    this.loop.atTurnsEnd(() => {
      this.#hasNews = false;
      this.loop.out.changed();
    });
  }

  /** Connects, and waits until the session of a token sees its own writes. */
  connect(caller: Caller<void>): Cancellable {
    const started = (): void => {
      if (this.#imported === undefined) current = this.#closeGap(caller);
      else caller.resolve();
    };
    let current: Cancellable | undefined = this.connector.start({
      resolve: started,
      reject: caller.reject,
    });
    return { cancel: (reason) => current?.cancel(reason) };
  }

  /**
   * Resolves once every new session of every region sees the writes at `timestamp`: with the timestamp of the last
   * write, which has changed if the write was deferred since.
   */
  stable(timestamp: Timestamp, timeoutMs: number, { resolve, reject }: Caller<Timestamp>): Cancellable | undefined {
    const finalAt = (): Timestamp => this.own?.finalOf(timestamp) ?? timestamp;
    if (finalAt() <= this.#served) {
      resolve(finalAt());
      return undefined;
    }
    const { dispatcher } = this.connector;
    const took = (served: Timestamp): void => {
      const final = finalAt();
      this.#served = Math.max(this.#served, served);
      this.#sawStable(served);
      resolve(final);
    };
    const exchange = new StableExchange(this.loop, timestamp, finalAt, timeoutMs, this.settings.requestTimeoutMs);
    return exchange.run(dispatcher.submit, { resolve: took, reject });
  }

  /**
   * A token comes without the writes that it names: they are part of every snapshot once stable time has passed them
   * (D9).
   */
  #closeGap({ resolve, reject }: Caller<void>): Cancellable | undefined {
    const deferred = 'what the session of the token wrote last may wait for a node that was suspended';
    const end = (): void => {
      if (this.#isCut) reject(new IsochronError('SESSION_DEFERRED', deferred));
      else resolve();
    };
    // Stable at the node of the connection is enough for this session's own reads.
    if (this.#isCut || this.#tokenHwt <= (this.can('stable-snapshots') ? this.engine.ust : this.#stable)) {
      end();
      return undefined;
    }
    const failed = (cause: unknown): void => {
      const isLate = cause instanceof IsochronError && cause.code === 'STABLE_TIMEOUT';
      const message = 'what the session of the token wrote is not visible everywhere yet';
      reject(isLate ? new IsochronError('SESSION_GAP', message, { cause }) : cause);
    };
    return this.stable(this.#tokenHwt, this.settings.requestTimeoutMs, { resolve: end, reject: failed });
  }

  /** The status of a transaction, of this session or of any other. */
  txStatus(txId: TxId, sentAfter: Timestamp | undefined, caller: Caller<TransactionStatus>): Cancellable | undefined {
    if (!this.can('transactions')) {
      caller.reject(this.unsupported('keeps no outcomes of writes'));
      return undefined;
    }
    const { dispatcher } = this.connector;
    const resolve = (status: TransactionStatus): void => {
      // This client still repeats it: an attempt that was aborted, or has not arrived, is not the last one.
      const undecided = status.state !== 'committed' && this.queue.isUnderWay(txId);
      caller.resolve(undecided ? { state: 'pending', timestamp: undefined } : status);
    };
    return new TxStatusExchange(txId, sentAfter).run(dispatcher.submitTimed, { resolve, reject: caller.reject });
  }

  /** Goes on without the undecided write, as another session; returns its id. */
  detach(): TxId | undefined {
    const deferred = this.recommits.drop();
    if (deferred === undefined) return this.queue.detach(() => this.engine.detach());
    this.queue.resume();
    return deferred;
  }

  /** Ends everything but writes, and these after `flushMs`. A later call may end them earlier. */
  close({ resolve }: Caller<CloseReport>, flushMs = 0): void {
    if (this.#closing === undefined) {
      this.live?.close();
      this.queue.drain();
      this.connector.dispatcher.drain();
    }
    this.#closing = [...(this.#closing ?? []), resolve];
    const endMs = this.loop.nowMs + flushMs;
    if (endMs < this.#flushedBy) {
      this.#flushedBy = endMs;
      this.loop.after(flushMs, () => this.endFlush());
    }
    this.changed();
  }

  /** Whether no calls are taken any more. */
  get isClosing(): boolean {
    return this.#closing !== undefined;
  }

  /** Gives everything up if the client is closing, once no write is left or their time is over. */
  endFlush(): void {
    const done = this.#closing;
    if (done === undefined || done.length === 0 || (!this.queue.isEmpty && this.loop.nowMs < this.#flushedBy)) return;
    this.#closing = [];
    // First the waiting ones, or each would move up only to be refused.
    this.#report ??= this.queue.close();
    const report = this.#report;
    this.connector.close(() => {
      for (const resolve of done) resolve(report);
    });
    this.changed();
  }

  /** A node has reported its freshness. Without another report, it becomes stale by the local clock. */
  #fresh(freshness: Freshness): void {
    this.clock.take(freshness, this.loop.steadyMs);
    this.loop.cancel(this.#alert);
    const leftMs = this.#alertMs - freshness.stalenessMs + 1;
    this.#staleMs = this.loop.steadyMs + leftMs;
    this.#alert = this.loop.after(leftMs, () => this.changed());
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

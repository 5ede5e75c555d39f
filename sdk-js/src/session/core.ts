/** What all parts of one client share: session, connection, commits, limits, status. */
import { IsochronError } from '@isochron/core/errors';
import type { Timestamp, TxId } from '@isochron/core/ids';
import { DEFAULT_LIMITS, type Limits } from '@isochron/core/limits';
import { ParisSession } from '@isochron/protocols/paris/session';
import type { HeldBack, UstFrame, WelcomeFrame } from '@isochron/wire/session-frames';
import { randomSessionId } from '../encoding.js';
import type { ConnectOptions, Settings } from '../options.js';
import { Connector, type ConnectorEvents } from '../transport/connector.js';
import type { Exchange } from '../transport/exchange.js';
import { CommitQueue } from './commits.js';
import { importSession } from './exported.js';
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
  /** Highest stable timestamp that the session has seen. */
  readonly ust: Timestamp;
  /** Age of that timestamp by the node's clock, in ms: what the session reads is at most this old. Undefined before the first one. */
  readonly stalenessMs: number | undefined;
  /** Whether stable time has fallen behind the cluster's `stalenessAlertMs`: a region is down or cut off. Reads and writes go on. */
  readonly stale: boolean;
  /** Whose writes are missing, while `stale` and where the node knows. */
  readonly heldBackBy: HeldBack | undefined;
  /** Commits whose outcome is not known yet, those that wait for their turn included. */
  readonly pendingCommits: number;
}

type Listener = (status: ClientStatus) => void;

export class SessionCore implements ConnectorEvents {
  readonly session: ParisSession;
  readonly connector: Connector;
  readonly commits: CommitQueue;
  readonly clock = new ServerClock();
  limits: Limits = DEFAULT_LIMITS;
  #token: string | undefined;
  #welcomed = false;
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
    // A new name in any case: two holders of one exported session must not make the same transaction ids (P8).
    this.session = new ParisSession(randomSessionId(), imported?.state);
    this.connector = new Connector(options.endpoints, settings, this);
    this.commits = new CommitQueue(this);
    this.connector.dispatcher.onSweep = (nowMs) => this.commits.sweep(nowMs);
  }

  get status(): ClientStatus {
    const { current } = this.connector;
    const { ust } = this.session;
    return {
      state: this.#state(),
      region: current?.region,
      node: current?.welcome.node,
      rttMs: current?.rttMs,
      ust,
      stalenessMs: this.clock.ageMs(ust),
      stale: this.clock.latest?.stale ?? false,
      heldBackBy: this.clock.latest?.heldBackBy ?? undefined,
      pendingCommits: this.commits.size,
    };
  }

  /** The session's newest token. */
  currentToken(): string | undefined {
    return this.#token;
  }

  token(token: string): void {
    this.#token = token;
  }

  welcomed(welcome: WelcomeFrame): void {
    this.#welcomed = true;
    this.limits = welcome.limits;
    this.#token = welcome.token;
    this.#tokenHwt = welcome.hwt;
    this.clock.take(welcome.freshness);
    this.session.observe(welcome.ust);
  }

  ust({ ust, freshness }: UstFrame): void {
    this.clock.take(freshness);
    this.session.observe(ust);
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

  /** Resolves once `timestamp` is visible in every region. */
  async stable(timestamp: Timestamp, timeoutMs: number, signal?: AbortSignal): Promise<void> {
    if (timestamp <= this.session.ust) return;
    const { dispatcher } = this.connector;
    const ust = await new StableExchange(timestamp, timeoutMs, this.settings).run(dispatcher.submit, signal);
    this.session.observe(ust);
  }

  /** A token comes without the writes that it knows of: they are part of every snapshot once stable time has passed them (D9). */
  async closeGap(signal?: AbortSignal): Promise<void> {
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
    const { dispatcher } = this.connector;
    const status = await new TxStatusExchange(txId, birth).run(dispatcher.submitTimed, signal);
    // This client still repeats it: an attempt that was aborted, or has not arrived, is not the last one.
    const undecided = status.state !== 'committed' && this.commits.isUnderWay(txId);
    return undecided ? { state: 'pending', timestamp: undefined } : status;
  }

  async close(): Promise<void> {
    // First those that wait, or each would move up only to be turned away.
    this.commits.close();
    const closing = this.connector.close();
    this.changed();
    await closing;
  }

  #state(): ClientStatus['state'] {
    if (this.connector.isClosed) return 'closed';
    if (this.connector.current !== undefined) return 'online';
    return this.#welcomed ? 'offline' : 'connecting';
  }
}

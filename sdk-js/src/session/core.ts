/** What all parts of one client share: session, connection, commits, limits, status. */
import { wallOf } from '@isochron/core/hlc';
import type { Timestamp } from '@isochron/core/ids';
import { DEFAULT_LIMITS, type Limits } from '@isochron/core/limits';
import { ParisSession } from '@isochron/protocols/paris/session';
import type { WelcomeFrame } from '@isochron/wire/session-frames';
import { randomSessionId } from '../encoding.js';
import type { ConnectOptions, Settings } from '../options.js';
import { Connector, type ConnectorEvents } from '../transport/connector.js';
import type { Exchange } from '../transport/exchange.js';
import { CommitQueue } from './commits.js';
import { importSession } from './exported.js';
import { StableExchange } from './stable.js';

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
  /** Age of that timestamp by this machine's clock, in ms; undefined before the first one. */
  readonly stalenessMs: number | undefined;
  /** Commits whose outcome is not known yet, those that wait for their turn included. */
  readonly pendingCommits: number;
}

type Listener = (status: ClientStatus) => void;

export class SessionCore implements ConnectorEvents {
  readonly session: ParisSession;
  readonly connector: Connector;
  readonly commits: CommitQueue;
  limits: Limits = DEFAULT_LIMITS;
  #token: string | undefined;
  #welcomed = false;
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
      stalenessMs: ust === 0 ? undefined : Math.max(0, Date.now() - wallOf(ust)),
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
    this.session.observe(welcome.ust);
  }

  ust(ust: Timestamp): void {
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

/**
 * The requests for changes of all scopes, one after the other: the newest one waits at the node, and a new one takes
 * the place of it there. The scopes belong to a connection: on another one, the first requests name all of them (LQ3).
 */
import { fullJitterMs } from '@isochron/core/backoff';
import type { IsochronError } from '@isochron/core/errors';
import type { Timestamp } from '@isochron/core/ids';
import type { LiveFrame, WatchedScope } from '@isochron/wire/session-frames';
import type { Carrier } from '../link/exchange.js';
import type { Timer } from '../loop.js';
import type { ClientCore } from '../session/core.js';
import type { LiveAnswer } from './frames.js';
import { LiveExchange, type LiveRequests } from './live-exchange.js';
import type { AnsweredRequest } from './position.js';
import type { Scope } from './scope.js';

/** How long a request waits for changes. */
const WAIT_MS = 60_000;
/** The same while a scope waits for the position to reach its first read, at a node that is behind it. */
const BEHIND_MS = 100;
/** Of UTF-8 and JSON, with a margin. */
const MAX_BYTES_PER_CHARACTER = 4;
const RETRY_BASE_MS = 500;
const RETRY_CAP_MS = 10_000;

export interface FeedEvents {
  /** All scopes that are observed. */
  scopes(): Iterable<Scope>;
  /** The lowest position of a scope; undefined while no scope is to be fed. */
  after(): Timestamp | undefined;
  /** Whether a scope waits for the position to rise. */
  isBehind(): boolean;
  answered(request: AnsweredRequest, answer: LiveAnswer): void;
  /** The log does not go back to the position any more. */
  gone(): void;
  /** These scopes cannot be watched. */
  refused(scopes: readonly Scope[], error: IsochronError): void;
}

export class Feed implements LiveRequests {
  #connection: Carrier | undefined;
  /** The number of each scope on this connection. */
  readonly #numbers = new Map<Scope, number>();
  readonly #removed = new Set<number>();
  #lastNumber = 0;
  #lastRequest = 0;
  /** Of the last request. */
  #waitMs = 0;
  #newest: LiveExchange | undefined;
  #failures = 0;
  #pause: Timer | undefined;

  constructor(
    readonly core: ClientCore,
    readonly events: FeedEvents,
  ) {}

  /** Sends a request with this turn: scopes have changed, or the position has to move. */
  request(): void {
    const isIdle = this.events.after() === undefined && (this.#hasScopes || this.#removed.size === 0);
    if (isIdle || this.#newest?.isUnsent === true) return;
    this.core.loop.cancel(this.#pause);
    this.#newest = new LiveExchange(this);
    this.#newest.run(this.core.connector.dispatcher.submit);
  }

  /** A request that fits the present positions is to be under way. */
  ensure(): void {
    const { settled = true, isUnsent = false, after = 0 } = this.#newest ?? {};
    const fits = !settled && (isUnsent || after <= (this.events.after() ?? 0));
    if (!fits || this.events.isBehind()) this.request();
  }

  /** The last answer has been applied: asks for the changes after it. */
  goOn({ to, changes }: LiveAnswer): void {
    if (this.#newest?.settled !== true) return;
    // A node that waits for nothing, or is far behind, is not asked again at once.
    const isIdle = to === this.#newest.after && changes.length === 0 && this.#waitMs > 0;
    if (isIdle) this.#requestLater();
    else this.request();
  }

  /** A scope is not observed any more. */
  remove(scope: Scope): void {
    this.#unname(scope);
    if (this.#removed.size > 0) this.request();
  }

  /** Whether the request has not been replaced by a newer one. */
  isNewest(request: LiveExchange): boolean {
    return request === this.#newest;
  }

  /** The fields of a request that is sent now. */
  frame(request: LiveExchange, id: number, connection: Carrier): LiveFrame {
    if (connection !== this.#connection) this.#begin(connection);
    request.number = ++this.#lastRequest;
    request.after = this.events.after() ?? this.core.session.ust;
    const { add, isWhole } = this.#additions(request);
    const remove = [...this.#removed];
    this.#removed.clear();
    request.removed = remove;
    if (!isWhole) this.core.loop.atTurnsEnd(() => this.request());
    // After new scopes, the position moves at once to the time of their first read.
    request.waitMs = this.#waitMs = add.length > 0 ? 0 : this.#patienceMs();
    return {
      type: 'live',
      id,
      after: request.after,
      ...(add.length === 0 ? {} : { add }),
      ...(remove.length === 0 ? {} : { remove }),
      waitMs: this.#waitMs,
    };
  }

  answered(request: LiveExchange, answer: LiveAnswer): void {
    this.#failures = 0;
    // A request behind one that named a scope may be answered before that one is refused.
    for (const [scope, number] of request.added) if (this.#numbers.get(scope) === number) scope.since = request.number;
    for (const [number, error] of answer.ended) {
      const scopes = [...this.events.scopes()].filter((scope) => this.#numbers.get(scope) === number);
      this.events.refused(scopes, error);
    }
    this.events.answered(request, answer);
  }

  /** The node may have dropped any of the scopes: all are named again, under new numbers. */
  refused({ removed }: LiveExchange): void {
    // It drops those of a client without scopes at the latest with the connection.
    if (!this.#hasScopes) return;
    for (const scope of this.events.scopes()) this.#unname(scope);
    for (const number of removed) this.#removed.add(number);
    if (this.#newest?.isUnsent !== true) this.#requestLater();
  }

  failed(request: LiveExchange, error: IsochronError): void {
    const isGone = error.code === 'CHANGES_GONE' || error.code === 'SNAPSHOT_TOO_OLD';
    if (isGone && request.after === this.events.after()) this.events.gone();
    else if (request !== this.#newest) return;
    else if (isGone && this.events.after() !== undefined) this.request();
    else if (isGone) return;
    else if (error.retryable) this.#requestLater();
    else {
      const scopes = request.added.size > 0 ? [...request.added.keys()] : [...this.events.scopes()];
      this.events.refused(scopes, error);
      if (![...this.events.scopes()].every((scope) => scopes.includes(scope))) this.request();
    }
  }

  get #hasScopes(): boolean {
    return this.events.scopes()[Symbol.iterator]().next().done !== true;
  }

  #unname(scope: Scope): void {
    const number = this.#numbers.get(scope);
    if (number !== undefined) this.#removed.add(number);
    this.#numbers.delete(scope);
    scope.since = Number.POSITIVE_INFINITY;
  }

  #requestLater(): void {
    const { loop } = this.core;
    const pauseMs = RETRY_BASE_MS + fullJitterMs(loop.random, this.#failures++, RETRY_BASE_MS, RETRY_CAP_MS);
    loop.cancel(this.#pause);
    this.#pause = loop.after(pauseMs, () => this.request());
  }

  #patienceMs(): number {
    if (!this.events.isBehind()) return WAIT_MS;
    return this.#waitMs === 0 ? BEHIND_MS : 0;
  }

  #begin(connection: Carrier): void {
    this.#connection = connection;
    this.#numbers.clear();
    this.#removed.clear();
    for (const scope of this.events.scopes()) scope.since = Number.POSITIVE_INFINITY;
  }

  /** Names the scopes that the node does not have, as many as fit into a message. */
  #additions(request: LiveExchange): { add: readonly WatchedScope[]; isWhole: boolean } {
    const missing = [...this.events.scopes()].filter((scope) => !this.#numbers.has(scope));
    let left = this.core.limits.maxRequestBytes / MAX_BYTES_PER_CHARACTER;
    const fitting = missing.findIndex(({ name }, i) => {
      left -= name.length;
      return left < 0 && i > 0;
    });
    const added = fitting < 0 ? missing : missing.slice(0, fitting);
    for (const scope of added) this.#numbers.set(scope, ++this.#lastNumber);
    request.added = new Map(added.map((scope) => [scope, this.#numbers.get(scope)!]));
    return { add: [...request.added].map(([{ range }, watch]) => ({ watch, ...range })), isWhole: fitting < 0 };
  }
}

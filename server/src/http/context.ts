/** The context of all routes. */
import {
  ANONYMOUS_PRINCIPAL,
  holderOf,
  IsochronError,
  type NodeId,
  type Principal,
  type Timestamp,
  type TxId,
} from '@isochron/core';
import type { Snapshot } from '@isochron/protocols';
import {
  type AccessRules,
  ANONYMOUS,
  type Caller,
  type CoordinatorPort,
  type Done,
  JudgedCoordinator,
  OutcomeQuestions,
  OwnedCoordinator,
  partWithHome,
  type Rules,
  refuseFuture,
  repeatedSentAfter,
  requireCapability,
  type Serving,
  storedTxId,
  type TxStatus,
} from '@isochron/sessions';
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import type { Authenticator } from '../auth/authenticator.js';
import { unauthenticated } from '../auth/issuer.js';
import type { RunningNode, TransactionsNode } from '../node/api.js';
import { promised } from '../node/promised.js';
import type { HttpSessions } from '../session/http-sessions.js';
import { newSessionId } from '../session/ids.js';
import { Answers, JSON_TYPE } from './caching/answers.js';
import { NOT_STORED, ReadHeaders } from './caching/read-headers.js';
import { StabilityMonitor } from './health/stability.js';
import { ClientTurns } from './limits/turns.js';
import type { OneShots } from './one-shots/one-shots.js';
import { boundTxId, type PrincipalScope, txIdOfKey } from './one-shots/tx-ids.js';

/** Longest Idempotency-Key, in bytes. */
const MAX_KEY_BYTES = 255;
const DEFAULT_WAIT_MS = 2000;
const MAX_WAIT_S = 30;

/** Under every protocol. */
export class ApiContext {
  readonly answers = new Answers((request, bytes) => this.useBytes(request, bytes));
  readonly headers: ReadHeaders;
  readonly stability: StabilityMonitor;
  readonly turns = new ClientTurns();

  constructor(
    readonly node: RunningNode,
    readonly rules: Rules,
    readonly auth: Authenticator,
    readonly log: FastifyBaseLogger,
    readonly serving: Serving,
  ) {
    this.headers = new ReadHeaders(node, this.answers);
    this.stability = new StabilityMonitor(node, log);
  }

  /** A new id for the caller: its home is here, and its attempt avoids the regions that do not answer now. */
  nextTxId(request: FastifyRequest): TxId {
    const { region: home, topology, unresponsive } = this.node;
    const part = partWithHome(newSessionId(), { home, avoid: unresponsive.regions }, topology);
    return boundTxId(this.scopes(request)[0], part);
  }

  /**
   * The transaction id of a write: that of its Idempotency-Key, or a new one. @throws IsochronError `INVALID_REQUEST`
   */
  writeId(request: FastifyRequest): { txId: TxId; repeated: boolean } {
    const key = request.headers['idempotency-key'];
    if (key === undefined) return { txId: this.nextTxId(request), repeated: false };
    if (typeof key === 'string' && key !== '' && Buffer.byteLength(key) <= MAX_KEY_BYTES)
      return { txId: this.#idOfKey(request, key), repeated: true };
    throw new IsochronError('INVALID_REQUEST', `An Idempotency-Key is a text of 1 to ${MAX_KEY_BYTES} bytes.`);
  }

  #idOfKey(request: FastifyRequest, key: string): TxId {
    const lasting = this.auth.lastingScope(this.principal(request));
    return txIdOfKey(this.scopes(request), lasting, key, this.node.topology);
  }

  /** The `sentAfter` of a write (D5). @param repeated whether it may be a repetition: it has an Idempotency-Key */
  sentAfter(repeated: boolean): Timestamp {
    const { node } = this;
    if (!repeated) return node.ust();
    return repeatedSentAfter(node.ust(), node.now(), node.config.settings.outcomeRetentionMs);
  }

  /**
   * The snapshot that a client requests (T1). @throws IsochronError `TIMESTAMP_IN_FUTURE`, `NOT_SUPPORTED_BY_PROTOCOL`
   */
  at(query: unknown): Snapshot | null {
    const { at } = query as { at?: Timestamp };
    if (at === undefined) return null;
    requireCapability(this.node.protocol, 'read-past', '"at"');
    this.refuseFuture({ ts: at }, '"at"');
    return { ts: at };
  }

  /** Checks a timestamp of a client (T1). @throws IsochronError `TIMESTAMP_IN_FUTURE` */
  refuseFuture(claimed: Snapshot, what: string): void {
    refuseFuture(this.node.latest(), claimed, what);
  }

  /** Who makes the request. */
  principal(request: FastifyRequest): Principal {
    return request.principal ?? ANONYMOUS_PRINCIPAL;
  }

  /**
   * How long the caller's credentials are still good, ms; for answers that come later than the request.
   * @throws IsochronError `UNAUTHENTICATED` where they have expired, or were revoked
   */
  validForMs(request: FastifyRequest): number {
    const { expiresAt } = this.principal(request);
    if (expiresAt === null) return Number.POSITIVE_INFINITY;
    const leftMs = expiresAt - this.node.now();
    if (leftMs > 0) return leftMs;
    throw unauthenticated('The credentials of this request have expired. Repeat it with new ones.');
  }

  /** For whom the tokens of the caller are signed. */
  holder(request: FastifyRequest): string {
    return holderOf(this.principal(request));
  }

  /** The client whose share of the node the caller uses. */
  client(request: FastifyRequest): string {
    return this.auth.client(this.principal(request), request.ip);
  }

  /** The scopes that ids of the caller may be bound to; new ones are bound to the first. */
  scopes(request: FastifyRequest): readonly [PrincipalScope, ...PrincipalScope[]] {
    return this.auth.scopes(this.principal(request));
  }

  /** The id of a transaction of the caller's principal, as nodes store it (U4). */
  storedId(request: FastifyRequest, txId: TxId): TxId {
    return storedTxId(txId, this.holder(request));
  }

  /**
   * Under protocols without suspension nothing is deferred.
   * @throws IsochronError for a bad token; `SESSION_DEFERRED` if a map may have deferred the last write of the session
   */
  refuseDeferred(_request: FastifyRequest): void {}

  /** Counts bytes of the caller's requests and answers towards its rate. */
  useBytes(request: FastifyRequest, bytes: number): void {
    const { rates } = this.serving;
    rates.useBytes(this.client(request), bytes, rates.steady());
  }

  /** Sends an answer that is built as JSON text; caches do not keep it unless its headers allow that. */
  sendJson(reply: FastifyReply, text: string): void {
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', NOT_STORED);
    reply.header('content-type', JSON_TYPE).send(text);
  }
}

/** The part of the node that the routes under `/v1` get. */
export interface RouteContext<C extends ApiContext = ApiContext> {
  readonly api: C;
  readonly oneShots: OneShots;
}

/** Under protocols with transactions. */
export class TransactionsContext extends ApiContext {
  readonly outcomes: OutcomeQuestions;

  constructor(
    override readonly node: TransactionsNode,
    rules: Rules,
    readonly sessions: HttpSessions,
    auth: Authenticator,
    log: FastifyBaseLogger,
    serving: Serving,
    /** The access rules of the node; undefined where there are none. */
    readonly access: AccessRules | undefined,
  ) {
    super(node, rules, auth, log, serving);
    this.outcomes = new OutcomeQuestions(node.port, {
      now: () => node.now(),
      ust: () => node.ust(),
      outcomeRetentionMs: node.config.settings.outcomeRetentionMs,
    });
  }

  /**
   * The coordinator for a caller: what access rules refuse is refused with `PERMISSION_DENIED`.
   * @param hwt the highest commit timestamp of its own writes (AR3)
   */
  coordinator(request: FastifyRequest, hwt: Timestamp): CoordinatorPort {
    const { access, node } = this;
    const holder = this.holder(request);
    const owned = holder === '' ? node.port : new OwnedCoordinator(node.port, () => holder);
    if (access === undefined) return owned;
    const client = this.client(request);
    const visible = (ts: Timestamp, done: Done<Timestamp>) =>
      this.serving.visibleHere(client, ts, DEFAULT_WAIT_MS, done);
    const { places } = this.sessions.tokens;
    const session = { principal: this.principal(request), hwt, now: () => node.now(), visible, places };
    return new JudgedCoordinator(owned, access, session);
  }

  /** The status of a transaction, see {@link OutcomeQuestions}: unknown where another principal has the id. */
  statusOf(request: FastifyRequest, txId: TxId, sentAfter: Timestamp | null, owner?: NodeId): Promise<TxStatus> {
    return promised((done) => this.outcomes.status(this.storedId(request, txId), sentAfter, done, owner));
  }

  override refuseDeferred(request: FastifyRequest): void {
    const token = request.headers['isochron-session'];
    if (token !== undefined) this.sessions.claims(String(token), this.holder(request));
  }

  /** The caller that the token names. @throws IsochronError for a bad token */
  caller(request: FastifyRequest): Caller | Promise<Caller> {
    const token = request.headers['isochron-session'];
    if (token === undefined) return ANONYMOUS;
    return this.sessions.resolve(String(token), this.holder(request));
  }

  /**
   * Like {@link caller}, for a read: without a gap, after a bounded wait if necessary. @throws IsochronError
   * `SESSION_GAP`
   */
  reader(request: FastifyRequest): Caller | Promise<Caller> {
    const caller = this.caller(request);
    return caller instanceof Promise || this.sessions.hasGap(caller) ? this.#complete(caller, request) : caller;
  }

  async #complete(pending: Caller | Promise<Caller>, request: FastifyRequest): Promise<Caller> {
    const caller = await pending;
    // While it waits, another request of the session may widen the gap.
    while (this.sessions.hasGap(caller)) await this.sessions.close(this.client(request), caller, waitMsOf(request));
    return caller;
  }
}

/** `Prefer: wait=SECONDS` in ms, at most 30 s; 2 s when absent. */
export function waitMsOf(request: FastifyRequest): number {
  const header = request.headers.prefer;
  const seconds = /(?:^|[,;\s])wait\s*=\s*"?(\d{1,4}(?:\.\d{1,3})?)"?(?:$|[,;\s])/i.exec(String(header ?? ''))?.[1];
  return seconds === undefined ? DEFAULT_WAIT_MS : Math.min(Number(seconds), MAX_WAIT_S) * 1000;
}

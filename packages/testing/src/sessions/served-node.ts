/** A node that serves sessions, for tests: the test drives its clock, its timers and its coordinator. */
import { ANONYMOUS_PRINCIPAL, type Limits, packWall, type SessionCut, type Timestamp, Topology } from '@isochron/core';
import { type Capability, type ClientRequest, type ClientResponse, clientRequests } from '@isochron/protocols';
import type { CoordinatorRequests } from '@isochron/sessions/coordinator/coordinator-port';
import { OutcomeQuestions } from '@isochron/sessions/coordinator/outcomes';
import { MachinePort } from '@isochron/sessions/coordinator/request-port';
import { Rules } from '@isochron/sessions/requests/rules';
import { isLarge, type Outgoing, PlainFrames } from '@isochron/sessions/served/answers';
import { CREDITS, type ServedConnection, type SessionLink } from '@isochron/sessions/served/served-connection';
import type { Refused, ServedNode } from '@isochron/sessions/served/served-session';
import { ServedSessions } from '@isochron/sessions/served/served-sessions';
import { Serving } from '@isochron/sessions/served/serving';
import type { ServingLimits } from '@isochron/sessions/served/serving-limits';
import { type After, StableWaiters } from '@isochron/sessions/served/stable-waiters';
import { TransactionSession } from '@isochron/sessions/served/transaction-session';
import type { SessionTokens } from '@isochron/sessions/tokens/session-token';
import type { Freshness, ServerFrame } from '@isochron/wire/session-frames';
import { MAX_DRIFT_MS, sessionTokens, type TransactionsName } from './tokens.js';

const NOW = Date.UTC(2026, 0, 1);
export const UST: Timestamp = packWall(NOW - 20);
const LIMITS: Limits = { maxKeyBytes: 64, maxValueBytes: 1_000, maxKeysPerRequest: 10, maxRequestBytes: 1_000 };

const PARIS: ReadonlySet<Capability> = new Set([
  'transactions',
  'stable',
  'stable-snapshots',
  'changes',
  'live-queries',
  'updates',
  'write-counters',
]);

/** Timers that the test fires. */
class Timers {
  readonly #waiting = new Set<{ readonly ms: number; readonly run: () => void }>();
  readonly after: After = (ms, run) => {
    const timer = { ms, run };
    this.#waiting.add(timer);
    return () => this.#waiting.delete(timer);
  };

  get count(): number {
    return this.#waiting.size;
  }

  /** Runs all that wait, or those set for at most this long, in the order of their times. */
  runAll(ms = Number.POSITIVE_INFINITY): void {
    const due = [...this.#waiting].filter((timer) => timer.ms <= ms).sort((a, b) => a.ms - b.ms);
    for (const timer of due) if (this.#waiting.delete(timer)) timer.run();
  }
}

/** How long a transaction may be open. */
export const MAX_TRANSACTION_MS = 1_000;

/** A client's end: the frames sent to it, and the close. */
export class TestLink implements SessionLink {
  readonly frames: ServerFrame[] = [];
  closed: { readonly code: number; readonly reason: string } | undefined;
  isPaused = false;

  /** How long each time nothing was read. */
  readonly rests: number[] = [];

  constructor(readonly address = '') {}

  send(outgoing: Outgoing): void {
    this.frames.push(isLarge(outgoing) ? outgoing.encode(new PlainFrames()) : outgoing);
  }

  rest(ms: number): void {
    this.rests.push(ms);
  }

  close(code: number, reason: string): void {
    this.closed = { code, reason };
  }
}

export class TestNode {
  readonly timers = new Timers();
  readonly posted: ClientRequest[] = [];
  readonly failures: unknown[] = [];
  readonly waiters = new StableWaiters(this.timers.after);
  readonly tokens: SessionTokens;
  /** Whether reads are answered before `post` returns, as with a local replica. */
  answersAtOnce = false;
  readonly port = new MachinePort<CoordinatorRequests>(clientRequests, 'p-1', {
    firstRef: 0,
    post: (_to, _from, message) => this.#post(message),
  });
  readonly serving: Serving;
  readonly sessions: ServedSessions;
  ust = UST;
  steadyMs = 0;
  /** Its wall clock. */
  nowMs = NOW;
  /** Checks credentials. */
  /** What the node was told for its audit. */
  readonly refused: Refused[] = [];
  authenticate: ServedNode['authenticate'] = (_credentials, done) => done(ANONYMOUS_PRINCIPAL);
  /** The highest timestamp that its clock has seen. */
  hlc: Timestamp = 0;
  isReady = true;
  map = 0;
  cuts: readonly SessionCut[] = [];
  freshness: Freshness = { now: NOW, stalenessMs: 20, stale: false, heldBackBy: null };

  constructor(
    limits: Partial<ServingLimits> = {},
    capabilities: ReadonlySet<Capability> = PARIS,
    protocol: TransactionsName = 'paris',
  ) {
    this.tokens = sessionTokens(protocol, {}, () => this.map);
    const clock = { now: () => this.nowMs, steady: () => this.steadyMs, ust: () => this.ust };
    this.serving = new Serving(
      {
        ...clock,
        ready: () => this.isReady,
        unprotected: () => undefined,
        clockProblem: () => undefined,
        verification: () => ({ state: 'verified' }),
        stable: (ts, timeoutMs, done) => this.waiters.wait(ts, this.ust, timeoutMs, done),
        visibleHere: (ts, timeoutMs, done) => this.waiters.wait(ts, this.ust, timeoutMs, done),
      },
      MAX_TRANSACTION_MS,
      limits,
    );
    const topology = Topology.of({
      regions: [{ id: 'p', nodes: [{ id: 'p-1' }] }],
      keyspaces: [{ name: 'default', partitions: 1, replication: 1 }],
    });
    const node: ServedNode = {
      ...clock,
      id: 'p-1',
      region: 'p',
      cluster: 'testing',
      protocol: { name: protocol, capabilities },
      topology,
      rules: new Rules(topology, LIMITS),
      maxTransactionMs: MAX_TRANSACTION_MS,
      credits: CREDITS,
      stalenessAlertMs: 10_000,
      latest: () => Math.max(packWall(NOW + MAX_DRIFT_MS / 2), this.hlc),
      regions: [{ id: 'p', endpoints: ['http://p-1'] }],
      serving: this.serving,
      freshness: () => this.freshness,
      map: () => this.map,
      cutsAfter: (version) => this.cuts.filter(({ map }) => map > version && map <= this.map),
      unresponsive: () => ({ nodes: [], regions: [] }),
      authenticate: (credentials, done) => this.authenticate(credentials, done),
      refused: (refused) => this.refused.push(refused),
      client: (_principal, address) => address,
      random: () => 0.5,
      after: this.timers.after,
      failed: (cause) => this.failures.push(cause),
    };
    const outcomes = new OutcomeQuestions(this.port, { ...clock, outcomeRetentionMs: 1_000 });
    const parts = { coordinator: this.port, outcomes, tokens: this.tokens };
    this.sessions = new ServedSessions(node, () => new TransactionSession(node, parts));
  }

  /** A new client. */
  connect(address = ''): { readonly link: TestLink; readonly connection: ServedConnection } {
    const link = new TestLink(address);
    return { link, connection: this.sessions.admit(link) };
  }

  /** A new client that was welcomed; its frames begin after that. */
  greeted(address = ''): { readonly link: TestLink; readonly connection: ServedConnection } {
    const client = this.connect(address);
    client.connection.receive({ type: 'hello' });
    client.link.frames.length = 0;
    return client;
  }

  #post(message: ClientRequest): void {
    this.posted.push(message);
    if (this.answersAtOnce) this.answerRead(message);
  }

  /** The coordinator answers a request. */
  answer(message: ClientResponse): void {
    this.port.step({ kind: 'message', now: NOW, from: { node: 'p-1', machine: 'coordinator' }, message });
  }

  /** The coordinator answers a read with one version of each key. */
  answerRead(request: ClientRequest): void {
    if (request.type !== 'ReadReq') throw new Error(`not a read: ${request.type}`);
    const versions = request.keys.map((key) => ({ ts: UST, txId: 't', region: 'p', value: JSON.stringify(key) }));
    this.answer({ type: 'ReadResp', ref: request.ref, snapshot: this.ust, versions });
  }
}

/** A node of a cluster in memory for the API: real machines answer, and a test sets the parts of the status. */
import {
  IsochronError,
  type NodeId,
  packWall,
  type SessionCut,
  type Timestamp,
  Topology,
  type TxId,
  wallOf,
} from '@isochron/core';
import {
  type CommitResp,
  type Loss,
  Losses,
  type OrderAction,
  type Unresponsive,
  type VerificationStatus,
} from '@isochron/protocols';
import type { StableTime } from '@isochron/protocols/kernel/replication/stable-time';
import {
  type After,
  type CoordinatorAnswer,
  type CoordinatorPort,
  type CoordinatorRequest,
  type CoordinatorRequests,
  type CoordinatorRequestType,
  type Done,
  type RequestHandler,
  type RequestHandlers,
  SessionsMachine,
  StableWaiters,
} from '@isochron/sessions';
import type { IncomingConnections } from '@isochron/transport';
import { UNPROTECTED } from '@isochron/wire';
import { type ClusterConfig, clusterSpec } from '../src/config/cluster-file.js';
import type {
  Costs,
  DiskStatus,
  LinkSummary,
  MapStatus,
  NodeStatus,
  PartitionStatus,
  TransactionsNode,
} from '../src/node/api.js';
import type { StayReason } from '../src/node/leaving.js';
import type { OrderOutcome } from '../src/node/orders.js';
import { PeerProtection } from '../src/node/protection.js';
import { type ServedTransactions, servedTransactions } from '../src/node/protocols.js';
import { newSessionId } from '../src/session/ids.js';
import { TestCluster } from './test-cluster.js';

/** Timers of waits that a test leaves behind do not keep it alive. */
const afterUnlessOver: After = (ms, run) => {
  const timer = setTimeout(run, ms);
  timer.unref();
  return () => clearTimeout(timer);
};

/** How often the cluster's time follows the real one while a request has no answer, ms. */
const TICK_MS = 5;

/** The status of maps while every node is a member. */
export const WHOLE_MAP = {
  version: 0,
  away: [],
  suspended: [],
  held: [],
  evicted: [],
  absences: [],
  leaving: [],
  silent: [],
  deferred: 0,
  deferredFor: {},
  owes: false,
  isSealed: false,
} satisfies MapStatus;
const NO_WAITS = { count: 0, totalMs: 0, longestMs: 0 };

/** Every request to its coordinator is recorded. */
export class TestNode implements TransactionsNode {
  readonly region: string;
  readonly topology: Topology;
  readonly calls: {
    request: { readonly type: CoordinatorRequestType };
    coordinator: NodeId | undefined;
  }[] = [];
  /** The answers of the coordinator. */
  readonly answers: unknown[] = [];
  /** Thrown by the coordinator's next call. */
  failNext: Error | undefined;
  /** Non-empty parts of the status. */
  replicas: readonly PartitionStatus[] = [];
  peers: readonly LinkSummary[] = [];
  heldBackBy: NodeStatus['heldBackBy'] = null;
  isReady = true;
  /** Nodes with another cluster file. */
  differsFrom: readonly NodeId[] = [];
  disk: DiskStatus = { full: false, usedBytes: 0, freeBytes: null, quotaBytes: 0, refusedWrites: 0 };
  incoming: IncomingConnections | undefined;
  verificationStatus: VerificationStatus = { state: 'verified', missing: [], timedOut: false };
  /** Why its clock is wrong, if it is. */
  wrongClock: string | undefined;
  blockedReads = NO_WAITS;
  blockedWrites = NO_WAITS;
  /** Traffic sent: the same for each kind in each scope. */
  sent = { messages: 0, bytes: 0 };
  replicatedUpdates = 0;
  metadataBytes = 0;
  readonly lost = new Losses(undefined);
  visible: (source: string, ms: number) => void = () => undefined;
  /** The stable time that the node shows; undefined: the true time. */
  shownUst: Timestamp | undefined;
  /** Serve requests in the place of the coordinator. */
  readonly handlers: { -readonly [T in CoordinatorRequestType]?: RequestHandlers<CoordinatorRequests>[T] } = {};
  readonly #coordinator: CoordinatorPort;
  readonly #waitersHere = new StableWaiters(afterUnlessOver);
  readonly #waitersEverywhere = new StableWaiters(afterUnlessOver);
  /** End what the node has begun in its cluster. */
  readonly #endings = new Set<() => void>();

  constructor(
    readonly cluster: TestCluster = new TestCluster(),
    readonly id: NodeId = 'virginia-1',
    /** Sends no messages, unless the node is in a network. */
    readonly sessions: SessionsMachine = new SessionsMachine({
      wake: () => undefined,
      session: servedTransactions(cluster.config.protocol).session,
      fits: () => true,
      newId: newSessionId,
      now: () => performance.now(),
    }),
  ) {
    this.topology = Topology.of(clusterSpec(cluster.config));
    this.region = this.topology.regionOf(id);
    const { coordinator } = cluster.family.serve(id, `api ${newSessionId()}`);
    if (coordinator === undefined) throw new Error(`${cluster.config.protocol} has no transactions`);
    this.#coordinator = coordinator;
    this.#endings.add(cluster.onPass(() => this.#timePasses()));
  }

  /** The commits among the calls. */
  get commits(): CoordinatorRequest<'CommitReq'>[] {
    return this.calls.flatMap(({ request }) =>
      request.type === 'CommitReq' ? [request as CoordinatorRequest<'CommitReq'>] : [],
    );
  }

  get config(): ClusterConfig {
    return this.cluster.config;
  }

  get protocol(): ServedTransactions {
    return servedTransactions(this.config.protocol);
  }

  readonly port: CoordinatorPort = {
    ask: <T extends CoordinatorRequestType>(
      request: CoordinatorRequest<T>,
      done: Done<CoordinatorAnswer<T>>,
      coordinator?: NodeId,
    ) => {
      this.calls.push({ request, coordinator });
      const error = this.failNext;
      this.failNext = undefined;
      const handler: RequestHandler<CoordinatorRequests, T> | undefined = this.handlers[request.type];
      if (error instanceof IsochronError) queueMicrotask(() => done(error));
      else if (error !== undefined) throw error;
      else if (handler !== undefined) handler(request, done, coordinator);
      else this.#ask(request, done, coordinator);
    },
  };

  /** Answers come when the call has returned; the cluster's time follows the real one until then. */
  #ask<T extends CoordinatorRequestType>(
    request: CoordinatorRequest<T>,
    done: Done<CoordinatorAnswer<T>>,
    coordinator: NodeId | undefined,
  ): void {
    const timer = setInterval(() => this.cluster.pass(TICK_MS), TICK_MS);
    timer.unref();
    const end = () => {
      clearInterval(timer);
      this.#endings.delete(end);
    };
    this.#endings.add(end);
    queueMicrotask(() => {
      const answered: Done<CoordinatorAnswer<T>> = (answer) => {
        end();
        this.answers.push(answer);
        if (isCommitted(answer)) this.cluster.committed(answer.txId, answer.ct);
        done(answer);
      };
      this.#coordinator.ask(request, answered, coordinator);
      this.cluster.pass(0);
    });
  }

  #timePasses(): void {
    this.#waitersHere.advance(this.#stable.value);
    this.#waitersEverywhere.advance(this.#stable.served);
  }

  get #stable(): StableTime {
    return this.cluster.family.stable(this.id);
  }

  now(): number {
    return Math.floor(this.cluster.now);
  }

  /** The version of its map. */
  mapVersion = 0;

  /** The maps that have suspended nodes. */
  cuts: readonly SessionCut[] = [];

  cutsAfter(version: number): readonly SessionCut[] {
    return this.cuts.filter(({ map }) => map > version);
  }

  map(): number {
    return this.mapVersion;
  }

  /** What its status shows of the map. */
  mapStatus: Partial<MapStatus> = {};
  /** The orders that the node was given, and the answer to each. */
  readonly ordered: [OrderAction, ...NodeId[]][] = [];
  outcome: OrderOutcome = { nodes: [] };
  readonly orders = {
    order: async (action: OrderAction, nodes: readonly NodeId[]): Promise<OrderOutcome> => {
      this.ordered.push([action, ...nodes]);
      return this.outcome;
    },
  };

  /** Why it stays a member when it is asked to leave. */
  staying: StayReason | undefined = 'no-members';

  leave(): Promise<StayReason | undefined> {
    return Promise.resolve(this.staying);
  }

  comeBack(): void {
    this.staying = 'returns';
  }

  ust(): Timestamp {
    return this.shownUst ?? this.#stable.value;
  }

  steady(): number {
    return performance.now();
  }

  latest(): Timestamp {
    return Math.max(packWall(this.now() + this.config.settings.maxClockDriftMs / 2), this.hlc());
  }

  hlc(): Timestamp {
    return this.cluster.family.clock(this.id).last;
  }

  stalenessMs(): number {
    return Math.max(0, this.now() - wallOf(this.ust()));
  }

  clockProblem(): string | undefined {
    return this.wrongClock;
  }

  stable(ts: Timestamp, timeoutMs: number, done: Done<Timestamp>): void {
    this.#waitersEverywhere.wait(ts, this.#stable.served, timeoutMs, done);
  }

  visibleHere(ts: Timestamp, timeoutMs: number, done: Done<Timestamp>): void {
    this.#waitersHere.wait(ts, this.#stable.value, timeoutMs, done);
  }

  unresponsive: Unresponsive = { nodes: [], regions: [] };
  readonly #healthListeners: (() => void)[] = [];

  onUnresponsive(listener: () => void): void {
    this.#healthListeners.push(listener);
  }

  /** These do not answer from now on. */
  setUnresponsive(unresponsive: Unresponsive): void {
    this.unresponsive = unresponsive;
    for (const listener of this.#healthListeners) listener();
  }

  readonly protection = new PeerProtection({ current: UNPROTECTED, onChange: () => undefined });

  unprotected(): string | undefined {
    return this.protection.missing;
  }

  onUnprotected(listener: () => void): void {
    this.protection.onMissing(listener);
  }

  ready(): boolean {
    return this.isReady && this.protection.missing === undefined;
  }

  verification(): VerificationStatus {
    return this.verificationStatus;
  }

  status(): NodeStatus {
    return {
      node: this.id,
      region: this.region,
      protocol: this.config.protocol,
      version: '0.0.0',
      durability: 'memory',
      uptimeMs: 1,
      hlc: this.hlc(),
      ust: this.ust(),
      stalenessMs: this.stalenessMs(),
      heldBackBy: this.heldBackBy,
      gcFloor: 0,
      verification: this.verification(),
      clock: { problem: this.clockProblem() ?? null, driftMs: 0 },
      openTransactions: 0,
      losses: { open: this.lost.open.length },
      clusterFile: { hash: this.config.hash, differsFrom: this.differsFrom },
      protection: this.protection.status,
      disk: this.disk,
      storage: { cacheBytes: 1, cacheLimitBytes: 2, lastSyncMs: 1 },
      rssBytes: 1,
      map: { ...WHOLE_MAP, version: this.mapVersion, ...this.mapStatus },
      partitions: this.replicas,
      links: this.peers,
      blocking: {
        reads: this.blockedReads.count,
        totalMs: this.blockedReads.totalMs,
        longestMs: this.blockedReads.longestMs,
      },
      counters: { commits: this.cluster.outcomes.size },
    };
  }

  peerConnections(): IncomingConnections | undefined {
    return this.incoming;
  }

  costs(): Costs {
    const { blockedReads: reads, blockedWrites: writes, sent, replicatedUpdates, metadataBytes } = this;
    return { blocked: { reads, writes }, sent: () => sent, replicatedUpdates, metadataBytes };
  }

  losses(): readonly Loss[] {
    return this.lost.all;
  }

  async acknowledgeLosses(transactions: readonly TxId[] | 'all'): Promise<number> {
    return this.lost.acknowledge(transactions, { write: () => 0 });
  }

  /** A lost disk has taken parts of these transactions. */
  lose(...losses: readonly Loss[]): void {
    this.lost.add(losses, { write: () => 0 });
  }

  onVisible(listener: (source: string, ms: number) => void): void {
    this.visible = listener;
  }

  async close(): Promise<void> {
    for (const end of this.#endings) end();
  }
}

const isCommitted = (answer: object | undefined): answer is CommitResp =>
  answer !== undefined && 'type' in answer && answer.type === 'CommitResp';

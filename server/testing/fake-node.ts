/** A node in memory for tests and micro-benchmarks of the API: versions in a map, stable time moved by hand. */
import {
  type Content,
  compareKeys,
  type Deps,
  Fold,
  Hlc,
  IsochronError,
  type KeyWrite,
  MAX_TIMESTAMP,
  type NodeId,
  packWall,
  type QualifiedKey,
  type StoredVersion,
  type Timestamp,
  Topology,
  type TxId,
  Update,
  type Version,
  wallOf,
} from '@isochron/core';
import {
  type ChangedTx,
  type ListResp,
  type Loss,
  Losses,
  type ReadResp,
  type Unresponsive,
  type VerificationStatus,
} from '@isochron/protocols';
import type { ProtocolName } from '@isochron/protocols/session-rules';
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
import { type ClusterConfig, clusterSpec, parseClusterFile } from '../src/config/cluster-file.js';
import type { Costs, DiskStatus, LinkSummary, NodeStatus, PartitionStatus, TransactionsNode } from '../src/node/api.js';
import { PeerProtection } from '../src/node/protection.js';
import { type ServedTransactions, servedTransactions } from '../src/node/protocols.js';
import { newSessionId } from '../src/session/ids.js';
import { FakeLive } from './fake-live.js';

/** Makes the answer to a request; throws its refusal. */
type Answering<T extends CoordinatorRequestType> = (request: CoordinatorRequest<T>) => CoordinatorAnswer<T>;

const FILE = `
protocol: paris
cluster: testing
regions:
  - id: virginia
    nodes:
      - { id: virginia-1, api: "http://127.0.0.1:7101", peer: "ws://127.0.0.1:7201" }
      - { id: virginia-2, api: "http://127.0.0.1:7102", peer: "ws://127.0.0.1:7202" }
  - id: oregon
    nodes:
      - { id: oregon-1, api: "http://127.0.0.1:7103", peer: "ws://127.0.0.1:7203" }
keyspaces:
  - { name: default, partitions: 4, replication: 2 }
  - { name: eu, partitions: 1, regions: [oregon] }
`;

/** The cluster of the fake nodes. Fully replicated, unless it runs PaRiS. */
export const fakeConfig = (protocol: ProtocolName = 'paris'): ClusterConfig => {
  const file = FILE.replace('protocol: paris', `protocol: ${protocol}`);
  return parseClusterFile(protocol === 'paris' ? file : file.replace('[oregon]', '[virginia, oregon]'), 'testing.yaml');
};

/** Timers of waits that a test leaves behind do not keep it alive. */
const afterUnlessOver: After = (ms, run) => {
  const timer = setTimeout(run, ms);
  timer.unref();
  return () => clearTimeout(timer);
};

/** State that all fake nodes of a cluster share: data, clock, stable time. */
export class FakeCluster {
  readonly versions = new Map<QualifiedKey, StoredVersion[]>();
  readonly outcomes = new Map<TxId, Timestamp>();
  readonly open = new Map<TxId, Timestamp>();
  readonly ended = new Set<TxId>();
  readonly hlc = new Hlc();
  /** Wall clock, ms. Moved by hand. */
  nowMs = Date.UTC(2026, 0, 1);
  ust: Timestamp = packWall(Date.UTC(2026, 0, 1) - 20);
  /** The time that every node of the cluster serves: the same, unless a test raises `ust` alone. */
  served: Timestamp = this.ust;
  /** The entries of every snapshot beside its timestamp, and of every commit. */
  deps: Deps | undefined;
  readonly waitersHere = new StableWaiters(afterUnlessOver);
  readonly waitersEverywhere = new StableWaiters(afterUnlessOver);

  constructor(readonly config: ClusterConfig = fakeConfig()) {}

  /** Makes all committed writes stable. */
  stabilise(): void {
    this.nowMs += 10;
    this.ust = this.hlc.tick(this.nowMs);
    this.serve();
  }

  /** Makes all committed writes stable here, while another node does not serve them yet. */
  stabiliseHere(): void {
    this.nowMs += 10;
    this.ust = this.hlc.tick(this.nowMs);
    this.waitersHere.advance(this.ust);
  }

  /** Every node serves the stable time. */
  serve(): void {
    this.served = this.ust;
    this.waitersHere.advance(this.ust);
    this.waitersEverywhere.advance(this.served);
  }

  put(key: QualifiedKey, value: Content): Timestamp {
    return this.commit(`fake-fake-fake-fake.${this.outcomes.size.toString(36)}`, [{ key, value }], 0);
  }

  commit(txId: TxId, writes: readonly KeyWrite[], floor: Timestamp): Timestamp {
    const known = this.outcomes.get(txId);
    if (known !== undefined) return known;
    const ts = this.hlc.tick(this.nowMs, Math.max(floor, this.ust));
    this.outcomes.set(txId, ts);
    for (const { key, value } of writes) {
      const chain = this.versions.get(key) ?? [];
      chain.push({ ts, txId, region: 'virginia', value });
      this.versions.set(key, chain);
    }
    return ts;
  }

  /** Stable transactions after a timestamp, one for each version. */
  changes(prefix: string, after: Timestamp): ChangedTx[] {
    const versions = [...this.versions].flatMap(([key, chain]) => chain.map((version) => ({ key, ...version })));
    return versions
      .filter(({ key, ts }) => key.startsWith(prefix) && ts > after && ts <= this.ust)
      .sort((a, b) => a.ts - b.ts)
      .map(({ key, ts, txId, value }) => ({ txId, ct: ts, writes: [{ key, value }] }));
  }

  read(key: QualifiedKey, snapshot: Timestamp): Version | null {
    const chain = (this.versions.get(key) ?? []).filter(({ ts }) => ts <= snapshot);
    const newest = chain.at(-1);
    if (newest === undefined) return null;
    const from = chain.findLastIndex(({ value }) => !(value instanceof Update));
    const base = chain[from];
    const fold = new Fold(base === undefined || base.value instanceof Update ? null : base.value, base);
    for (const version of chain.slice(from + 1))
      if (version.value instanceof Update) fold.apply(version.value, version);
    return { ...newest, value: fold.result(), origin: fold.origin };
  }

  /** The newest versions of keys that have one above a snapshot. */
  newer(keys: readonly QualifiedKey[], snapshot: Timestamp): ReadResp['newer'] {
    return keys.flatMap((key, index) => {
      const version = this.read(key, MAX_TIMESTAMP);
      return version === null || version.ts <= snapshot ? [] : [{ index, version }];
    });
  }
}

const NO_WAITS = { count: 0, totalMs: 0, longestMs: 0 };

/** One node of a fake cluster. Every call of its coordinator is recorded. */
export class FakeNode implements TransactionsNode {
  readonly region: string;
  readonly topology: Topology;
  readonly calls: {
    request: { readonly type: CoordinatorRequestType };
    coordinator: NodeId | undefined;
  }[] = [];
  /** The commits among the calls. */
  readonly commits: CoordinatorRequest<'CommitReq'>[] = [];
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
  /** Whether calls are recorded: not in benchmarks. */
  recording = true;

  constructor(
    readonly cluster: FakeCluster = new FakeCluster(),
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
    this.topology = new Topology(clusterSpec(cluster.config));
    this.region = this.topology.regionOf(id);
  }

  get config(): ClusterConfig {
    return this.cluster.config;
  }

  get protocol(): ServedTransactions {
    return servedTransactions(this.config.protocol);
  }

  readonly #answers: { readonly [T in CoordinatorRequestType]?: Answering<T> } = {
    StartTxReq: (request) => {
      const snapshot = this.#snapshot(request.ust, request.at);
      this.cluster.open.set(request.txId, snapshot);
      return { type: 'StartTxResp', ref: 0, snapshot, deps: this.#deps(request) };
    },
    ReadReq: (request) => {
      const snapshot = request.txId === null ? this.#snapshot(request.ust, request.at) : this.#opened(request.txId);
      const versions = request.keys.map((key) => this.cluster.read(key, snapshot));
      const newer = request.newest === true ? this.cluster.newer(request.keys, snapshot) : undefined;
      return { type: 'ReadResp', ref: 0, snapshot, versions, deps: this.#deps(request), newer };
    },
    ListReq: (request) => ({ type: 'ListResp', ref: 0, ...this.#list(request), deps: this.#deps(request) }),
    CommitReq: (request) => {
      if (this.recording) this.commits.push(request);
      if (request.snapshot === null && !this.cluster.outcomes.has(request.txId)) this.#opened(request.txId);
      this.cluster.open.delete(request.txId);
      const ct = this.cluster.commit(request.txId, request.writes, request.hwt);
      return { type: 'CommitResp', ref: 0, txId: request.txId, ct, deps: this.cluster.deps };
    },
    EndTxReq: ({ txId }) => {
      if (this.cluster.open.delete(txId)) this.cluster.ended.add(txId);
      return { type: 'EndTxResp', ref: 0 };
    },
    TxStatusReq: ({ txId }) => {
      const ct = this.cluster.outcomes.get(txId);
      if (ct !== undefined) return { type: 'TxStatusResp', ref: 0, status: 'committed', ts: ct, attempt: 0 };
      const snapshot = this.cluster.open.get(txId);
      const status = snapshot === undefined ? 'unknown' : 'open';
      return { type: 'TxStatusResp', ref: 0, status, ts: snapshot ?? null, attempt: 0 };
    },
  };

  /** Requests whose answers come later, and those that a test serves itself. */
  readonly handlers: { -readonly [T in CoordinatorRequestType]?: RequestHandlers<CoordinatorRequests>[T] } = {
    ChangesReq: (request, done) => {
      const from = request.after ?? this.ust();
      const transactions = request.after === null ? [] : this.cluster.changes(request.prefix, from);
      const to = Math.max(from, this.ust());
      if (transactions.length > 0 || request.after === null || request.waitMs <= 0)
        this.#answered(
          request,
          undefined,
          done,
          () => ({ type: 'ChangesResp', ref: 0, from, to, transactions }) as const,
        );
      else setTimeout(() => this.port.ask({ ...request, waitMs: request.waitMs - 5 }, done), 5).unref();
    },
    LiveReq: (request, done) =>
      this.live.ask(request, (answer) => this.#answered(request, undefined, done, () => answer)),
    LiveEnd: ({ reader }, done) => {
      this.live.end(reader);
      done(undefined);
    },
  };

  readonly port: CoordinatorPort = {
    ask: <T extends CoordinatorRequestType>(
      request: CoordinatorRequest<T>,
      done: Done<CoordinatorAnswer<T>>,
      coordinator?: NodeId,
    ) => {
      const handler: RequestHandler<CoordinatorRequests, T> | undefined = this.handlers[request.type];
      const answer: Answering<T> | undefined = this.#answers[request.type];
      if (handler !== undefined) handler(request, done, coordinator);
      else if (answer !== undefined) this.#answered(request, coordinator, done, () => answer(request));
      else throw new Error(`no test asks for ${request.type}`);
    },
  };
  readonly live = new FakeLive(this);

  now(): number {
    return this.cluster.nowMs;
  }

  ust(): Timestamp {
    return this.cluster.ust;
  }

  steady(): number {
    return performance.now();
  }

  latest(): Timestamp {
    return Math.max(packWall(this.now() + this.config.settings.maxClockDriftMs / 2), this.hlc());
  }

  hlc(): Timestamp {
    return this.cluster.hlc.read(this.cluster.nowMs);
  }

  stalenessMs(): number {
    return Math.max(0, this.now() - wallOf(this.ust()));
  }

  clockProblem(): string | undefined {
    return this.wrongClock;
  }

  stable(ts: Timestamp, timeoutMs: number, done: Done<Timestamp>): void {
    this.cluster.waitersEverywhere.wait(ts, this.cluster.served, timeoutMs, done);
  }

  visibleHere(ts: Timestamp, timeoutMs: number, done: Done<Timestamp>): void {
    this.cluster.waitersHere.wait(ts, this.cluster.ust, timeoutMs, done);
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
      openTransactions: this.cluster.open.size,
      losses: { open: this.lost.open.length },
      clusterFile: { hash: this.config.hash, differsFrom: this.differsFrom },
      protection: this.protection.status,
      disk: this.disk,
      storage: { cacheBytes: 1, lastSyncMs: 1 },
      rssBytes: 1,
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

  async close(): Promise<void> {}

  /** Answers when the call has returned, as a coordinator does. Errors that are not its refusals are thrown. */
  #answered<R>(
    request: { readonly type: CoordinatorRequestType },
    coordinator: NodeId | undefined,
    done: Done<R>,
    answer: () => R,
  ): void {
    if (this.recording) this.calls.push({ request, coordinator });
    const result = this.#resultOf(answer);
    queueMicrotask(() => done(result));
  }

  #resultOf<R>(answer: () => R): R | IsochronError {
    const error = this.failNext;
    this.failNext = undefined;
    try {
      if (error !== undefined) throw error;
      return answer();
    } catch (thrown) {
      if (thrown instanceof IsochronError) return thrown;
      throw thrown;
    }
  }

  #snapshot(ust: Timestamp, at: Timestamp | null): Timestamp {
    if (at === null) return Math.max(ust, this.cluster.ust);
    if (at > this.cluster.ust) throw new IsochronError('SNAPSHOT_UNAVAILABLE', 'not installed yet');
    return at;
  }

  /** A request for a snapshot by name gets it with its own entries. */
  #deps({ at, deps }: Pick<CoordinatorRequest<'ReadReq'>, 'at' | 'deps'>): Deps | undefined {
    return at === null ? this.cluster.deps : deps;
  }

  #opened(txId: TxId): Timestamp {
    const snapshot = this.cluster.open.get(txId);
    if (snapshot !== undefined) return snapshot;
    const code = this.cluster.ended.has(txId) ? 'TRANSACTION_FINISHED' : 'TRANSACTION_UNKNOWN';
    throw new IsochronError(code, 'no such open transaction');
  }

  #list({ range, ust, at }: CoordinatorRequest<'ListReq'>): Omit<ListResp, 'type' | 'ref'> {
    const snapshot = this.#snapshot(ust, at);
    const keys = [...this.cluster.versions.keys()]
      .filter((key) => compareKeys(key, range.start) >= 0 && (range.end === null || compareKeys(key, range.end) < 0))
      .sort(compareKeys);
    const all = keys.flatMap((key) => {
      const version = this.cluster.read(key, snapshot);
      return version === null || version.value === null ? [] : [{ key, version }];
    });
    return { snapshot, entries: all.slice(0, range.limit), next: all[range.limit]?.key ?? null };
  }
}

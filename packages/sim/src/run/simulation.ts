/**
 * One run of a plan: builds the world, lets it run under faults, heals it, and waits until all work has ended.
 */
import {
  type AnyMessage,
  compareKeys,
  type DurableRecord,
  factsOf,
  type NodeId,
  type QualifiedKey,
  type Timestamp,
  wallOf,
} from '@isochron/core';
import { type Address, DEFAULT_SETTINGS, type Envelope, type Input, type PrepareReq } from '@isochron/protocols';
import type { MemoryState } from '@isochron/storage';
import { type Failure, type FailureKind, toAll } from '../checks/check.js';
import { GOALS, type Goal, mayLackHeartbeat } from '../checks/liveness/convergence.js';
import { outwaitsLinks } from '../checks/liveness/undisturbed.js';
import { Actor } from '../clients/actor.js';
import { Client } from '../clients/client.js';
import { FeedReader } from '../clients/feed-reader.js';
import { HttpCaller } from '../clients/http-caller.js';
import { Intruder } from '../clients/intruder.js';
import { Histories } from '../clients/recorder.js';
import { createRuledActors, type RuledActor, type RuledPlan } from '../clients/ruled-actors.js';
import type { FaultWorld } from '../faults/fault.js';
import { startFault } from '../faults/table.js';
import { keysOf } from '../plan/keys.js';
import type { Environment, Plan, SessionPlan } from '../plan/plan.js';
import type { ProtocolAdapter } from '../protocols/adapter.js';
import { Cluster, type ClusterListener } from '../world/cluster.js';
import { type Checks, createChecks } from './checks.js';
import { askOutcomes } from './final-questions.js';
import { Moments } from './moments.js';
import { newcomersOf, PROBE_PAUSE_MS, PROBE_ROUNDS, PROBE_TIMEOUT_MS, probesOf, slowestMs } from './probe.js';
import type { Limits, Result } from './result.js';
import { describeInput, describeMessage, nameOf, Trace } from './trace.js';
import { unfinishedOf } from './unfinished.js';

/** How often expensive checks are made, and the goals are checked. */
const ROUND_MS = 200;
const LIVENESS_MS = 60_000;
const MAX_STEPS = 3_000_000;

/** How long clients wait. */
type Patience = Pick<Environment, 'requestTimeoutMs' | 'commitTimeoutMs'>;

export class Simulation<M extends AnyMessage> implements ClusterListener<M> {
  readonly #cluster: Cluster<M>;
  readonly #checks: Checks;
  readonly #observer: ReturnType<typeof toAll>;
  readonly #trace: Trace;
  readonly #moments = new Moments();
  readonly #coordinators = new Map<string, Set<NodeId>>();
  readonly #histories = new Histories();
  readonly #keys: readonly QualifiedKey[];
  readonly #actors: Actor[];
  readonly #callers: HttpCaller[];
  readonly #readers: FeedReader[];
  readonly #intruders: Intruder<M>[];
  readonly #albums: RuledActor<M>[];
  readonly #failures: Failure[] = [];
  readonly #healing = new Set<() => void>();
  #newcomers = 0;
  #awaited: Actor | HttpCaller | RuledActor<M> | undefined;
  #crashes = 0;
  #faults = 0;
  #crashed = false;
  #stopped = false;
  #healed = false;

  constructor(
    readonly plan: Plan,
    readonly adapter: ProtocolAdapter<M>,
    readonly limits: Limits = {},
  ) {
    this.#cluster = new Cluster(plan, adapter, this);
    const { time, topology } = this.#cluster;
    this.#trace = new Trace(limits.trace ?? false, time, limits.onLine);
    const fail = (check: string, message: string, about: readonly string[]) =>
      this.#fail('safety', check, message, about);
    this.#checks = createChecks(
      { topology, time, fail, isGone: (node) => this.#cluster.isGone(node) },
      this.#cluster,
      this.#histories,
      plan,
      () => this.#actors,
      adapter.demands,
    );
    this.#observer = toAll(this.#checks.all);
    this.#keys = keysOf(plan).sort(compareKeys);
    this.#actors = this.#createActors(plan.sessions);
    this.#callers = this.#createCallers();
    this.#readers = this.#createReaders();
    this.#intruders = this.#createIntruders();
    this.#albums = this.#createAlbums();
  }

  run(): Result {
    this.#cluster.start();
    for (const client of [...this.#working, ...this.#readers, ...this.#intruders]) client.start();
    this.#planFaults();
    this.#everyRound();
    const { time } = this.#cluster;
    time.runUntil(this.plan.safetyMs, () => this.#over || this.#allFinished());
    this.#heal();
    for (const client of [...this.#working, ...this.#intruders]) client.stop();
    for (const reader of this.#readers) reader.hurry();
    const missing = this.#awaitGoals() ?? this.#awaitReaders() ?? this.#awaitLiveViews();
    for (const actor of this.#actors) actor.abandon();
    if (missing !== undefined) {
      const { ledger } = this.#checks.healed(() => []);
      const mayWait = this.adapter.demands.waitsForVersions && ledger.anyDamaged;
      if (!mayWait) this.#fail('liveness', missing.goal, missing.message, []);
    } else if (!this.#over) {
      this.#observer.converged();
      if (this.adapter.openHttp !== undefined) {
        const areAnswered = askOutcomes(this.#cluster, this.#checks.healed(() => []).ledger.damaged, this.#observer);
        time.runUntil(time.now + LIVENESS_MS, () => this.#over || areAnswered());
      }
      if (this.adapter.servesAgain(this.plan.settings, slowestMs(this.plan))) this.#probe();
    }
    if (time.steps > this.#maxSteps) this.#fail('liveness', 'run-ends', `no end after ${time.steps} events`, []);
    if (!this.#stopped) this.#observer.end();
    return this.#result();
  }

  // Events of the cluster.

  stepping(self: Address, input: Input<M>): void {
    if (input.kind === 'link' && input.up) this.#observer.linked(self.node);
    if (input.kind !== 'message') {
      if (input.kind !== 'persisted') this.#trace.add(self.node, () => `${self.machine} ${describeInput(input)}`);
      return;
    }
    const { message, from } = input;
    if (this.#moments.any) this.#moments.came(self.node, message, from.node, 'receive');
    if (!this.#cluster.node(self.node).up) return;
    this.#trace.add(self.node, () => `${self.machine} ← ${from.node}/${from.machine}: ${describeMessage(message)}`);
    this.#noteCoordinator(message, from.node);
    if (from.node === self.node) this.#observeSend(message, from, self);
    else this.adapter.observeArrival(message, self, this.#observer);
  }

  stepped(self: Address, input: Input<M>): void {
    if (input.kind === 'message' && this.#moments.any)
      this.#moments.came(self.node, input.message, input.from.node, 'handle');
  }

  wrote(self: Address, record: DurableRecord): void {
    for (const fact of factsOf([record])) this.#observer.wrote(self.node, fact);
  }

  sends(self: Address, _to: Address, message: M, cause: M | undefined): void {
    if (cause !== undefined) this.adapter.observeReply(message, cause, self, this.#observer);
  }

  persisting(node: NodeId, records: readonly DurableRecord[]): void {
    this.#trace.add(node, () => `disk ← ${records.map((record) => JSON.stringify(record)).join(' ')}`);
  }

  durable(node: NodeId, records: readonly DurableRecord[]): void {
    this.#trace.add(node, () => `${records.length} records are durable`);
    this.#observer.durable(node, factsOf(records));
  }

  refused(node: NodeId, peer: NodeId, why: string): void {
    this.#trace.add(node, () => `refuses a frame of ${peer}: ${why}`);
  }

  leaving(from: NodeId, _to: NodeId, envelopes: readonly Envelope<M>[], hlc: Timestamp): void {
    this.#observer.frameLeft(from, hlc);
    for (const envelope of envelopes) this.#observeSend(envelope.message, envelope.from, envelope.to);
  }

  left(from: NodeId, _to: NodeId, envelopes: readonly Envelope<M>[]): void {
    if (!this.#moments.any) return;
    for (const { message } of envelopes) this.#moments.came(from, message, from, 'send');
  }

  started(node: NodeId): void {
    this.#trace.add(node, () => 'starts');
    this.#observer.started(node);
  }

  crashed(node: NodeId): void {
    this.#crashes++;
    this.#trace.add(node, () => 'crashes');
    this.#observer.crashed(node);
  }

  failed(node: NodeId, error: unknown): void {
    if (this.adapter.quarantines(error) && this.#cluster.mayQuarantine(node)) {
      this.#trace.add(node, () => `does not trust its disk: ${String(error)}`);
      this.#cluster.rebuild(node);
      return;
    }
    this.#crashed = true;
    const text = error instanceof Error ? `${error.message}\n${error.stack ?? ''}` : String(error);
    this.#fail('crash', nameOf(error), `${node}: ${text}`, [node]);
  }

  onDataLoss(node: NodeId, left: MemoryState): void {
    this.#trace.add(node, () => `has lost data; ${left.meta.size === 0 ? 'nothing is' : 'something is'} left`);
    this.#observer.onDataLoss(node, left);
  }

  // The phases of the run.

  #observeSend(message: M, from: Address, to: Address): void {
    this.adapter.observeSend(message, from, to, this.#observer, this.#cluster.topology);
  }

  #noteCoordinator(message: AnyMessage, node: NodeId): void {
    if (message.type !== 'PrepareReq') return;
    const { txId } = (message as PrepareReq).identity;
    const known = this.#coordinators.get(txId);
    if (known === undefined) this.#coordinators.set(txId, new Set([node]));
    else known.add(node);
  }

  get #maxSteps(): number {
    return this.limits.maxSteps ?? MAX_STEPS;
  }

  get #over(): boolean {
    return this.#crashed || this.#stopped || this.#cluster.time.steps > this.#maxSteps;
  }

  #everyRound(): void {
    this.#cluster.time.after(ROUND_MS, () => {
      this.#observer.round();
      this.#everyRound();
    });
  }

  #planFaults(): void {
    const { time } = this.#cluster;
    const world: FaultWorld = {
      cluster: this.#cluster,
      observer: this.#observer,
      coordinators: this.#coordinators,
      onMoment: (moment, nth, run) => this.#moments.on(moment, nth, run),
      client: (session) => this.#actors.find(({ name }) => name === session),
    };
    for (const fault of this.plan.faults) {
      if (fault.atMs > this.plan.safetyMs) continue;
      time.at(fault.atMs, () => {
        if (time.now > this.plan.safetyMs || this.#healed) return;
        this.#faults++;
        this.#trace.add('fault', () => JSON.stringify(fault));
        const heal = startFault(world, fault);
        this.#observer.fault(fault, true);
        if (heal === undefined) {
          this.#observer.fault(fault, false);
          return;
        }
        this.#healing.add(heal);
        time.after(fault.forMs, () => {
          if (!this.#healing.delete(heal)) return;
          this.#trace.add('fault', () => `is over: ${JSON.stringify(fault)}`);
          heal();
          this.#observer.fault(fault, false);
        });
      });
    }
  }

  /** Phase two begins: everything is whole, clocks are right, no new faults happen. */
  #heal(): void {
    this.#healed = true;
    this.#trace.add('fault', () => 'everything is healed');
    for (const heal of this.#healing) heal();
    this.#healing.clear();
    for (const node of this.#cluster.nodes) {
      node.clock.correct();
      this.#cluster.restart(node.id);
    }
  }

  /**
   * How long right clocks take to reach the highest timestamp of all nodes, if anything has to wait for them: under
   * physical clocks, where nodes refuse each other's timestamps (K1), and where the goal needs a lost heartbeat.
   */
  #leadMs(goal?: Goal): number {
    const leads = this.#cluster.nodes.map(({ clock, protocol }) => wallOf(protocol?.hlc() ?? 0) - clock.now());
    const leadMs = Math.max(0, ...leads);
    const { maxClockDriftMs = DEFAULT_SETTINGS.maxClockDriftMs } = this.plan.settings;
    const isFollowed = this.adapter.clocks === 'hybrid' && leadMs <= maxClockDriftMs;
    return isFollowed && !mayLackHeartbeat(goal, this.plan) ? 0 : leadMs;
  }

  /**
   * A node's clock that was ahead goes on slowly until it is right (`steady-clock.ts`); other nodes wait for its
   * timestamps.
   */
  #awaitClocks(): void {
    const { time } = this.#cluster;
    while (this.#leadMs() > ROUND_MS && !this.#over) time.runUntil(time.now + ROUND_MS, () => this.#over);
  }

  /** Runs until all goals are reached; returns the first one that is not. */
  #awaitGoals(): { goal: string; message: string } | undefined {
    const { time } = this.#cluster;
    const healedAt = time.now;
    let lead = 0;
    let reached = 0;
    for (;;) {
      const message = GOALS[reached]?.missing(this.#checks.healed(() => unfinishedOf(this.#working, this.plan)));
      if (message === undefined) reached++;
      if (reached === GOALS.length || this.#over) return undefined;
      if (message === undefined) continue;
      lead = Math.max(lead, this.#leadMs(GOALS[reached]));
      if (time.now >= healedAt + (this.limits.livenessMs ?? LIVENESS_MS + lead))
        return { goal: GOALS[reached]!.name, message };
      time.runUntil(time.now + ROUND_MS / 4, () => this.#over);
    }
  }

  /** Readers of the change feed get everything that was committed: those with small pages and long pauses slowly. */
  #awaitReaders(): { goal: string; message: string } | undefined {
    const { time } = this.#cluster;
    const { lastCt } = this.#checks.healed(() => []).ledger;
    const isBehind = () => this.#readers.find(({ position }) => position < lastCt);
    for (let behind = isBehind(), before = -1; behind !== undefined && !this.#over; behind = isBehind()) {
      if (behind.position === before)
        return { goal: 'readers-catch-up', message: `${behind.name} stays at ${before}, the last commit is ${lastCt}` };
      before = behind.position;
      time.runUntil(time.now + LIVENESS_MS, () => this.#over || isBehind() === undefined);
    }
    return undefined;
  }

  /** Observers have the last snapshot of all. */
  #awaitLiveViews(): { goal: string; message: string } | undefined {
    const { time } = this.#cluster;
    const missing = () => this.#checks.liveViews.missing(outwaitsLinks(this.plan));
    for (const endMs = time.now + LIVENESS_MS; time.now < endMs && missing() !== undefined && !this.#over; )
      time.runUntil(time.now + ROUND_MS, () => this.#over);
    const message = this.#over ? undefined : missing();
    return message === undefined ? undefined : { goal: 'live-views-are-final', message };
  }

  /** New clients find a cluster that serves them, now or soon: after a loss a commit may be refused for a moment. */
  #probe(): void {
    const { time } = this.#cluster;
    this.#awaitClocks();
    for (let round = 0; round < PROBE_ROUNDS; round++) {
      const problems = this.#probeRound(round);
      if (problems.length === 0 || this.#over) return;
      if (round === PROBE_ROUNDS - 1) this.#fail('liveness', 'serves-again', problems.join('; '), ['probe']);
      time.runUntil(time.now + PROBE_PAUSE_MS, () => this.#over);
    }
  }

  #probeRound(round: number): string[] {
    const { time, topology } = this.#cluster;
    const probes = this.#createActors(probesOf(this.plan, topology, round, this.adapter.atOnce), {
      requestTimeoutMs: PROBE_TIMEOUT_MS,
    });
    for (const probe of probes) probe.start();
    time.runUntil(time.now + LIVENESS_MS, () => this.#over || probes.every((probe) => probe.finished));
    const problems = probes.map(({ name, doing, finished, refusals }) => {
      const problem = finished ? refusals.join(', ') : `still ${doing}`;
      return problem === '' ? [] : [`${name}: ${problem}`];
    });
    for (const probe of probes) probe.abandon();
    return problems.flat();
  }

  /** The clients whose work ends. */
  get #working(): readonly (Actor | HttpCaller | RuledActor<M>)[] {
    return [...this.#actors, ...this.#callers, ...this.#albums];
  }

  /** Called after every event: the first unfinished client is mostly the same as before. */
  #allFinished(): boolean {
    if (this.#awaited?.finished === false) return false;
    this.#awaited = this.#working.find((client) => !client.finished);
    return this.#awaited === undefined;
  }

  #begin(keys: readonly QualifiedKey[]): void {
    const plans = newcomersOf(
      `new${this.#newcomers++}`,
      [...keys].sort(compareKeys),
      this.#cluster.topology,
      this.adapter.atOnce,
    );
    const actors = this.#createActors(plans);
    this.#actors.push(...actors);
    for (const actor of actors) actor.start();
  }

  #createActors(plans: readonly SessionPlan[], patience: Patience = this.plan.environment): Actor[] {
    const world = {
      histories: this.#histories,
      observer: this.#observer,
      commits: [],
      keys: this.#keys,
      note: (session: string, what: () => string) => this.#trace.add(session, what),
      newcomers: (keys: readonly QualifiedKey[]) => this.#begin(keys),
    };
    return plans.map((session) => {
      const client = this.#client(session, patience);
      return new Actor(session, client, world, (id, state) => client.open(id, state));
    });
  }

  #client({ name, region }: Pick<SessionPlan, 'name' | 'region'>, patience: Patience, principal?: string): Client<M> {
    const { time, streams, sockets, topology } = this.#cluster;
    const { requestTimeoutMs, commitTimeoutMs = Number.POSITIVE_INFINITY } = patience;
    const place = {
      time,
      sockets,
      topology,
      requestTimeoutMs,
      commitTimeoutMs,
      engine: this.adapter.engine,
      observer: this.#observer,
      random: streams.of('client', name),
      credentialsMs: this.plan.environment.credentialsMs,
      principal,
      session: name,
      note: (what: () => string) => this.#trace.add(name, what),
    };
    return new Client(place, region);
  }

  #createCallers(): HttpCaller[] {
    const { streams } = this.#cluster;
    const world = {
      histories: this.#histories,
      observer: this.#observer,
      note: (session: string, what: () => string) => this.#trace.add(session, what),
    };
    const { requestTimeoutMs } = this.plan.environment;
    const { callers = [] } = this.plan.http ?? {};
    return callers.map(
      (plan) => new HttpCaller(plan, this.#cluster, streams.of('http', plan.name), requestTimeoutMs, world),
    );
  }

  /** Where clients have credentials. */
  #createIntruders(): Intruder<M>[] {
    const { time, streams, sockets, topology } = this.#cluster;
    if (this.plan.environment.credentialsMs === undefined) return [];
    const wall = (node: NodeId) => this.#cluster.node(node).clock.now();
    return [new Intruder({ time, random: streams.of('intruder'), sockets, topology, observer: this.#observer, wall })];
  }

  #createAlbums(): RuledActor<M>[] {
    const note = (session: string, what: () => string) => this.#trace.add(session, what);
    const world = { observer: this.#observer, note };
    const client = (plan: RuledPlan) => this.#client(plan, this.plan.environment, plan.principal);
    return createRuledActors(this.plan.albums, world, client);
  }

  #createReaders(): FeedReader[] {
    const world = {
      observer: this.#observer,
      note: (reader: string, what: () => string) => this.#trace.add(reader, what),
    };
    return (this.plan.readers ?? []).map((plan) => {
      const keys = this.#keys.filter((key) => key.startsWith(plan.prefix));
      return new FeedReader(plan, keys, this.#cluster, this.#cluster.streams.of('feed', plan.name), world);
    });
  }

  #fail(kind: FailureKind, check: string, message: string, about: readonly string[]): void {
    if (this.#failures.some((failure) => failure.check === check)) return;
    const { steps: step, now: atMs } = this.#cluster.time;
    this.#trace.add('check', () => `${check} FAILS: ${message}`);
    const failure = { check, kind, message, step, atMs, about };
    this.#failures.push(failure);
    if (this.limits.stopAt?.(failure)) this.#stopped = true;
  }

  #result(): Result {
    const { time } = this.#cluster;
    const { lines } = this.#histories;
    const count = (status: string) => lines.filter((line) => line.status === status).length;
    const stats = {
      steps: time.steps,
      virtualMs: Math.round(time.now),
      transactions:
        this.#actors.reduce((sum, actor) => sum + actor.transactions, 0) +
        this.#callers.reduce((sum, { requests }) => sum + requests, 0),
      committed: count('committed'),
      unknown: count('unknown'),
      aborted: count('aborted'),
      faults: this.#faults,
      crashes: this.#crashes,
    };
    const { protocol, seed } = this.plan;
    const failures = this.#failures;
    return { protocol, seed, ok: failures.length === 0, failures, stats, plan: this.plan, trace: this.#trace.lines };
  }
}

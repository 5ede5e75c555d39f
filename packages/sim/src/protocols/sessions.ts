/** The session frames of a simulated node: the server's session host, driven as the server drives it. */
import {
  type AnyMessage,
  DEFAULT_LIMITS,
  type NodeId,
  type RegionId,
  type SessionCut,
  type Timestamp,
  type Topology,
  type WallMs,
  wallOf,
} from '@isochron/core';
import { DEFAULT_SETTINGS, type Envelope, type Machine, type Unresponsive } from '@isochron/protocols';
import {
  type AccessRules,
  type Done,
  type Offer,
  Rules,
  type ServedNode,
  type ServedSession,
  ServedSessions,
  Serving,
  StableWaiters,
  type TokenCluster,
} from '@isochron/sessions';
import { principalOf } from '../clients/credentials.js';

/** Name of the machine that gets the coordinator's answers to session frames. */
export const FRAMES_MACHINE = 'session-frames';
/** References of different processes of a node lie this far apart. */
export const REFS = 1_000_000;
/** How often a node checks whether a time that a client waits for is reached, ms. */
const POLL_MS = 5;
const TICK_MS = 1_000;

/** The parts of the process that the frames of a node use. */
export interface SessionsWorld<M extends AnyMessage> {
  readonly node: NodeId;
  readonly region: RegionId;
  readonly topology: Topology;
  readonly settings: Readonly<Record<string, number>>;
  /** Requests that one connection may have in flight. */
  readonly credits: number;
  /** Requests of all clients together that it serves in a second; undefined: as many as a server. */
  readonly requestsPerSecond?: number | undefined;
  /** The access rules of the cluster; absent where it has none. */
  readonly access?: AccessRules | undefined;
  /** Its number among the processes of the node. */
  readonly incarnation: number;
  wall(): WallMs;
  /** Steady time, ms. */
  steady(): number;
  /** The latest timestamp that a client may name (T1). */
  latest(): Timestamp;
  ready(): boolean;
  ust(): Timestamp;
  /** Version of the map that the node has adopted. */
  map(): number;
  /** The adopted maps above a version that have suspended nodes. */
  cutsAfter(version: number): readonly SessionCut[];
  served(): Timestamp;
  want(ts: Timestamp): void;
  unresponsive(): Unresponsive;
  random(): number;
  post(envelope: Envelope<M>): void;
  /** Runs something later, unless the process has ended. */
  after(ms: number, run: () => void): void;
}

/** The frames of a node. */
export interface SessionsNode<M extends AnyMessage> {
  readonly machine: readonly [name: string, machine: Machine<M>];
  readonly sessions: ServedSessions;
  /** Refuses new sessions. */
  leave(): void;
}

/** The key with which all clusters of the simulator sign their tokens. */
export const tokenCluster = (protocol: string): TokenCluster => ({
  secret: 'simulated',
  protocol,
  identity: 'simulated',
});

/** The address of a node. */
export const urlOf = (node: NodeId): string => `ws://${node}`;

/** @param open makes the session of a connection */
export function sessionsNode<M extends AnyMessage>(
  world: SessionsWorld<M>,
  protocol: Offer,
  port: Machine<M>,
  open: (node: ServedNode) => ServedSession,
): SessionsNode<M> {
  const { node: id, region, topology } = world;
  const after: ServedNode['after'] = (ms, run) => {
    let live = true;
    world.after(ms, () => {
      if (live) run();
    });
    return () => {
      live = false;
    };
  };
  const waiting = new TimeWaiters(world, after);
  const now = () => Math.max(0, Math.floor(world.wall()));
  const maxTransactionMs = world.settings.maxTransactionMs ?? DEFAULT_SETTINGS.maxTransactionMs;
  const serving = new Serving(
    {
      now,
      steady: () => world.steady(),
      ready: () => world.ready(),
      unprotected: () => undefined,
      clockProblem: () => undefined,
      verification: () => ({ state: 'verified' }),
      ust: () => world.ust(),
      stable: (ts, timeoutMs, done) => {
        world.want(ts);
        waiting.wait(() => world.served(), ts, timeoutMs, done);
      },
      visibleHere: (ts, timeoutMs, done) => waiting.wait(() => world.ust(), ts, timeoutMs, done),
    },
    maxTransactionMs,
    world.requestsPerSecond === undefined ? {} : { requestsPerSecondPerClient: world.requestsPerSecond },
  );
  const node: ServedNode = {
    id,
    region,
    cluster: 'simulated',
    protocol,
    topology,
    rules: new Rules(topology, DEFAULT_LIMITS),
    credits: world.credits,
    maxTransactionMs,
    regions: topology.regions.map((one) => ({ id: one, endpoints: topology.nodesOf(one).map(urlOf) })),
    serving,
    now,
    latest: () => world.latest(),
    ust: () => world.ust(),
    freshness: () => ({
      now: now(),
      stalenessMs: Math.max(0, Math.round(now() - wallOf(world.ust()))),
      stale: false,
      heldBackBy: null,
    }),
    map: () => world.map(),
    cutsAfter: (version) => world.cutsAfter(version),
    unresponsive: () => world.unresponsive(),
    authenticate: (credentials, done) => done(principalOf(credentials, now())),
    refused: () => undefined,
    client: (_principal, address) => address,
    random: () => world.random(),
    after,
    failed: (cause) => {
      throw cause;
    },
  };
  const sessions = new ServedSessions(node, () => open(node));
  const tick = () => {
    sessions.tick(false);
    world.after(TICK_MS, tick);
  };
  tick();
  return { machine: [FRAMES_MACHINE, port], sessions, leave: () => serving.leave() };
}

/** Waits for times of the node, which it checks every few ms while a client waits. */
class TimeWaiters {
  #count = 0;
  #polls = false;
  readonly #waiters = new Map<() => Timestamp, StableWaiters>();

  constructor(
    readonly world: Pick<SessionsWorld<AnyMessage>, 'after'>,
    readonly timer: ServedNode['after'],
  ) {}

  wait(time: () => Timestamp, ts: Timestamp, timeoutMs: number, done: Done<Timestamp>): void {
    const waiters = new StableWaiters(this.timer);
    this.#count++;
    this.#waiters.set(time, waiters);
    waiters.wait(ts, time(), timeoutMs, (result) => {
      this.#count--;
      this.#waiters.delete(time);
      done(result);
    });
    if (!this.#polls) this.#poll();
  }

  #poll(): void {
    this.#polls = this.#count > 0;
    if (!this.#polls) return;
    for (const [time, waiters] of [...this.#waiters]) waiters.advance(time());
    this.world.after(POLL_MS, () => this.#poll());
  }
}

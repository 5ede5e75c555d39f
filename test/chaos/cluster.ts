/** A cluster of real processes with faults of processes, links, clocks and disks. */
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { packWall } from '@isochron/core';
import { Cluster, type ClusterOptions, type ClusterStatus } from '../e2e/harness.js';
import { type Answer, call, type Request } from '../e2e/http.js';
import { freePorts } from '../e2e/ports.js';
import { type Child, type Exit, ROOT } from '../e2e/processes.js';
import { ALBUMS, accessOptions, type Connection, connectionOf, headersOf, type User } from './access.js';
import { DISK_QUOTA_BYTES, fill, free } from './ballast.js';
import { CLOCK_VARIABLE, type WrongClock } from './clock.js';
import { crossing, type Shape } from './faults.js';
import { PeerLinks } from './links.js';

/** The compiled module: nodes run without the test runner. */
const CLOCK_MODULE = pathToFileURL(join(ROOT, 'test/dist/chaos/clock.js')).href;
const RIGHT: WrongClock = { offsetMs: 0, rate: 0, sinceMs: 0 };
/** Many nodes start at the same time on few cores. */
const START_LIMIT_MS = 120_000;
/** A node takes at most ten seconds to close. */
const END_LIMIT_MS = 60_000;
/** A node that ends by itself starts again after this pause, as under a supervisor, for a limited number of times. */
const RESTART_PAUSE_MS = 250;
const MAX_RESTARTS = 20;
/** A node that refuses to start because of its clock starts again after this pause. */
const CLOCK_PAUSE_MS = 1_000;

/** Options of a cluster with faults. */
export interface ChaosClusterOptions extends ClusterOptions {
  /** The text of its access rules: with them every client needs the credentials of a {@link User}. Default: none. */
  readonly rules?: string;
}

/** Clocks of a node, as `/v1/clock` reports them. */
export interface NodeClocks {
  readonly ust: number;
  readonly hlc: number;
  readonly stalenessMs: number;
}

/** A process of a node, and the clock with which it began. */
interface Launched {
  readonly id: string;
  readonly child: Child;
  /** The clock of the launch, and the clocks since. */
  readonly clocks: readonly WrongClock[];
}

export class ChaosCluster {
  readonly shape: Shape;
  /** Whether it has access rules and albums. */
  readonly hasRules: boolean;
  /** Failures that no fault explains: nodes that ended by themselves, or not in order. */
  readonly failures: string[] = [];
  readonly #clocks = new Map<string, WrongClock>();
  /** The clocks of each node since it was launched last. */
  readonly #since = new Map<string, WrongClock[]>();
  /** Processes that received a signal to end. */
  readonly #signalled = new Set<Child>();
  #closing = false;

  readonly #ca: string | undefined;
  /** Options of every node. */
  readonly #args: readonly string[];

  private constructor(
    readonly cluster: Cluster,
    readonly links: PeerLinks,
    readonly peerPorts: ReadonlyMap<string, number>,
    { rules, tls }: ChaosClusterOptions,
  ) {
    this.hasRules = rules !== undefined;
    this.#args = rules === undefined ? [] : accessOptions(cluster.folder, rules);
    this.#ca = tls === true ? cluster.ca : undefined;
    const regions = new Set(cluster.nodes.map(({ region }) => region));
    const nodesOf = (region: string) => cluster.nodes.filter((node) => node.region === region).map(({ id }) => id);
    this.shape = Object.fromEntries([...regions].map((region) => [region, nodesOf(region)]));
  }

  /**
   * Starts all nodes, with a proxy between each two, and waits until each is ready. No node listens at its address in
   * the cluster file: every node listens elsewhere, and its peers dial the proxies.
   */
  static async start(options: ChaosClusterOptions): Promise<ChaosCluster> {
    const settings = { diskQuotaBytes: DISK_QUOTA_BYTES, ...options.settings };
    const keyspaces = options.rules === undefined ? {} : { keyspaces: ['default', ALBUMS] };
    // A late write that yields has no effect, which a history does not tell.
    const lateInOrder = ['default'];
    const cluster = await Cluster.prepare({ ...keyspaces, lateInOrder, ...options, settings });
    const ports = await freePorts(cluster.nodes.length);
    const peerPorts = new Map(cluster.nodes.map(({ id }, i) => [id, ports[i]!]));
    const chaos = new ChaosCluster(cluster, await PeerLinks.open(peerPorts, options.tls), peerPorts, options);
    try {
      for (const id of chaos.nodes) chaos.launch(id);
      await cluster.ready(chaos.nodes, START_LIMIT_MS);
      return chaos;
    } catch (error) {
      await chaos.dispose();
      throw error;
    }
  }

  get nodes(): string[] {
    return this.cluster.nodes.map(({ id }) => id);
  }

  get regions(): string[] {
    return Object.keys(this.shape);
  }

  /** Starts a node that does not run, with its present clock. */
  launch(id: string): void {
    if (this.cluster.runs(id) || this.#closing) return;
    const listen = ['--peer-listen', `127.0.0.1:${this.peerPorts.get(id)}`];
    const clock = this.#clocks.get(id) ?? RIGHT;
    const child = this.cluster.launch(id, {
      args: [...listen, ...this.links.dialOption(id), ...this.#args],
      execArgv: ['--import', CLOCK_MODULE],
      env: { [CLOCK_VARIABLE]: JSON.stringify(clock) },
    });
    const clocks = [clock];
    this.#since.set(id, clocks);
    void child.exited.then((exit) => this.#ended({ id, child, clocks }, exit));
  }

  /** Ends a node by a signal, and waits for its end. Sends no second SIGTERM to a node that is ending. */
  async end(id: string, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    if (!this.cluster.runs(id)) return;
    const child = this.cluster.process(id);
    const isLeaving = this.#signalled.has(child);
    this.#signalled.add(child);
    // A second SIGTERM would end it without waiting.
    const { code } = isLeaving && signal === 'SIGTERM' ? await child.exited : await child.kill(signal, END_LIMIT_MS);
    // No code: it was killed meanwhile, or had not installed its signal handlers yet.
    if (isLeaving || signal === 'SIGKILL' || code === 0 || code === null) return;
    this.failures.push(`${id} ended with ${code} on ${signal}: ${lastLine(child)}`);
  }

  /** SIGSTOP or SIGCONT. */
  signal(id: string, signal: 'SIGSTOP' | 'SIGCONT'): void {
    if (this.cluster.runs(id)) this.cluster.process(id).signal(signal);
  }

  /** Cuts or mutes all links between a region and the others. */
  isolate(region: string, how: 'cut' | 'mute'): void {
    for (const pair of crossing(region, this.shape, this.links.pairs)) {
      if (how === 'cut') this.links.proxy(pair).cut();
      else this.links.proxy(pair).silence();
    }
  }

  reconnect(region: string): void {
    for (const pair of crossing(region, this.shape, this.links.pairs)) this.links.proxy(pair).heal();
  }

  /** Sets the error of the node's wall clock, for its later starts, too. */
  setClock(id: string, offsetMs: number, rate = 0): void {
    const clock = { offsetMs, rate, sinceMs: Date.now() };
    this.#clocks.set(id, clock);
    this.#since.get(id)?.push(clock);
    if (this.cluster.runs(id)) this.cluster.process(id).send(clock);
  }

  /** Deletes everything on a node's disk. The node must not run. */
  wipe(id: string): void {
    rmSync(this.cluster.node(id).dataDir, { recursive: true, force: true });
  }

  /** Copies everything on a node's disk. The node must not run. */
  backUp(id: string): void {
    const { dataDir } = this.cluster.node(id);
    rmSync(`${dataDir}.old`, { recursive: true, force: true });
    cpSync(dataDir, `${dataDir}.old`, { recursive: true });
  }

  /** Replaces the contents of a node's disk by the copy. The node must not run. */
  restore(id: string): void {
    this.wipe(id);
    cpSync(`${this.cluster.node(id).dataDir}.old`, this.cluster.node(id).dataDir, { recursive: true });
  }

  /** Cuts all links of a node. */
  detach(id: string): void {
    for (const pair of this.links.pairs) if (pair.includes(id)) this.links.proxy(pair).cut();
  }

  attach(id: string): void {
    for (const pair of this.links.pairs) if (pair.includes(id)) this.links.proxy(pair).heal();
  }

  fill(id: string): void {
    fill(this.cluster.node(id).dataDir);
  }

  free(id: string): void {
    free(this.cluster.node(id).dataDir);
  }

  /** Ends every fault: all links work, all clocks are right, all disks have room, all nodes run. */
  heal(): void {
    this.links.heal();
    for (const id of this.nodes) {
      this.setClock(id, 0);
      this.free(id);
      this.signal(id, 'SIGCONT');
      this.launch(id);
    }
  }

  /** @throws Error when the node does not answer */
  async clocks(id: string): Promise<NodeClocks> {
    const { status, json, text } = await this.get(this.cluster.node(id).api, '/v1/clock', { timeoutMs: 5000 });
    if (status !== 200) throw new Error(`${id} answers ${status} ${text}`);
    return json as NodeClocks;
  }

  /** The answer of `/v1/cluster` of a node. */
  async status(id: string): Promise<ClusterStatus> {
    return (await this.get(this.cluster.node(id).api, '/v1/cluster')).json as ClusterStatus;
  }

  /** What clients of a user connect with. */
  connection(user: User = 'sessions'): Connection {
    return connectionOf(user, this.hasRules, this.#ca);
  }

  /** One request of the user `sessions`, on a connection of its own. */
  get(base: string, path: string, request: Request = {}): Promise<Answer> {
    return call(base, 'GET', path, { headers: headersOf(this.connection()), ...request });
  }

  /** Stops all nodes in order; a node that does not end in order is a failure. */
  async stop(): Promise<void> {
    this.#closing = true;
    await Promise.all(this.nodes.map((id) => this.end(id, 'SIGTERM')));
  }

  /** Writes the logs of all nodes to a folder. */
  writeLogs(folder: string): void {
    for (const id of this.nodes) writeFileSync(join(folder, `${id}.log`), this.cluster.fullLog(id));
  }

  /**
   * Nodes whose timestamps lie further ahead of true time than any clock may, because of a wrong clock
   * (K1, no clock from afar).
   */
  async clocksFromTheFuture(): Promise<string[]> {
    const limit = packWall(Date.now() + MAX_CLOCK_DRIFT_MS);
    const clocks = await Promise.all(this.nodes.map(async (id) => ({ id, ...(await this.clocks(id)) })));
    return clocks.filter(({ hlc, ust }) => Math.max(hlc, ust) > limit).map(({ id, hlc }) => `${id} is at ${hlc}`);
  }

  /** Ends everything at once and deletes the data. */
  async dispose(): Promise<void> {
    this.#closing = true;
    await this.cluster.dispose();
    await this.links.close();
  }

  async #ended({ id, child, clocks }: Launched, { code, signal }: Exit): Promise<void> {
    if (this.#signalled.has(child) || this.#closing) return;
    if (refusesItsClock(child, clocks)) {
      await delay(CLOCK_PAUSE_MS);
      this.launch(id);
      return;
    }
    this.failures.push(`${id} ended by itself (${signal ?? `exit code ${code}`}): ${lastLine(child)}`);
    if (this.failures.length > MAX_RESTARTS) return;
    await delay(RESTART_PAUSE_MS);
    this.launch(id);
  }
}

/** The default limit of the drift between two clocks in the cluster file. */
const MAX_CLOCK_DRIFT_MS = 5_000;

/**
 * Whether a node refused to start because of its clock, as it should: the clock was behind (K5, no start on data of the
 * future), or the certificates were not valid at its time.
 *
 * @param clocks the clock of the launch, and the clocks that were set since
 */
export const refusesItsClock = ({ stderr }: Pick<Child, 'stderr'>, clocks: readonly WrongClock[]): boolean =>
  clocks.some(
    ({ offsetMs }) =>
      (offsetMs < 0 && stderr.includes('CLOCK_BEHIND_DATA')) ||
      (offsetMs !== 0 && stderr.includes('CERTIFICATE_INVALID')),
  );

const lastLine = ({ stderr }: Child): string => stderr.trimEnd().split('\n').at(-1) ?? '';

/** Regions with the URLs of their nodes. */
export const endpointsOf = ({ regions, cluster }: ChaosCluster): Record<string, readonly string[]> =>
  Object.fromEntries(regions.map((region) => [region, cluster.endpoints(region)]));

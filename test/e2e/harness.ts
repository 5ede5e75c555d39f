/** A cluster of real processes on this machine: one `isochron node` per node, real sockets, real LevelDB. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ClusterFile, writeClusterFile } from '@isochron/server';
import { call, trust } from './http.js';
import { freePorts } from './ports.js';
import { Child, type Exit, ISOCHRON, isochron, killAll } from './processes.js';
import { until } from './until.js';

/** Options of a cluster. */
export interface ClusterOptions {
  /** Default paris. */
  readonly protocol?: string;
  /** Default virginia, oregon, ireland. */
  readonly regions?: readonly string[];
  /** Default 1. */
  readonly nodesPerRegion?: number;
  /** Default `default` alone. */
  readonly keyspaces?: readonly string[];
  /** Keyspaces with `late: order`. Default none. */
  readonly lateInOrder?: readonly string[];
  /** The regions that hold the keyspaces; by default they take turns. */
  readonly pinnedTo?: string[];
  /** Partitions of each keyspace. Default 6. */
  readonly partitions?: number;
  /** Default 2, or 1 in a cluster of one region. */
  readonly replication?: number;
  /** One-way delays in ms, by `a>b` or `a<>b`. */
  readonly wan?: Readonly<Record<string, number>>;
  readonly settings?: ClusterFile['settings'];
  /**
   * Id of the cluster; two with the same id and placement accept each other's tokens where the secret is the same, too.
   */
  readonly cluster?: string;
  readonly secret?: string;
  /** Whether API and links are served over TLS, with certificates of `isochron certs`. Default false. */
  readonly tls?: boolean;
  /** Environment of every node. */
  readonly env?: NodeJS.ProcessEnv;
  /** Further arguments of every node. */
  readonly args?: readonly string[];
}

/** Differences of one start of a node from the others. */
export interface StartOptions {
  /** A cluster file of its own. */
  readonly configFile?: string;
  /** A secret of its own. */
  readonly secretFile?: string;
  /** Without a channel the node outlives the tests, as in production. Default true. */
  readonly channel?: boolean;
  /** Further arguments, behind those that all nodes get. */
  readonly args?: readonly string[];
  /** Options for Node itself. */
  readonly execArgv?: readonly string[];
  /** The file of the command line. Default {@link ISOCHRON}. */
  readonly isochron?: string;
  /** Environment, besides that of all nodes. */
  readonly env?: NodeJS.ProcessEnv;
}

/** One node of the cluster, running or not. */
export interface ClusterNode {
  readonly id: string;
  readonly region: string;
  readonly api: string;
  readonly peer: string;
  readonly metrics: string;
  readonly dataDir: string;
}

const SECRET = 'the secret of an end-to-end test';
const LOG_LINES_SHOWN = 40;
/** A start takes a second or two of CPU time: on a machine that others use, many times that. */
export const START_LIMIT_MS = 60_000;
/** Whether a node serves, independent of the others. */
const SERVES = '/readyz?exclude=cluster-file,links,stable-time';
const clusters = new Set<Cluster>();

export class Cluster {
  /** Holds cluster file, secret and data. */
  readonly folder: string;
  readonly configFile: string;
  readonly secretFile: string;
  readonly nodes: readonly ClusterNode[];
  readonly file: ClusterFile;
  readonly #options: ClusterOptions;
  readonly #running = new Map<string, Child>();
  /** Output of the processes that have ended, by node. */
  readonly #ended = new Map<string, string>();

  private constructor(options: ClusterOptions, ports: readonly number[]) {
    this.#options = options;
    this.folder = mkdtempSync(join(tmpdir(), 'isochron-e2e-'));
    this.configFile = join(this.folder, 'cluster.yaml');
    this.secretFile = join(this.folder, 'secret');
    this.nodes = plannedNodes(options, this.folder, ports);
    this.file = clusterFile(options, this.nodes);
    writeFileSync(this.configFile, writeClusterFile(this.file));
    writeFileSync(this.secretFile, options.secret ?? SECRET, { mode: 0o600 });
    clusters.add(this);
  }

  /** Folder of the certificates of a cluster with TLS. */
  get certificates(): string {
    return join(this.folder, 'certs');
  }

  /** Its certificate authorities, for clients. */
  get ca(): string {
    return readFileSync(join(this.certificates, 'ca.pem'), 'utf8');
  }

  /** Writes the files, and starts no node. */
  static async prepare(options: ClusterOptions = {}): Promise<Cluster> {
    const { regions, nodesPerRegion } = withDefaults(options);
    const cluster = new Cluster(options, await freePorts(3 * regions.length * nodesPerRegion));
    if (options.tls === true) await cluster.certify('create', '--config', cluster.configFile);
    return cluster;
  }

  /** Runs a command of `isochron certs` on the folder of certificates. */
  async certify(...args: readonly string[]): Promise<void> {
    const result = await isochron(['certs', ...args, '--out', this.certificates]);
    if (result.code !== 0) throw new Error(result.stderr);
    trust(this.ca);
  }

  /** Starts all nodes and waits until each is ready. */
  static async start(options: ClusterOptions = {}): Promise<Cluster> {
    const cluster = await Cluster.prepare(options);
    for (const { id } of cluster.nodes) cluster.launch(id);
    await cluster.ready();
    return cluster;
  }

  node(id: string): ClusterNode {
    const node = this.nodes.find((candidate) => candidate.id === id);
    if (node === undefined) throw new Error(`no node ${id} in ${this.nodes.map((other) => other.id).join(', ')}`);
    return node;
  }

  /** URLs of the API of all nodes, or of one region's. */
  endpoints(region?: string): string[] {
    return this.nodes.filter((node) => region === undefined || node.region === region).map(({ api }) => api);
  }

  /** URL of the API of the first node of a region. */
  endpoint(region: string): string {
    return this.endpoints(region)[0]!;
  }

  /** Starts the process of a node. */
  launch(id: string, options: StartOptions = {}): Child {
    const { configFile = this.configFile, secretFile = this.secretFile, channel = true, execArgv = [] } = options;
    const { isochron: command = ISOCHRON } = options;
    const { dataDir, metrics } = this.node(id);
    const files = ['--config', configFile, '--secret-file', secretFile, '--data', dataDir];
    const own = ['--metrics-port', new URL(metrics).port, ...this.#tlsOptions(id)];
    const rest = [...own, ...(this.#options.args ?? []), ...(options.args ?? [])];
    const args = [...execArgv, command, 'node', '--node', id, ...files, ...rest];
    const child = new Child(process.execPath, args, { channel, env: { ...this.#options.env, ...options.env } });
    this.#running.set(id, child);
    void child.exited.then(() => {
      if (this.#running.get(id) === child) this.#running.delete(id);
      this.#ended.set(id, `${this.#ended.get(id) ?? ''}${child.stderr}`);
    });
    return child;
  }

  #tlsOptions(id: string): string[] {
    if (this.#options.tls !== true) return [];
    const files = {
      'tls-cert': 'api',
      'tls-key': 'api-key',
      'peer-cert': 'peer',
      'peer-key': 'peer-key',
      'peer-ca': 'ca',
    };
    return Object.entries(files).flatMap(([option, name]) => [
      `--${option}`,
      join(this.certificates, id, `${name}.pem`),
    ]);
  }

  /** Whether the process of a node runs. */
  runs(id: string): boolean {
    return this.#running.has(id);
  }

  /** The process of a node that runs. */
  process(id: string): Child {
    const child = this.#running.get(id);
    if (child === undefined) throw new Error(`${id} does not run`);
    return child;
  }

  /** Waits until these nodes, or all, serve. They may be parts of a cluster that is broken on purpose. */
  async ready(ids: readonly string[] = this.nodes.map(({ id }) => id), timeoutMs = START_LIMIT_MS): Promise<void> {
    await Promise.all(ids.map((id) => this.#ready(id, timeoutMs)));
  }

  async #ready(id: string, timeoutMs: number): Promise<void> {
    const child = this.process(id);
    const { api } = this.node(id);
    const isReady = async () => child.exit ?? (await call(api, 'GET', SERVES)).status === 200;
    const end = await until(`${id} is ready`, isReady, { timeoutMs, explain: () => this.log(id) });
    if (end !== true) throw new Error(`${id} ended with ${JSON.stringify(end)} before it was ready\n${this.log(id)}`);
  }

  /** Ends a node by a signal, and waits for its end. */
  async kill(id: string, signal: NodeJS.Signals = 'SIGKILL'): Promise<Exit> {
    return this.process(id).kill(signal);
  }

  /** Starts a node again, over its data, and waits until it is ready. */
  async restart(id: string, options?: StartOptions): Promise<void> {
    this.launch(id, options);
    await this.ready([id]);
  }

  /** Stops all nodes in order. @throws Error when one ends with an exit code other than 0 */
  async stop(): Promise<void> {
    const ids = [...this.#running.keys()];
    const exits = await Promise.all(ids.map((id) => this.kill(id, 'SIGTERM')));
    const bad = ids.filter((_id, i) => exits[i]!.code !== 0);
    if (bad.length > 0) throw new Error(`not closed in order:\n${bad.map((id) => this.log(id)).join('\n')}`);
  }

  /** Starts all nodes, over their data, and waits until they are ready. */
  async startAgain(): Promise<void> {
    for (const { id } of this.nodes) this.launch(id);
    await this.ready();
  }

  /** The answer of `/v1/cluster` of a node. */
  async status(id: string): Promise<ClusterStatus> {
    return (await call(this.node(id).api, 'GET', '/v1/cluster')).json as ClusterStatus;
  }

  /** Everything that a node has logged, over all its starts. */
  fullLog(id: string): string {
    return `${this.#ended.get(id) ?? ''}${this.#running.get(id)?.stderr ?? ''}`;
  }

  /** The last lines that a node has logged. */
  log(id: string): string {
    return [`--- log of ${id}`, ...this.fullLog(id).trimEnd().split('\n').slice(-LOG_LINES_SHOWN)].join('\n');
  }

  /** Ends everything at once and deletes the data. For `afterAll`. */
  async dispose(): Promise<void> {
    clusters.delete(this);
    await Promise.all([...this.#running.values()].map((child) => child.kill('SIGKILL')));
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The part of `/v1/cluster` that tests use. */
export interface ClusterStatus {
  readonly cluster: string;
  readonly protocol: string;
  readonly capabilities: readonly string[];
  readonly hash: string;
  readonly node: {
    readonly node: string;
    readonly ust: number;
    readonly stalenessMs: number;
    readonly map: {
      readonly version: number;
      readonly away: readonly string[];
      readonly suspended: readonly string[];
      readonly deferred: number;
      readonly owes: boolean;
      readonly isSealed: boolean;
    };
    readonly openTransactions: number;
    readonly partitions: readonly { partition: string; prepared: number; committed: number; keys: number }[];
    readonly links: readonly { node: string; up: boolean; reconnects: number; lastError: string | null }[];
    readonly blocking: { readonly reads: number; readonly totalMs: number; readonly longestMs: number };
    readonly counters: Readonly<Record<string, number>>;
    readonly protection: { readonly rules: { readonly differsFrom: readonly string[] } };
  };
}

/** Ends all processes and deletes all data of all clusters. */
export async function cleanUp(): Promise<void> {
  await Promise.all([...clusters].map((cluster) => cluster.dispose()));
  await killAll();
}

/** A test's function that shows the nodes' last log lines when it fails. */
export const logged =
  <A extends unknown[]>(test: (...args: A) => Promise<void>) =>
  async (...args: A): Promise<void> => {
    try {
      await test(...args);
    } catch (error) {
      for (const cluster of clusters) {
        for (const { id } of cluster.nodes) process.stderr.write(`${cluster.log(id)}\n`);
      }
      throw error;
    }
  };

const withDefaults = ({ regions, nodesPerRegion, partitions, replication }: ClusterOptions) => {
  const all = regions ?? ['virginia', 'oregon', 'ireland'];
  return {
    regions: all,
    nodesPerRegion: nodesPerRegion ?? 1,
    partitions: partitions ?? 6,
    replication: replication ?? Math.min(2, all.length),
  };
};

function plannedNodes(options: ClusterOptions, folder: string, ports: readonly number[]): ClusterNode[] {
  const { regions, nodesPerRegion } = withDefaults(options);
  const ids = regions.flatMap((region) =>
    Array.from({ length: nodesPerRegion }, (_, i) => ({ region, id: `${region}-${i + 1}` })),
  );
  const s = options.tls === true ? 's' : '';
  return ids.map(({ id, region }, i) => ({
    id,
    region,
    api: `http${s}://127.0.0.1:${ports[3 * i]}`,
    peer: `ws${s}://127.0.0.1:${ports[3 * i + 1]}`,
    metrics: `http://127.0.0.1:${ports[3 * i + 2]}`,
    dataDir: join(folder, id),
  }));
}

function clusterFile(options: ClusterOptions, nodes: readonly ClusterNode[]): ClusterFile {
  const { regions, partitions, replication } = withDefaults(options);
  const { wan, settings, cluster, protocol = 'paris', keyspaces = ['default'], lateInOrder = [], pinnedTo } = options;
  return {
    protocol,
    ...(cluster === undefined ? {} : { cluster }),
    regions: regions.map((id) => ({
      id,
      nodes: nodes
        .filter(({ region }) => region === id)
        .map((node) => ({ id: node.id, api: node.api, peer: node.peer })),
    })),
    keyspaces: keyspaces.map((name) => ({
      name,
      partitions,
      ...(pinnedTo ? { regions: pinnedTo } : { replication }),
      ...(lateInOrder.includes(name) ? { late: 'order' } : {}),
    })),
    ...(settings === undefined ? {} : { settings }),
    ...(wan === undefined ? {} : { wan: { oneWayMs: { ...wan } } }),
  };
}

/** A cluster of real processes on real sockets and real LevelDB. */

import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Topology } from '@isochron/core';
import type { ProtocolName } from '@isochron/protocols/session-rules';
import {
  awsOneWayMs,
  clusterSpec,
  ensureSecretFile,
  type NodeStatus,
  parseClusterFile,
  writeClusterFile,
} from '@isochron/server';
import { get } from './get.js';
import { freePorts } from './ports.js';
import { LoggedProcess } from './processes.js';
import { commandLine, ROOT } from './root.js';
import { tokenFor, withUsers } from './users.js';

/** The nodes, regions and settings of a cluster. */
export interface Layout {
  readonly protocol: ProtocolName;
  readonly regions: readonly string[];
  readonly nodesPerRegion: number;
  readonly partitions: number;
  readonly replication: number;
  /** `aws`: the delays that the PaRiS paper measured between the regions of AWS. */
  readonly wan: 'none' | 'aws';
  /**
   * Clock offsets, ms: of the nodes in the order of the cluster file, from the start again when the list is shorter.
   */
  readonly skewsMs: readonly number[];
  /** Whether API and links have TLS. */
  readonly tls?: boolean;
  /** Whether callers need a token, and rules judge what they do. */
  readonly users?: boolean;
  /** Options of `isochron node`, for every node. */
  readonly nodeArgs?: readonly string[];
  /** After this time the others go on without a node that does not answer; absent: never. */
  readonly suspendAfterMs?: number;
  /** Whether the nodes can be profiled while they run: {@link ClusterNode.inspector} is their port for it. */
  readonly inspected?: boolean;
}

/** The regions of {@link SMALL_LAYOUT}. */
export const REGIONS = ['virginia', 'oregon', 'ireland'] as const;

/** Three regions of one node, 6 partitions. */
export const SMALL_LAYOUT: Layout = {
  protocol: 'paris',
  regions: REGIONS,
  nodesPerRegion: 1,
  partitions: 6,
  replication: 2,
  wan: 'none',
  skewsMs: [0],
};

/** Options of nodes that take 20,000 connections, also from one address. */
export const MANY_CONNECTIONS = ['--limit', 'connections=20000,connectionsPerAddress=20000'] as const;

/** The slowest of the delays between the regions with `wan: 'aws'`. */
export const SLOWEST_AWS_ONE_WAY_MS = Math.max(...Object.values(awsOneWayMs(REGIONS)));

/** Options for Node, by the node's id. */
export type ExecArgv = (node: string) => readonly string[];

const POLL_INTERVAL_MS = 50;
const READY_TIMEOUT_MS = 60_000;
const OK = 200;
const OVERLOADED = 503;
const STABLE_TIMEOUT_MS = 60_000;

/** One node of the cluster. */
export class ClusterNode {
  #process: LoggedProcess;

  constructor(
    readonly id: string,
    readonly region: string,
    readonly url: string,
    readonly metricsUrl: string,
    readonly dataFolder: string,
    /** Port of V8's inspector; undefined unless the layout asks for it. */
    readonly inspector: number | undefined,
    /** Certificate authorities of its API; undefined without TLS. */
    readonly ca: string | undefined,
    /** For its API; undefined where callers need none. */
    readonly token: string | undefined,
    readonly start: () => LoggedProcess,
  ) {
    this.#process = start();
  }

  get process(): LoggedProcess {
    return this.#process;
  }

  /** Ends the process in order and starts another one on the same data. Resolves when it serves. */
  async restart(): Promise<void> {
    await this.#process.stop();
    this.#process = this.start();
    await this.ready();
  }

  async get<T>(path: string): Promise<T> {
    return JSON.parse(await this.#text(this.url + path, this.ca, this.token)) as T;
  }

  /** As `get`, but repeats a refused request: a node that was stopped may report overload for up to a second. */
  async getAwake<T>(path: string): Promise<T> {
    const deadline = performance.now() + READY_TIMEOUT_MS;
    for (;;) {
      const { status, text } = await get(this.url + path, this.ca, this.token);
      if (status === OK) return JSON.parse(text) as T;
      if (status !== OVERLOADED || performance.now() > deadline)
        throw new Error(`${this.id} answers ${status} to ${path}: ${text}`);
      await delay(POLL_INTERVAL_MS);
    }
  }

  /** The node's counters, in the Prometheus text format. */
  metrics(): Promise<string> {
    return this.#text(this.metricsUrl);
  }

  async #text(url: string, ca?: string, token?: string): Promise<string> {
    this.process.check();
    const { status, text } = await get(url, ca, token);
    if (status !== OK) throw new Error(`${this.id} answers ${status} to ${url}: ${text}`);
    return text;
  }

  /** Resolves when the node serves. @throws Error when it ends, or takes longer than a minute */
  async ready(): Promise<void> {
    const deadline = performance.now() + READY_TIMEOUT_MS;
    while (!(await this.#isReady())) {
      this.process.check();
      if (performance.now() > deadline)
        throw new Error(`${this.id} is not ready in time; its log: ${this.process.logFile}`);
      await delay(POLL_INTERVAL_MS);
    }
  }

  async status(): Promise<NodeStatus> {
    return (await this.get<{ node: NodeStatus }>('/v1/cluster')).node;
  }

  /** Before it listens, connecting fails: it is not ready, either. */
  #isReady(): Promise<boolean> {
    return get(`${this.url}/readyz`, this.ca).then(
      ({ status }) => status === OK,
      () => false,
    );
  }
}

export class Cluster {
  private constructor(
    readonly nodes: readonly ClusterNode[],
    readonly topology: Topology,
    readonly configFile: string,
    /** Certificate authorities of the API; undefined without TLS. */
    readonly ca: string | undefined,
  ) {}

  /**
   * Starts the nodes, with all their files in the folder.
   * @param build the built repository whose nodes they are
   * @throws Error when one does not become ready
   */
  static async start(folder: string, layout: Layout, execArgv: ExecArgv, build = ROOT): Promise<Cluster> {
    mkdirSync(folder, { recursive: true });
    const configFile = join(folder, 'cluster.yaml');
    const count = layout.regions.length * layout.nodesPerRegion;
    const ports = await freePorts(4 * count);
    const text = clusterFile(layout, ports);
    writeFileSync(configFile, text);
    const config = parseClusterFile(text, configFile);
    const certs = layout.tls ? certify(folder, configFile) : undefined;
    const ca = certs === undefined ? undefined : readFileSync(join(certs, 'ca.pem'), 'utf8');
    const users = layout.users ? withUsers(folder) : [];
    const token = tokenFor(configFile);
    const files = ['--config', configFile, '--secret-file', ensureSecretFile(folder), ...users];
    const named = config.regions.flatMap(({ id: region, nodes }) => nodes.map((node) => ({ ...node, region })));
    const nodes = named.map(({ id, region, api }, i) => {
      const data = join(folder, id);
      mkdirSync(data, { recursive: true });
      const metricsPort = ports[2 * count + i]!;
      const skewMs = layout.skewsMs[i % layout.skewsMs.length] ?? 0;
      const own = ['--data', data, '--metrics-port', String(metricsPort), '--clock-skew-ms', String(skewMs)];
      const inspector = layout.inspected ? ports[3 * count + i]! : undefined;
      const inspect = inspector === undefined ? [] : [`--inspect=127.0.0.1:${inspector}`];
      const run = [
        ...execArgv(id),
        ...inspect,
        commandLine(build),
        'node',
        '--node',
        id,
        ...files,
        ...own,
        '--log-level',
        'warn',
      ];
      const secure = certs === undefined ? [] : certificateArgs(join(certs, id));
      const args = [...run, ...secure, ...(layout.nodeArgs ?? [])];
      const log = join(data, 'node.log');
      const metrics = `http://127.0.0.1:${metricsPort}/metrics`;
      const start = (): LoggedProcess => new LoggedProcess(id, process.execPath, args, log);
      return new ClusterNode(id, region, api, metrics, data, inspector, ca, token, start);
    });
    const cluster = new Cluster(nodes, Topology.of(clusterSpec(config)), configFile, ca);
    try {
      await Promise.all(nodes.map((node) => node.ready()));
    } catch (error) {
      await cluster.stop();
      throw error;
    }
    return cluster;
  }

  get pids(): number[] {
    return this.nodes.map((node) => node.process.pid);
  }

  /** Resolves when all writes so far are visible in every region. */
  async stable(): Promise<void> {
    const clocks = await Promise.all(this.nodes.map((node) => node.getAwake<{ hlc: number }>('/v1/clock')));
    const ts = Math.max(...clocks.map(({ hlc }) => hlc));
    await Promise.all(this.nodes.map((node) => node.getAwake(`/v1/stable?ts=${ts}&timeout=${STABLE_TIMEOUT_MS}`)));
  }

  /** Stops the processes of all nodes (SIGSTOP), so that other clusters have the machine to themselves. */
  pause(): void {
    for (const node of this.nodes) node.process.pause();
  }

  /** Continues the processes. Resolves when the nodes have exchanged all messages of the pause. */
  async resume(): Promise<void> {
    for (const node of this.nodes) node.process.resume();
    await this.stable();
  }

  /** All nodes end in order, and start on their data. Resolves when they serve. */
  async restart(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.restart()));
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.process.stop()));
  }
}

const certsFolder = (clusterFolder: string): string => join(clusterFolder, 'certs');

/** Where the API of a node with TLS has its certificate and key. */
export function apiCertificate({ configFile }: Cluster, { id }: ClusterNode): { cert: string; key: string } {
  const folder = join(certsFolder(dirname(configFile)), id);
  return { cert: join(folder, 'api.pem'), key: join(folder, 'api-key.pem') };
}

/** Makes the certificates of a cluster. Returns their folder. */
function certify(folder: string, configFile: string): string {
  const out = certsFolder(folder);
  execFileSync(process.execPath, [commandLine(ROOT), 'certs', 'create', '--config', configFile, '--out', out], {
    stdio: 'pipe',
  });
  return out;
}

function certificateArgs(folder: string): string[] {
  const api = ['--tls-cert', join(folder, 'api.pem'), '--tls-key', join(folder, 'api-key.pem')];
  const peer = ['--peer-cert', join(folder, 'peer.pem'), '--peer-key', join(folder, 'peer-key.pem')];
  return [...api, ...peer, '--peer-ca', join(folder, 'ca.pem')];
}

function clusterFile(layout: Layout, ports: readonly number[]): string {
  const { protocol, regions, nodesPerRegion, partitions, replication, wan, tls, suspendAfterMs } = layout;
  const s = tls ? 's' : '';
  const nodesOf = (region: string, r: number) =>
    Array.from({ length: nodesPerRegion }, (_, n) => {
      const first = 2 * (r * nodesPerRegion + n);
      const [api, peer] = [`http${s}://127.0.0.1:${ports[first]}`, `ws${s}://127.0.0.1:${ports[first + 1]}`];
      return { id: `${region}-${n + 1}`, api, peer };
    });
  return writeClusterFile({
    protocol,
    regions: regions.map((id, r) => ({ id, nodes: nodesOf(id, r) })),
    keyspaces: [{ name: 'default', partitions, replication }],
    ...(suspendAfterMs === undefined ? {} : { settings: { suspendAfterMs } }),
    ...(wan === 'aws' && { wan: { oneWayMs: awsOneWayMs(regions) } }),
  });
}

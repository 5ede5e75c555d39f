/** A cluster of real processes on real sockets and real LevelDB: three regions of one node, 6 partitions. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Topology } from '@isochron/core';
import { clusterSpec, ensureSecretFile, type NodeStatus, parseClusterFile, writeClusterFile } from '@isochron/server';
import { freePorts } from './ports.js';
import { LoggedProcess } from './processes.js';
import { ROOT } from './root.js';

export const REGIONS = ['virginia', 'oregon', 'ireland'] as const;
const PARTITIONS = 6;

/** Half of the round trips in ms that the PaRiS paper measured on AWS (Fig. 1). */
const AWS_ONE_WAY_MS: Readonly<Record<string, number>> = {
  'oregon>virginia': 42.86,
  'oregon>ireland': 72.26,
  'virginia>oregon': 44.14,
  'virginia>ireland': 40.2,
  'ireland>oregon': 69.66,
  'ireland>virginia': 38.235,
};

/** The slowest of the delays with `wan: 'aws'`. */
export const SLOWEST_AWS_ONE_WAY_MS = Math.max(...Object.values(AWS_ONE_WAY_MS));

export interface ClusterOptions {
  readonly wan: 'none' | 'aws';
  readonly replication: number;
  /** Options for Node, by the node's id. */
  readonly execArgv: (node: string) => readonly string[];
}

const POLL_INTERVAL_MS = 50;
const READY_TIMEOUT_MS = 60_000;
const STABLE_TIMEOUT_MS = 60_000;

/** One node of the cluster. */
export class ClusterNode {
  constructor(
    readonly id: string,
    readonly region: string,
    readonly url: string,
    readonly process: LoggedProcess,
  ) {}

  async get<T>(path: string): Promise<T> {
    this.process.check();
    const answer = await fetch(this.url + path);
    if (!answer.ok) throw new Error(`${this.id} answers ${answer.status} to ${path}: ${await answer.text()}`);
    return (await answer.json()) as T;
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

  /** Before it listens, connecting fails: that too is not ready. */
  #isReady(): Promise<boolean> {
    return fetch(`${this.url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  }
}

export class Cluster {
  private constructor(
    readonly nodes: readonly ClusterNode[],
    readonly topology: Topology,
    readonly configFile: string,
  ) {}

  /** Starts the nodes, with everything they write in the folder. @throws Error when one does not become ready */
  static async start(folder: string, options: ClusterOptions): Promise<Cluster> {
    mkdirSync(folder, { recursive: true });
    const configFile = join(folder, 'cluster.yaml');
    const text = await clusterFile(options);
    writeFileSync(configFile, text);
    const config = parseClusterFile(text, configFile);
    const secretFile = ensureSecretFile(folder);
    const nodes = config.regions.flatMap((region) =>
      region.nodes.map(({ id, api }) => {
        const data = join(folder, id);
        mkdirSync(data, { recursive: true });
        const files = ['--config', configFile, '--secret-file', secretFile, '--data', data];
        const args = [...options.execArgv(id), CLI, 'node', '--node', id, ...files, '--log-level', 'warn'];
        return new ClusterNode(
          id,
          region.id,
          api,
          new LoggedProcess(id, process.execPath, args, join(data, 'node.log')),
        );
      }),
    );
    const cluster = new Cluster(nodes, new Topology(clusterSpec(config)), configFile);
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

  /** Resolves when everything written so far is visible in every region. */
  async stable(): Promise<void> {
    const clocks = await Promise.all(this.nodes.map((node) => node.get<{ hlc: number }>('/v1/clock')));
    const ts = Math.max(...clocks.map(({ hlc }) => hlc));
    await Promise.all(this.nodes.map((node) => node.get(`/v1/stable?ts=${ts}&timeout=${STABLE_TIMEOUT_MS}`)));
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.process.stop()));
  }

  kill(): void {
    for (const node of this.nodes) node.process.kill();
  }
}

const CLI = join(ROOT, 'server/dist/cli/main.js');

async function clusterFile({ wan, replication }: ClusterOptions): Promise<string> {
  const ports = await freePorts(2 * REGIONS.length);
  return writeClusterFile({
    protocol: 'paris',
    regions: REGIONS.map((id, i) => ({
      id,
      nodes: [{ id: `${id}-1`, api: `http://127.0.0.1:${ports[2 * i]}`, peer: `ws://127.0.0.1:${ports[2 * i + 1]}` }],
    })),
    keyspaces: [{ name: 'default', partitions: PARTITIONS, replication }],
    ...(wan === 'aws' && { wan: { oneWayMs: { ...AWS_ONE_WAY_MS } } }),
  });
}

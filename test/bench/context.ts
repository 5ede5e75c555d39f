/** What benchmarks share: options, clusters, helper processes, a folder; and their end. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cluster, REGIONS } from './cluster.js';
import type { Row } from './figures.js';
import { Helper } from './jobs.js';
import type { EchoJob } from './limits/ws.js';
import type { SdkJob } from './load/sdk.js';
import type { Progress } from './progress.js';
import type { Load, RoundOptions } from './rounds.js';

export interface BenchSettings {
  readonly rounds: number;
  readonly durationMs: number;
  /** Where everything random starts. */
  readonly seed: number;
  /** Takes the expensive parts small: a smoke test, not a measurement. */
  readonly quick: boolean;
  /** Folder for CPU profiles of all processes. */
  readonly profile: string | undefined;
}

/** A benchmark: what `--only` names, and how its rows come about. */
export interface Benchmark {
  readonly name: string;
  readonly about: string;
  run(context: Context): Promise<Row[]>;
}

/** Keys of a partition in the paper's workload: enough that zipf 0.99 has a tail. */
const KEYS_PER_PARTITION = 10_000;
const VALUE_BYTES = 10;
const FILL_SESSIONS = 6;

export class Context {
  readonly folder = mkdtempSync(join(tmpdir(), 'isochron-bench-'));
  readonly #clusters = new Map<string, Promise<Cluster>>();
  readonly #started: Cluster[] = [];
  readonly #helpers = new Map<string, Helper<never, unknown>>();
  #filled: Promise<Cluster> | undefined;
  #closing = false;

  constructor(
    readonly settings: BenchSettings,
    readonly progress: Progress,
  ) {}

  get keysPerPartition(): number {
    return this.settings.quick ? KEYS_PER_PARTITION / 10 : KEYS_PER_PARTITION;
  }

  get roundOptions(): RoundOptions {
    const { rounds, durationMs } = this.settings;
    const onRound = (round: number) => this.progress.step(round === 0 ? 'warm-up' : `round ${round} of ${rounds}`);
    return { rounds, durationMs, onRound };
  }

  /** The cluster without delays, started when it is first asked for. */
  mainCluster(): Promise<Cluster> {
    return this.cluster('main', { wan: 'none', replication: 2 });
  }

  /** The main cluster with the keys of the workload in it. */
  filledCluster(): Promise<Cluster> {
    this.#filled ??= this.mainCluster().then(async (cluster) => {
      await this.fill(cluster, { table: this.keysPerPartition }, VALUE_BYTES);
      return cluster;
    });
    return this.#filled;
  }

  /** The cluster of this name, started when it is first asked for. */
  cluster(name: string, options: { wan: 'none' | 'aws'; replication: number }): Promise<Cluster> {
    const known = this.#clusters.get(name);
    if (known !== undefined) return known;
    this.#checkOpen();
    this.progress.step('starting the cluster');
    const execArgv = (node: string) => this.#execArgv(`${name}-${node}`);
    const starting = Cluster.start(join(this.folder, name), { ...options, execArgv }).then((cluster) => {
      this.#started.push(cluster);
      return cluster;
    });
    this.#clusters.set(name, starting);
    return starting;
  }

  /** The clusters that run. */
  get clusters(): readonly Cluster[] {
    return this.#started;
  }

  /** Stops a cluster; a later benchmark that asks for the name gets a new one. */
  async stopCluster(name: string): Promise<void> {
    const cluster = await this.#clusters.get(name);
    if (cluster === undefined) return;
    this.#clusters.delete(name);
    if (name === 'main') this.#filled = undefined;
    this.#started.splice(this.#started.indexOf(cluster), 1);
    await cluster.stop();
    rmSync(join(this.folder, name), { recursive: true, force: true });
  }

  /** Writes keys into a cluster and waits until they are visible everywhere. */
  async fill(cluster: Cluster, keys: { table: number } | { numbered: number }, valueBytes: number): Promise<Load> {
    this.progress.step('writing keys');
    const { configFile } = cluster;
    const load = await this.sdk().run({
      kind: 'fill',
      configFile,
      regions: REGIONS,
      sessions: FILL_SESSIONS,
      keys,
      valueBytes,
    });
    await cluster.stable();
    return load;
  }

  sdk(): Helper<SdkJob, Load> {
    return this.helper('./load/sdk.js');
  }

  /** The URL of a bare echo server, and the process that it is in. */
  async echo(answerBytes: number): Promise<{ url: string; pid: number }> {
    const helper = this.helper<EchoJob, number>('./limits/ws.js');
    return { url: `ws://127.0.0.1:${await helper.run({ answerBytes })}`, pid: helper.pid };
  }

  /** The helper process of a file, started when it is first asked for. @param name tells several of one file apart */
  helper<J, R>(file: string, name = ''): Helper<J, R> {
    const id = `${file} ${name}`.trim();
    const known = this.#helpers.get(id) as Helper<J, R> | undefined;
    if (known !== undefined) return known;
    this.#checkOpen();
    const helper = new Helper<J, R>(file, this.#execArgv(id.replaceAll(/[^a-z0-9]+/g, '-').replace(/^-/, '')));
    this.#helpers.set(id, helper as Helper<never, unknown>);
    return helper;
  }

  /** Whether the end has begun: what fails from then on fails because of that. */
  get isClosing(): boolean {
    return this.#closing;
  }

  /** Ends everything in order and removes the folder. */
  async close(): Promise<void> {
    this.#closing = true;
    await Promise.allSettled([...this.#helpers.values()].map((helper) => helper.stop()));
    await Promise.allSettled([...this.#clusters.keys()].map((name) => this.stopCluster(name)));
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Ends everything at once. */
  kill(): void {
    for (const helper of this.#helpers.values()) helper.kill();
    for (const cluster of this.#started) cluster.kill();
  }

  /** Nothing may be started that nobody would end. */
  #checkOpen(): void {
    if (this.#closing) throw new Error('the benchmark is being stopped');
  }

  #execArgv(name: string): string[] {
    const { profile } = this.settings;
    if (profile === undefined) return [];
    mkdirSync(profile, { recursive: true });
    return ['--cpu-prof', `--cpu-prof-dir=${profile}`, `--cpu-prof-name=${name}.cpuprofile`];
  }
}

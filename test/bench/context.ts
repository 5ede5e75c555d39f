/** The shared context of benchmarks: options, clusters, helper processes, a folder; and its end. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cluster, type Layout, SMALL_LAYOUT } from './cluster.js';
import type { Line } from './figures.js';
import { Helper } from './jobs.js';
import type { EchoJob } from './limits/ws.js';
import type { FillJob, SdkJob, SdkLoad } from './load/sdk.js';
import type { ValueRule } from './load/values.js';
import { killAll } from './processes.js';
import type { Progress } from './progress.js';
import { ROOT } from './root.js';
import type { Load, RoundOptions } from './rounds.js';

export interface BenchSettings {
  readonly rounds: number;
  readonly durationMs: number;
  /** Seed of all random numbers. */
  readonly seed: number;
  /** Enough for zipf 0.99 to have a tail. */
  readonly keysPerPartition: number;
  /** Operations of a warm-up for each process; undefined for a warm-up by time. */
  readonly warmUpOperations?: number | undefined;
  /** Reduces the expensive parts: a smoke test, not a measurement. */
  readonly quick: boolean;
  /** Also measures benchmarks that take tens of minutes and gigabytes. */
  readonly large?: boolean;
  /** Writes wrong values, which every benchmark that reads must detect. */
  readonly planted?: boolean;
  /** Folder for CPU profiles of all processes. */
  readonly profile: string | undefined;
}

/** A benchmark: its name in `--only`, and its work. */
export interface Benchmark {
  readonly name: string;
  readonly about: string;
  /** Takes tens of minutes and gigabytes: left out unless asked for. */
  readonly large?: boolean;
  run(context: Context): Promise<Line[]>;
}

/** Characters of a value of the workload: the papers' 8 bytes. */
const VALUE_CHARACTERS = 8;
const FILL_SESSIONS = 6;
/** For writes one by one: enough to share durable batches. */
const SINGLE_FILL_SESSIONS = 128;

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
    /** The built repository whose nodes and load generators run. */
    readonly build = ROOT,
  ) {}

  get keysPerPartition(): number {
    return this.settings.keysPerPartition;
  }

  get roundOptions(): RoundOptions {
    const { rounds, durationMs, warmUpOperations } = this.settings;
    const onRound = (round: number) => this.progress.step(round === 0 ? 'warm-up' : `round ${round} of ${rounds}`);
    const onCold = (name: string, operations: number) =>
      this.progress.line(
        `${name}: only ${operations} operations in the longest warm-up: its figure is of a cold process`,
      );
    return { rounds, durationMs, onRound, onCold, ...(warmUpOperations !== undefined && { warmUpOperations }) };
  }

  /** Values of this many characters. */
  valuesOf(characters = VALUE_CHARACTERS): ValueRule {
    return { characters, planted: this.settings.planted ?? false };
  }

  /** The cluster without delays, started at its first use. */
  mainCluster(): Promise<Cluster> {
    return this.cluster('main');
  }

  /** The main cluster with the keys of the workload. */
  filledCluster(): Promise<Cluster> {
    this.#filled ??= this.mainCluster().then(async (cluster) => {
      await this.fill(cluster, { table: this.keysPerPartition });
      return cluster;
    });
    return this.#filled;
  }

  /**
   * The cluster of this name, started at its first use.
   * @param layout the differences from {@link SMALL_LAYOUT}
   */
  cluster(name: string, layout: Partial<Layout> = {}): Promise<Cluster> {
    const known = this.#clusters.get(name);
    if (known !== undefined) return known;
    this.#checkOpen();
    this.progress.step('starting the cluster');
    const starting = this.#start(name, { ...SMALL_LAYOUT, ...layout });
    this.#clusters.set(name, starting);
    return starting;
  }

  async #start(name: string, layout: Layout): Promise<Cluster> {
    try {
      const execArgv = (node: string) => this.#execArgv(`${name}-${node}`);
      const cluster = await Cluster.start(join(this.folder, name), layout, execArgv, this.build);
      this.#started.push(cluster);
      return cluster;
    } catch (error) {
      // There is no cluster to stop.
      this.#clusters.delete(name);
      throw error;
    }
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

  /** Stops all clusters but the main one, after a benchmark that failed. */
  async stopOthers(): Promise<void> {
    const names = [...this.#clusters.keys()].filter((name) => name !== 'main');
    await Promise.all(names.map((name) => this.stopCluster(name)));
  }

  /**
   * Writes keys into a cluster and waits until they are visible everywhere.
   * @param options `singly`: each by an operation of its own
   */
  async fill(
    cluster: Cluster,
    keys: FillJob['keys'],
    options: { readonly values?: ValueRule; readonly singly?: boolean } = {},
  ): Promise<Load> {
    const { values = this.valuesOf(), singly = false } = options;
    this.progress.step('writing keys');
    const { configFile, topology } = cluster;
    const sessions = singly ? SINGLE_FILL_SESSIONS : FILL_SESSIONS;
    const load = await this.sdk().run({
      kind: 'fill',
      configFile,
      regions: topology.regions,
      sessions,
      keys,
      values,
      singly,
    });
    await cluster.stable();
    return load;
  }

  sdk(): Helper<SdkJob, SdkLoad> {
    return this.helper('./load/sdk.js');
  }

  /** The URL of a bare echo server, and its process. */
  async echo(answerBytes: number): Promise<{ url: string; pid: number }> {
    const helper = this.helper<EchoJob, number>('./limits/ws.js');
    return { url: `ws://127.0.0.1:${await helper.run({ answerBytes })}`, pid: helper.pid };
  }

  /**
   * The helper process of a file, started at its first use.
   * @param name distinguishes several of one file
   * @param execArgv options for Node
   */
  helper<J, R>(file: string, name = '', execArgv: readonly string[] = []): Helper<J, R> {
    const id = `${file} ${name}`.trim();
    const known = this.#helpers.get(id) as Helper<J, R> | undefined;
    if (known !== undefined && !known.hasEnded) return known;
    this.#checkOpen();
    const profiled = this.#execArgv(id.replaceAll(/[^a-z0-9]+/g, '-').replace(/^-/, ''));
    const helper = new Helper<J, R>(file, [...profiled, ...execArgv], this.build);
    this.#helpers.set(id, helper as Helper<never, unknown>);
    return helper;
  }

  /** Whether the end has begun: later failures are a result of it. */
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
    killAll();
  }

  /** No process may start after the end has begun: it would not be ended. */
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

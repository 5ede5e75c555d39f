/**
 * The scenario `isolation`: a region is cut off for a while. Every region, also the isolated region, must go on with
 * local transactions. The others suspend the region and see new writes again; the snapshots of the region age, and the
 * nodes of the region report that (M2, M3); then everything catches up (M12).
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Topology } from '@isochron/core';
import { clusterSpec, parseClusterFile, writeClusterFile } from '@isochron/server';
import { type HistoryRecorder, KeyTable } from '@isochron/workload';
import { build, type Histogram } from 'hdr-histogram-js';
import { call } from '../e2e/http.js';
import { until } from '../e2e/until.js';
import { Albums } from './albums.js';
import type { ChaosCluster } from './cluster.js';
import { Gate } from './gate.js';
import { LocalSession } from './local-session.js';
import type { Load, Scenario } from './run.js';
import { Tally } from './tally.js';

export interface IsolationOptions {
  readonly seed: number;
  /** How long the region is cut off, and how long it is observed before, in ms. */
  readonly phaseMs: number;
  readonly sessionsPerRegion: number;
  readonly onStep: (text: string) => void;
}

type Phase = 'warm-up' | 'together' | 'cut off' | 'over';

const WARM_UP_MS = 3000;
/** A run in which the region is not suspended by then has failed. */
const SUSPENDED_LIMIT_MS = 60_000;
const KEYS_PER_PARTITION = 50;
/** Limit of the p99 of a reachable region, as a multiple of its p99 before. */
const TARGET_RATIO = 2;

export const isolation = (options: IsolationOptions): Scenario => ({
  name: 'isolation',
  load: (cluster, recorder) => new Isolation(options, cluster, recorder).run(),
});

class Isolation {
  readonly #tally = new Tally();
  readonly #stopping = new AbortController();
  readonly #latencies = new Map<string, Histogram>();
  readonly #refused: string[] = [];
  readonly #unshown: string[] = [];
  readonly #isolated: string;
  #phase: Phase = 'warm-up';
  #stalestMs = 0;
  #suspendedMs = 0;

  constructor(
    readonly options: IsolationOptions,
    readonly cluster: ChaosCluster,
    readonly recorder: HistoryRecorder,
  ) {
    this.#isolated = cluster.regions.at(-1)!;
  }

  async run(): Promise<Load> {
    const { cluster } = this;
    const shared = { tally: this.#tally, gate: new Gate(), seed: this.options.seed };
    const albums = cluster.hasRules ? await Albums.start(cluster, shared) : undefined;
    const sessions = this.#sessions();
    try {
      await Promise.race([this.#phases(), sessions, ...(albums === undefined ? [] : [albums.ended])]);
    } catch (error) {
      this.#stopping.abort();
      await albums?.stop();
      throw error;
    }
    return {
      tally: this.#tally,
      faults: { isolate: 1 },
      heal: async () => {
        cluster.reconnect(this.#isolated);
      },
      stop: async () => {
        this.#stopping.abort();
        await Promise.all([sessions, albums?.stop()]);
      },
      compare: async () => undefined,
      close: async () => undefined,
      figures: () => [...this.#figures(), ...(albums?.figures() ?? [])],
      violations: () => ({
        'local transactions that were refused': this.#refused,
        'stable time that went on or stood still, or was not shown': this.#unshown,
        ...albums?.violations(),
      }),
    };
  }

  async #phases(): Promise<void> {
    const { phaseMs } = this.options;
    await this.#stay('warm-up', WARM_UP_MS);
    await this.#stay('together', phaseMs);
    this.cluster.isolate(this.#isolated, 'mute');
    const startMs = performance.now();
    await until('the others suspend the region', () => this.#isSuspended(), { timeoutMs: SUSPENDED_LIMIT_MS });
    this.#suspendedMs = performance.now() - startMs;
    await this.#stay('cut off', phaseMs / 2);
    const early = await this.#look();
    await this.#stay('cut off', phaseMs / 2);
    this.#compare(early, await this.#look());
    this.#phase = 'over';
  }

  async #stay(phase: Phase, ms: number): Promise<void> {
    this.#phase = phase;
    this.options.onStep(`${this.#isolated} ${phase}, ${this.#tally.outcomes.committed} transactions`);
    await delay(ms);
  }

  /** Whether every node of the other regions has adopted a map without the region. */
  async #isSuspended(): Promise<boolean> {
    const { shape, nodes } = this.cluster;
    const away = shape[this.#isolated]!;
    const others = nodes.filter((id) => !away.includes(id));
    const maps = await Promise.all(others.map(async (id) => (await this.cluster.status(id)).node.map));
    return maps.every(({ suspended }) => away.every((id) => suspended.includes(id)));
  }

  #sessions(): Promise<unknown> {
    const { cluster, recorder, options } = this;
    const topology = Topology.of(clusterSpec(parseClusterFile(writeClusterFile(cluster.cluster.file), 'cluster.yaml')));
    const shared = {
      recorder,
      topology,
      table: new KeyTable(topology, KEYS_PER_PARTITION),
      tally: this.#tally,
      connection: cluster.connection(),
      seed: options.seed,
      signal: this.#stopping.signal,
      answered: (region: string, kind: string, ms: number) => this.#answered(region, kind, ms),
      refused: (sentence: string) => this.#isRefused(sentence),
    };
    const run = (region: string, i: number) =>
      new LocalSession(shared, region, i, cluster.cluster.endpoints(region)).run();
    return Promise.all(
      cluster.regions.flatMap((region, r) =>
        Array.from({ length: options.sessionsPerRegion }, (_, i) => run(region, r * options.sessionsPerRegion + i)),
      ),
    );
  }

  /** Sessions may go elsewhere while the region returns. */
  #isRefused(sentence: string): void {
    if (this.#phase !== 'over') this.#refused.push(`${this.#phase}: ${sentence}`);
  }

  #answered(region: string, kind: string, ms: number): void {
    const name = `${region} ${kind} ${this.#phase}`;
    const histogram = this.#latencies.get(name) ?? build({ highestTrackableValue: 60_000_000 });
    this.#latencies.set(name, histogram);
    histogram.recordValue(Math.max(1, Math.round(ms * 1000)));
  }

  /** The age of the snapshots as every node reports it, through each of its interfaces. */
  #look(): Promise<Look[]> {
    return Promise.all(
      this.cluster.nodes.map(async (id) => {
        const { api, metrics } = this.cluster.cluster.node(id);
        const clocks = await this.cluster.clocks(id);
        const { node } = await this.cluster.status(id);
        const { text } = await call(metrics, 'GET', '/metrics');
        const metric = 1000 * Number(/^isochron_ust_staleness_seconds(?:\{[^}]*\})? (\S+)$/m.exec(text)?.[1]);
        return { id, api, ust: clocks.ust, ages: [clocks.stalenessMs, node.stalenessMs, metric] };
      }),
    );
  }

  /** The region sees nothing new, and reports that its snapshots have aged; all others go on. */
  #compare(early: readonly Look[], late: readonly Look[]): void {
    early.forEach(({ id, ust, ages }, i) => {
      const then = late[i]!;
      if (!this.cluster.shape[this.#isolated]!.includes(id)) {
        if (!(then.ust > ust)) this.#unshown.push(`${id}: UST stood still at ${ust} without ${this.#isolated}`);
        return;
      }
      this.#stalestMs = Math.max(this.#stalestMs, ...then.ages);
      if (then.ust !== ust) this.#unshown.push(`${id}: UST went on from ${ust} to ${then.ust} alone`);
      then.ages.forEach((age, way) => {
        if (!(age > ages[way]!)) this.#unshown.push(`${id}: a staleness of ${age} ms after one of ${ages[way]} ms`);
      });
    });
  }

  #figures(): [string, string][] {
    const rows = this.cluster.regions.flatMap((region) =>
      ['read', 'write'].map((kind): [string, string] => [this.#title(region, kind), this.#comparison(region, kind)]),
    );
    const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
    return [
      ...rows,
      ['the others went on without the region after', seconds(this.#suspendedMs)],
      ['stalest snapshot of the region', seconds(this.#stalestMs)],
    ];
  }

  #title(region: string, kind: string): string {
    return `${region}${region === this.#isolated ? ' (cut off)' : ''}, local ${kind}s, p50 / p99 ms`;
  }

  #comparison(region: string, kind: string): string {
    const [before, after] = ['together', 'cut off'].map((phase) => this.#latencies.get(`${region} ${kind} ${phase}`));
    if (before === undefined || after === undefined) return 'none';
    const ratio = after.getValueAtPercentile(99) / before.getValueAtPercentile(99);
    const met = ratio < TARGET_RATIO ? 'met' : 'MISSED';
    const share = `p99 ×${ratio.toFixed(2)}, target below ×${TARGET_RATIO} ${met}`;
    return `${quantiles(before)} (${before.totalCount}), then ${quantiles(after)} (${after.totalCount}): ${share}`;
  }
}

interface Look {
  readonly id: string;
  readonly ust: number;
  /** Ages in ms, by the interface that reported them. */
  readonly ages: readonly number[];
}

const quantiles = (latencies: Histogram): string =>
  [50, 99].map((p) => (latencies.getValueAtPercentile(p) / 1000).toFixed(1)).join(' / ');

/**
 * Carries out an experiment: a cluster for each system, all started at the same time; at each point of the curves they
 * take turns.
 */
import type { Topology } from '@isochron/core';
import type { NodeStatus } from '@isochron/server';
import type { Layout } from '../cluster.js';
import type { BenchSettings } from '../context.js';
import { type Contender, type Load, type RoundOptions, type Sample, type Turn, takeTurns } from '../rounds.js';
import { type Case, type Experiment, type System, sessionsOf } from './experiment.js';
import { Latencies } from './latencies.js';
import type { RegionJob, RegionLoad } from './load.js';
import { between, type Counting, scrape } from './metrics.js';
import type { ProbeJob, ProbeResult } from './probe.js';
import { reported } from './reported.js';
import type {
  ExperimentRecord,
  PointFailure,
  PointSample,
  RoundSample,
  SystemRecord,
  VisibilityRecord,
} from './samples.js';

/** Of a round: sessions begin all at once, and those that wait for a distant region have no results at first. */
export const LEAD_IN_MS = 400;
/**
 * Before the first point: enough load to compile the hot paths, so that the first points are not those of a cold
 * system.
 */
export const WARM_UP_MS = 4000;
/**
 * A job may exceed its time by this much, for operations in flight. After that it is lost, and the run continues.
 */
const JOB_LIMIT_MS = 60_000;
/** More than the sessions of one run: seeds of different rounds do not overlap. */
const SEEDS_PER_ROUND = 100_000;

/** The part of a cluster that experiments use. */
export interface Target {
  readonly configFile: string;
  readonly topology: Topology;
  readonly pids: readonly number[];
  readonly nodes: readonly (Counting & { status(): Promise<Pick<NodeStatus, 'region' | 'partitions'>> })[];
  pause(): void;
  resume(): Promise<void>;
}

/** The part of the benchmarks' context that experiments use. */
export interface Ground {
  readonly settings: BenchSettings;
  readonly keysPerPartition: number;
  readonly roundOptions: RoundOptions;
  readonly isClosing: boolean;
  cluster(name: string, layout: Layout): Promise<Target>;
  stopCluster(name: string): Promise<void>;
  fill(cluster: Target, keys: { readonly table: number }, options: { readonly singly: boolean }): Promise<unknown>;
  helper<J, R>(file: string, name?: string): { run(job: J, limitMs?: number): Promise<R> };
}

/** Observes the progress of an experiment. */
export interface Watch {
  /** Before each step, with its name. */
  begins(what: string): void;
  /** After each step, with all measurements so far. */
  measured(record: ExperimentRecord): void;
}

/** A system whose cluster runs. */
interface Running {
  readonly system: System;
  readonly cluster: Target;
}

type SystemLoad = Load & Pick<RoundSample, 'latencies' | 'counts' | 'counted'>;

/**
 * A point that cannot be measured is a failure of the record; the other points are measured.
 * @throws Error when no system could be started, or the run is being stopped
 */
export async function runExperiment(ground: Ground, experiment: Experiment, watch: Watch): Promise<ExperimentRecord> {
  const points: PointSample[] = [];
  const visibility: VisibilityRecord[] = [];
  const failures: PointFailure[] = [];
  try {
    watch.begins(FIRST_STEP);
    const started = await startAll(ground, experiment);
    const running = started.flatMap(({ running }) => running ?? []);
    if (running.length === 0) throw new Error(started.map(({ record }) => record.absent).join('; '));
    const record = { experiment, systems: started.map((one) => one.record), points, visibility, failures };
    for (const { what, run } of pointsOf(ground, experiment, running)) {
      watch.begins(what);
      try {
        const measured = await run();
        points.push(...(measured.points ?? []));
        visibility.push(...(measured.visibility ?? []));
      } catch (error) {
        if (ground.isClosing) throw error;
        failures.push({ point: what, error: reported(error) });
      }
      watch.measured(record);
    }
    return record;
  } finally {
    for (const { name } of experiment.systems) await ground.stopCluster(clusterName(experiment, name));
  }
}

const FIRST_STEP = 'clusters';

/** The steps of {@link runExperiment}, in order. */
export const stepNames = (experiment: Experiment): string[] => [
  FIRST_STEP,
  ...experiment.cases.flatMap((each) => sessionsOf(experiment, each).map((count) => pointName(each, count))),
  ...(experiment.visibility === undefined ? [] : [visibilityName(experiment.visibility)]),
];

const pointName = ({ name }: Case, sessions: number): string => `${name}, ${sessions} sessions`;
const visibilityName = ({ sessions }: { readonly sessions: number }): string => `visibility, ${sessions} sessions`;

interface Measurement {
  readonly what: string;
  run(): Promise<Partial<Pick<ExperimentRecord, 'points' | 'visibility'>>>;
}

/** All measurements on running clusters. */
function pointsOf(ground: Ground, experiment: Experiment, running: readonly Running[]): Measurement[] {
  const { cases, visibility } = experiment;
  const points = cases.flatMap((each) =>
    sessionsOf(experiment, each).map((sessions) => ({
      what: pointName(each, sessions),
      run: async () => ({ points: await runPoint(ground, each, sessions, running) }),
    })),
  );
  if (visibility === undefined) return points;
  const under = cases.find(({ name }) => name === visibility.case)!;
  const run = async () => ({ visibility: await runVisibility(ground, under, visibility.sessions, running) });
  return [...points, { what: visibilityName(visibility), run }];
}

const clusterName = (experiment: Experiment, system: string): string =>
  `${experiment.name}-${system}`.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');

interface Started {
  readonly record: SystemRecord;
  readonly running: Running | undefined;
}

/**
 * One after the other: a start takes all of a small machine. A protocol that this server cannot run is left out, with
 * the reason.
 */
async function startAll(ground: Ground, experiment: Experiment): Promise<Started[]> {
  const started: Started[] = [];
  for (const system of experiment.systems) started.push(await start(ground, experiment, system));
  return started;
}

async function start(ground: Ground, experiment: Experiment, system: System): Promise<Started> {
  const { name, protocol } = system;
  try {
    const layout = { ...experiment.layout, replication: system.replication ?? experiment.layout.replication, protocol };
    const cluster = await ground.cluster(clusterName(experiment, name), layout);
    const singly = experiment.cases.some(({ load }) => load.kind === 'operations');
    await ground.fill(cluster, { table: ground.keysPerPartition }, { singly });
    const record = { name, keysByRegion: await keysByRegion(cluster) };
    await warmUp(ground, experiment, cluster);
    cluster.pause();
    return { record, running: { system, cluster } };
  } catch (error) {
    if (ground.isClosing) throw error;
    return { record: { name, absent: reported(error) }, running: undefined };
  }
}

async function warmUp(ground: Ground, experiment: Experiment, cluster: Target): Promise<void> {
  const [first] = experiment.cases;
  if (first === undefined) return;
  await contender(ground, cluster, first, Math.max(...sessionsOf(experiment, first))).run(WARM_UP_MS, 0);
}

async function keysByRegion({ nodes }: Target): Promise<Record<string, number>> {
  const held: Record<string, number> = {};
  for (const { region, partitions } of await Promise.all(nodes.map((node) => node.status()))) {
    held[region] = partitions.reduce((sum, { keys }) => sum + keys, held[region] ?? 0);
  }
  return held;
}

async function runPoint(
  ground: Ground,
  each: Case,
  sessions: number,
  running: readonly Running[],
): Promise<PointSample[]> {
  const contenders = running.map(
    ({ system, cluster }) => [system.name, contender(ground, cluster, each, sessions)] as const,
  );
  const samples = await takeTurns(Object.fromEntries(contenders), ground.roundOptions);
  return Object.entries(samples).map(([system, own]) => ({
    case: each.name,
    sessions,
    system,
    rounds: own.map(roundOf),
  }));
}

const roundOf = ({ operations, elapsedMs, counted, cpuUs, latencies, counts }: Sample<SystemLoad>): RoundSample => ({
  operations,
  elapsedMs,
  counted,
  cpuUs: cpuUs === undefined ? null : (cpuUs * operations) / counted.operations,
  latencies,
  counts,
});

function contender(ground: Ground, cluster: Target, { load }: Case, sessions: number): Contender<SystemLoad> {
  const { regions } = cluster.topology;
  const { configFile } = cluster;
  const { keysPerPartition } = ground;
  const run = async (durationMs: number, round: number): Promise<SystemLoad> => {
    const before = await scrape(cluster.nodes);
    const began = performance.now();
    const firstSeed = (ground.settings.seed * 1000 + round) * SEEDS_PER_ROUND;
    const jobs = regions.map((region, i): RegionJob => {
      const seed = firstSeed + i * Math.floor(SEEDS_PER_ROUND / regions.length);
      const own = shareOf(sessions, regions.length, i);
      return { configFile, region, sessions: own, load, keysPerPartition, leadInMs: LEAD_IN_MS, durationMs, seed };
    });
    const limitMs = durationMs + JOB_LIMIT_MS;
    const loads = await all(jobs.map((job) => clientsOf(ground, job.region).run(job, limitMs)));
    const ms = performance.now() - began;
    const counts = between(before, await scrape(cluster.nodes));
    const latencies = new Latencies();
    for (const own of loads) latencies.add(own.latencies);
    const counted = { operations: loads.reduce((sum, { allOperations }) => sum + allOperations, 0), ms };
    return { operations: latencies.count, elapsedMs: durationMs, counted, latencies: latencies.summary(), counts };
  };
  return { pids: cluster.pids, turn: turnOf(cluster), run };
}

/** Nodes without clients still exchange stable times: those of two systems take about two cores. */
const turnOf = (cluster: Target): Turn => ({ begins: () => cluster.resume(), ends: () => cluster.pause() });

const clientsOf = (ground: Ground, region: string) => ground.helper<RegionJob, RegionLoad>('./papers/load.js', region);

/** Sessions of the i-th region: they differ by one at most. */
const shareOf = (sessions: number, regions: number, i: number): number =>
  Math.floor(sessions / regions) + (i < sessions % regions ? 1 : 0);

/** Updates are followed while the load goes on. */
async function runVisibility(
  ground: Ground,
  under: Case,
  sessions: number,
  running: readonly Running[],
): Promise<VisibilityRecord[]> {
  const results = new Map<string, ProbeResult[]>(running.map(({ system }) => [system.name, []]));
  const contenders = running.map(({ system, cluster }) => {
    const load = contender(ground, cluster, under, sessions);
    const { configFile } = cluster;
    const run = async (durationMs: number, round: number): Promise<SystemLoad> => {
      const probe = ground.helper<ProbeJob, ProbeResult>('./papers/probe.js');
      const probing = probe.run({ configFile, durationMs, run: String(round) }, durationMs + JOB_LIMIT_MS);
      const [result, sample] = await all([probing, load.run(durationMs, round)] as const);
      if (round > 0) results.get(system.name)!.push(result);
      return sample;
    };
    return [system.name, { ...load, run }] as const;
  });
  await takeTurns(Object.fromEntries(contenders), ground.roundOptions);
  return [...results].map(([system, rounds]) => ({
    system,
    samples: rounds.flatMap(({ samples }) => samples),
    unseen: rounds.reduce((sum, { unseen }) => sum + unseen, 0),
  }));
}

/** Like `Promise.all`, but all parts have ended when it rejects: a helper does one job at a time. */
async function all<const P extends readonly unknown[]>(parts: P): ReturnType<typeof Promise.all<P>> {
  await Promise.allSettled(parts);
  return Promise.all(parts);
}

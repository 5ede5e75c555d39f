import { Topology } from '@isochron/core';
import { Latencies } from './latencies.js';
import type { RegionJob, RegionLoad } from './load.js';
import { between, parseMetrics, scrape } from './metrics.js';
import type { ProbeJob, ProbeResult } from './probe.js';
import { type Ground, runExperiment, stepNames, type Target, type Watch } from './run.js';
import type { ExperimentRecord } from './samples.js';
import { CASE, EXPERIMENT } from './testing.js';

const METRICS = `# HELP isochron_events_total Counters.
# TYPE isochron_events_total counter
isochron_events_total{event="reads",node="a-1",region="a"} 7
isochron_events_total{event="sentBytes",node="a-1",region="a"} 1.5e3
isochron_sent_bytes_total{kind="replication",node="a-1",scope="wan",region="a"} 40
isochron_http_request_duration_seconds_bucket{le="1",node="a-1"} 3
isochron_ready 1
process_cpu_seconds_total{node="a-1"} 9
`;

describe('metrics of a node', () => {
  it('metrics are the project’s own, by their labels without those that name the node', () => {
    expect([...parseMetrics(METRICS)]).toEqual([
      ['isochron_events_total{event=reads}', 7],
      ['isochron_events_total{event=sentBytes}', 1500],
      ['isochron_sent_bytes_total{kind=replication,scope=wan}', 40],
      ['isochron_ready', 1],
    ]);
  });

  it('metrics are added up over the nodes of a system', async () => {
    const node = { metrics: async () => METRICS };
    expect((await scrape([node, node])).get('isochron_events_total{event=reads}')).toBe(14);
  });

  it('metrics count the increase between two scrapes; an unchanged one is included as 0', () => {
    const counts = between(
      new Map([['a', 5]]),
      new Map([
        ['a', 5],
        ['b', 2],
      ]),
    );
    expect(counts).toEqual({ a: 0, b: 2 });
  });
});

describe('latencies of several processes', () => {
  it('merged latencies of several processes equal those of one process', () => {
    const [first, second, all, merged] = [new Latencies(), new Latencies(), new Latencies(), new Latencies()];
    for (let ms = 1; ms <= 100; ms++) {
      (ms % 2 === 0 ? first : second).record('read', ms);
      all.record('read', ms);
    }
    second.record('write', 5);
    all.record('write', 5);
    merged.add(first.encode());
    merged.add(second.encode());
    expect(merged.summary()).toEqual(all.summary());
    expect(merged.count).toBe(101);
    expect(merged.summary().read).toMatchObject({ count: 100 });
    expect(merged.summary().read!.p95Ms / 95).toBeCloseTo(1, 1);
    expect(merged.summary().read!.meanMs / 50.5).toBeCloseTo(1, 1);
  });
});

/** A ground without processes: clusters that count, and load generators with recorded answers. */
class RecordedGround implements Ground {
  readonly settings = { rounds: 2, durationMs: 1000, seed: 3, quick: true, keysPerPartition: 100, profile: undefined };
  readonly keysPerPartition = 100;
  readonly roundOptions = { rounds: 2, durationMs: 1000, onRound: () => undefined };
  isClosing = false;
  /** Loads of this many sessions fail, in the first region at once. */
  failsAt = 0;
  /** Most jobs of a region that ran at the same time. */
  mostAtOnce = 0;
  readonly #underWay = new Map<string, number>();
  readonly #running = new Set<string>();
  /** Clusters that ran during a load, for each load. */
  readonly runningAtLoad: string[][] = [];
  readonly #warm = new Set<string>();
  readonly warmUps: RegionJob[] = [];
  readonly jobs: RegionJob[] = [];
  readonly events: string[] = [];
  readonly #topology = Topology.of({
    regions: ['virginia', 'oregon'].map((id) => ({ id, nodes: [{ id: `${id}-1` }] })),
    keyspaces: [{ name: 'default', partitions: 2, replication: 2 }],
  });

  constructor(readonly refused: string | undefined = undefined) {}

  async cluster(name: string, { protocol }: { protocol: string }): Promise<Target> {
    this.events.push(`start ${name}`);
    if (protocol === this.refused)
      throw new Error(`/tmp/x-1/cluster.yaml:4: unknown protocol "${protocol}"\n    at somewhere`);
    const nodeOf = (region: string) => {
      let reads = 0;
      const metrics = async () => {
        reads += 5;
        return `isochron_events_total{event="reads"} ${reads}`;
      };
      return {
        metrics,
        status: async () => ({
          region,
          partitions: [
            { partition: 'default/0', regions: [], versionVector: {}, prepared: 0, committed: 0, keys: 7, versions: 7 },
          ],
        }),
      };
    };
    const nodes = this.#topology.regions.map(nodeOf);
    const pause = () => void this.#running.delete(name);
    const resume = async () => void this.#running.add(name);
    this.#running.add(name);
    return { configFile: name, topology: this.#topology, pids: [], nodes, pause, resume };
  }

  async stopCluster(name: string): Promise<void> {
    this.events.push(`stop ${name}`);
  }

  async fill(): Promise<void> {}

  helper<J, R>(file: string, name = ''): { run(job: J): Promise<R> } {
    const answer = (job: J): RegionLoad | ProbeResult =>
      file.endsWith('load.js') ? this.#load(job as RegionJob) : this.#probe(job as ProbeJob);
    const run = async (job: J): Promise<R> => {
      const count = (this.#underWay.get(name) ?? 0) + 1;
      this.#underWay.set(name, count);
      this.mostAtOnce = Math.max(this.mostAtOnce, count);
      // One region is slower than the other.
      if (name === 'oregon') await new Promise(setImmediate);
      this.#underWay.set(name, count - 1);
      return answer(job) as R;
    };
    return { run };
  }

  #load(job: RegionJob): RegionLoad {
    this.runningAtLoad.push([...this.#running]);
    // The first load of a cluster is its warm-up.
    if (this.#warm.has(job.configFile + job.region)) this.jobs.push(job);
    else this.warmUps.push(job);
    this.#warm.add(job.configFile + job.region);
    if (job.sessions * 2 === this.failsAt && job.region === 'virginia') throw new Error('load.js: too many\n    at x');
    const latencies = new Latencies();
    for (let i = 0; i < job.sessions; i++) latencies.record('transaction', 10);
    return { operations: job.sessions, allOperations: 2 * job.sessions, latencies: latencies.encode() };
  }

  #probe({ configFile, run }: ProbeJob): ProbeResult {
    this.events.push(`probe ${configFile} ${run}`);
    return { samples: [{ source: 'virginia', reader: 'oregon', ms: 12 }], unseen: 1 };
  }
}

/** Records the calls of an experiment. */
class RecordedWatch implements Watch {
  readonly steps: string[] = [];
  /** Points measured, after each step. */
  readonly points: number[] = [];

  begins(what: string): void {
    this.steps.push(what);
  }

  measured({ points }: ExperimentRecord): void {
    this.points.push(points.length);
  }
}

describe('an experiment', () => {
  it('an experiment gives each system a curve of interleaved rounds, with the counters of its nodes', async () => {
    const ground = new RecordedGround();
    const watch = new RecordedWatch();
    const record = await runExperiment(ground, EXPERIMENT, watch);
    expect(record.points.map(({ system, sessions, rounds }) => [system, sessions, rounds.length])).toEqual(
      [10, 20, 40].flatMap((sessions) => [
        ['Fast', sessions, 2],
        ['Slow', sessions, 2],
      ]),
    );
    const [first] = record.points[0]!.rounds;
    expect(first).toMatchObject({
      operations: 10,
      elapsedMs: 1000,
      counts: { 'isochron_events_total{event=reads}': 10 },
    });
    // Counters of nodes include all operations, those outside of the window too.
    expect(first!.counted.operations).toBe(20);
    expect(first!.latencies.transaction).toMatchObject({ count: 10 });
    expect(record.systems[0]!.keysByRegion).toEqual({ virginia: 7, oregon: 7 });
    expect(watch.steps).toEqual(stepNames(EXPERIMENT));
    expect(watch.points).toEqual([2, 4, 6, 6]);
    // A point: a warm-up of each, then round by round.
    const turns = ground.jobs.slice(0, 12).map(({ configFile, region }) => `${configFile.split('-').at(-1)} ${region}`);
    expect(turns).toEqual([0, 1, 2].flatMap(() => ['fast virginia', 'fast oregon', 'slow virginia', 'slow oregon']));
  });

  it('an experiment stops the nodes of a system outside of their turns', async () => {
    const ground = new RecordedGround();
    await runExperiment(ground, EXPERIMENT, new RecordedWatch());
    expect(ground.runningAtLoad).toEqual([...ground.warmUps, ...ground.jobs].map(({ configFile }) => [configFile]));
  });

  it('an experiment warms each system up with the most sessions before it measures', async () => {
    const ground = new RecordedGround();
    await runExperiment(ground, EXPERIMENT, new RecordedWatch());
    expect(ground.warmUps.map(({ configFile, sessions }) => `${configFile.split('-').at(-1)} ${sessions}`)).toEqual(
      ['fast', 'fast', 'slow', 'slow'].map((system) => `${system} 20`),
    );
  });

  it('an experiment divides sessions among the regions, and gives every session of a round a seed of its own, the same for each system', async () => {
    const ground = new RecordedGround();
    await runExperiment(ground, { ...EXPERIMENT, sessions: [7] }, new RecordedWatch());
    const [virginia, oregon] = ground.jobs;
    expect([virginia!.sessions, oregon!.sessions]).toEqual([4, 3]);
    const seeds = (of: string) =>
      ground.jobs.filter(({ configFile }) => configFile.endsWith(of)).map(({ seed }) => seed);
    expect(seeds('fast')).toEqual(seeds('slow'));
    const ranges = ground.jobs
      .filter(({ configFile }) => configFile.endsWith('fast'))
      .slice(0, 6)
      .flatMap(({ seed, sessions }) => Array.from({ length: sessions }, (_, i) => seed + i));
    expect(new Set(ranges).size).toBe(ranges.length);
  });

  it('an experiment samples visibility in turns under load, without the warm-up', async () => {
    const ground = new RecordedGround();
    const { visibility } = await runExperiment(ground, EXPERIMENT, new RecordedWatch());
    expect(visibility.map(({ system, samples, unseen }) => [system, samples.length, unseen])).toEqual([
      ['Fast', 2, 2],
      ['Slow', 2, 2],
    ]);
    const probes = ground.events.filter((event) => event.startsWith('probe'));
    expect(probes).toEqual([0, 1, 2].flatMap((n) => [`probe fast-vs-slow-fast ${n}`, `probe fast-vs-slow-slow ${n}`]));
  });

  it('an experiment leaves out a system that cannot be started, with the reason in a line, and stops all that it started', async () => {
    const ground = new RecordedGround('bpr');
    const record = await runExperiment(ground, EXPERIMENT, new RecordedWatch());
    expect(record.systems[1]).toEqual({ name: 'Slow', absent: 'cluster.yaml:4: unknown protocol "bpr"' });
    expect(new Set(record.points.map(({ system }) => system))).toEqual(new Set(['Fast']));
    expect(ground.events.filter((event) => event.startsWith('stop'))).toHaveLength(2);
  });

  it('an experiment leaves out a point that cannot be measured, with the reason in a line, and continues', async () => {
    const ground = new RecordedGround();
    ground.failsAt = 20;
    const { points, failures, visibility } = await runExperiment(ground, EXPERIMENT, new RecordedWatch());
    expect(points.map(({ sessions }) => sessions)).toEqual([10, 10, 40, 40]);
    expect(failures).toEqual([{ point: '95:5, 20 sessions', error: 'load.js: too many' }]);
    expect(visibility).toHaveLength(2);
  });

  it('an experiment waits for running jobs when one of them fails: a helper does one job at a time', async () => {
    const ground = new RecordedGround();
    ground.failsAt = 20;
    await runExperiment(ground, EXPERIMENT, new RecordedWatch());
    expect(ground.mostAtOnce).toBe(1);
  });

  it('an experiment ends when the run is being stopped', async () => {
    const ground = new RecordedGround();
    ground.failsAt = 20;
    ground.isClosing = true;
    await expect(runExperiment(ground, EXPERIMENT, new RecordedWatch())).rejects.toThrow('too many');
  });

  it('an experiment fails when no system can be started', async () => {
    const alone = { ...EXPERIMENT, systems: [EXPERIMENT.systems[1]!] };
    await expect(runExperiment(new RecordedGround('bpr'), alone, new RecordedWatch())).rejects.toThrow(
      /unknown protocol/,
    );
  });

  it('an experiment without cases only counts keys', async () => {
    const ground = new RecordedGround();
    const { visibility: _, ...rest } = EXPERIMENT;
    const record = await runExperiment(ground, { ...rest, cases: [], sessions: [] }, new RecordedWatch());
    expect(record.points).toEqual([]);
    expect(record.systems.map(({ keysByRegion }) => keysByRegion?.oregon)).toEqual([7, 7]);
    expect(ground.jobs).toEqual([]);
  });

  it('an experiment runs each case under its own load', async () => {
    const ground = new RecordedGround();
    await runExperiment(ground, EXPERIMENT, new RecordedWatch());
    expect(ground.jobs.every(({ load }) => load === EXPERIMENT.cases[0]!.load)).toBe(true);
    expect(EXPERIMENT.cases[0]!.name).toBe(CASE);
  });
});

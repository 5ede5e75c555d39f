/** Records of runs for tests, without a measurement. */
import { READ_HEAVY } from '@isochron/workload';
import type { Experiment } from './experiment.js';
import { PARTIAL } from './layouts.js';
import type { Counts, ExperimentRecord, Latency, PointSample, RoundSample, RunRecord } from './samples.js';

export const CASE = '95:5';

/** Two systems in one case. */
export const EXPERIMENT: Experiment = {
  name: 'fast-vs-slow',
  about: 'what is fast against what is slow',
  figure: 'Fig. 0',
  systems: [
    { name: 'Fast', protocol: 'paris' },
    { name: 'Slow', protocol: 'bpr' },
  ],
  layout: PARTIAL,
  cases: [{ name: CASE, load: { kind: 'transactions', mix: READ_HEAVY } }],
  sessions: [10, 20, 40],
  visibility: { case: CASE, sessions: 10 },
};

export const latency = (meanMs: number): Latency => ({
  count: 10,
  meanMs,
  p50Ms: meanMs,
  p95Ms: 2 * meanMs,
  p99Ms: 3 * meanMs,
});

/** A round of a second. */
export const round = (operations: number, meanMs: number, counts: Counts = {}): RoundSample => ({
  operations,
  elapsedMs: 1000,
  counted: { operations, ms: 1000 },
  cpuUs: 100,
  latencies: { transaction: latency(meanMs) },
  counts,
});

export const point = (system: string, sessions: number, ...rounds: RoundSample[]): PointSample => ({
  case: CASE,
  system,
  sessions,
  rounds,
});

/** Fast peaks at 20 sessions, Slow still rises at 40. */
export const POINTS: readonly PointSample[] = [
  point('Fast', 10, round(1000, 10), round(900, 12), round(5000, 1)),
  point('Fast', 20, round(1500, 14)),
  point('Fast', 40, round(1200, 40)),
  point('Slow', 10, round(100, 100, { isochron_blocked_reads_total: 50, isochron_blocked_read_seconds_total: 2 })),
  point('Slow', 20, round(200, 100)),
  point('Slow', 40, round(1250, 120)),
];

export const recorded = (more: Partial<ExperimentRecord> = {}): ExperimentRecord => ({
  experiment: EXPERIMENT,
  systems: EXPERIMENT.systems.map(({ name }) => ({ name, keysByRegion: { virginia: 40, oregon: 40, ireland: 40 } })),
  points: POINTS,
  visibility: [
    {
      system: 'Fast',
      unseen: 0,
      samples: [
        { source: 'virginia', reader: 'virginia', ms: 4 },
        { source: 'virginia', reader: 'oregon', ms: 50 },
        { source: 'oregon', reader: 'virginia', ms: 70 },
      ],
    },
    { system: 'Slow', unseen: 1, samples: [{ source: 'virginia', reader: 'oregon', ms: 20 }] },
  ],
  failures: [],
  ...more,
});

export const runOf = (experiments: readonly ExperimentRecord[], more: Partial<RunRecord> = {}): RunRecord => ({
  date: '2026-01-02T03:04:05.678Z',
  machine: {
    cpu: 'a processor',
    cores: 2,
    memoryBytes: 8 * 2 ** 30,
    system: 'an operating system',
    node: 'v20.0.0',
    fileSystem: '0x1',
    commit: 'abc123',
    loadBefore: 0,
  },
  settings: { rounds: 3, durationMs: 5000, seed: 42, quick: false, keysPerPartition: 10_000 },
  experiments,
  failures: [],
  ...more,
});

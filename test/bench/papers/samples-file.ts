/**
 * A run as a file that is small enough for the repository: without data that the report does not use, and with each
 * name once.
 */
import { neededMetrics } from './measures.js';
import type {
  Counts,
  ExperimentRecord,
  PointSample,
  RoundSample,
  RunRecord,
  VisibilityRecord,
  VisibilitySample,
} from './samples.js';

type Replaced<T, Field extends keyof T, By> = Omit<T, Field> & { readonly [F in Field]: By };

/** In the order of the file's metrics; null if the nodes do not count it. */
type StoredRound = Replaced<RoundSample, 'counts', readonly (number | null)[]>;
type StoredPoint = Replaced<PointSample, 'rounds', readonly StoredRound[]>;
/** Samples of a writer's and a reader's region together. */
interface StoredSamples {
  readonly source: string;
  readonly reader: string;
  readonly ms: readonly number[];
}
type StoredVisibility = Replaced<VisibilityRecord, 'samples', readonly StoredSamples[]>;
type StoredExperiment = Omit<ExperimentRecord, 'points' | 'visibility'> & {
  readonly points: readonly StoredPoint[];
  readonly visibility: readonly StoredVisibility[];
};
type StoredRun = Replaced<RunRecord, 'experiments', readonly StoredExperiment[]> & {
  readonly metrics: readonly string[];
};

/** The text of the file. */
export function encodeRun(run: RunRecord): string {
  const metrics = neededMetrics();
  const stored: StoredRun = { ...run, metrics, experiments: run.experiments.map((own) => storedForm(own, metrics)) };
  return `${JSON.stringify(stored, rounded)}\n`;
}

/** The inverse. Digits below a µs, or a thousandth, are lost. */
export function decodeRun(text: string): RunRecord {
  const { metrics, ...run } = JSON.parse(text) as StoredRun;
  const experiments = run.experiments.map(
    (own): ExperimentRecord => ({
      ...own,
      points: own.points.map((point) => ({
        ...point,
        rounds: point.rounds.map((round) => ({ ...round, counts: countsOf(round.counts, metrics) })),
      })),
      visibility: own.visibility.map((record) => ({ ...record, samples: record.samples.flatMap(apart) })),
    }),
  );
  return { ...run, experiments };
}

const rounded = (_key: string, value: unknown): unknown =>
  typeof value === 'number' ? Math.round(value * 1000) / 1000 : value;

const storedForm = (own: ExperimentRecord, metrics: readonly string[]): StoredExperiment => ({
  ...own,
  points: own.points.map((point) => ({
    ...point,
    rounds: point.rounds.map((round) => ({ ...round, counts: metrics.map((name) => round.counts[name] ?? null) })),
  })),
  visibility: own.visibility.map((record) => ({ ...record, samples: together(record.samples) })),
});

const countsOf = (values: readonly (number | null)[], metrics: readonly string[]): Counts =>
  Object.fromEntries(metrics.flatMap((name, i) => (typeof values[i] === 'number' ? [[name, values[i]]] : [])));

function together(samples: readonly VisibilitySample[]): StoredSamples[] {
  const pairs = new Map<string, { source: string; reader: string; ms: number[] }>();
  for (const { source, reader, ms } of samples) {
    const pair = pairs.get(`${source} ${reader}`) ?? { source, reader, ms: [] };
    pairs.set(`${source} ${reader}`, pair);
    pair.ms.push(ms);
  }
  return [...pairs.values()];
}

const apart = ({ source, reader, ms }: StoredSamples): VisibilitySample[] =>
  ms.map((one) => ({ source, reader, ms: one }));

/** Curves of a recorded experiment: medians over the rounds of each point. */
import { quantile } from '../figures.js';
import type { Kind } from './experiment.js';
import { type Measure, measured } from './measures.js';
import type { ExperimentRecord, Latency, PointSample, RoundSample } from './samples.js';

/** A point of a curve. */
export interface Point {
  readonly sessions: number;
  /** Operations a second. */
  readonly rate: number;
  readonly rounds: readonly RoundSample[];
}

/** The part of a latency that a figure is about. */
export type Statistic = Exclude<keyof Latency, 'count'>;

/** The points of a system in a case, by number of sessions. */
export function curveOf(record: ExperimentRecord, inCase: string, system: string): Point[] {
  const own = record.points.filter((point) => point.case === inCase && point.system === system);
  return own.map(pointOf).sort((a, b) => a.sessions - b.sessions);
}

function pointOf({ sessions, rounds }: PointSample): Point {
  const rates = rounds.map(({ operations, elapsedMs }) => (operations * 1000) / elapsedMs);
  return { sessions, rate: quantile(rates, 0.5), rounds };
}

/** The point with the highest throughput. */
export const peakOf = (curve: readonly Point[]): Point | undefined =>
  curve.reduce<Point | undefined>(
    (peak, point) => (peak === undefined || point.rate > peak.rate ? point : peak),
    undefined,
  );

/** The kind of operation whose latencies a curve shows: transactions, or reads without transactions. */
export const mainKind = ({ rounds }: Point): Kind =>
  rounds.some(({ latencies }) => latencies.transaction !== undefined) ? 'transaction' : 'read';

/** In ms; undefined where the kind did not occur. */
export const latencyAt = (point: Point, statistic: Statistic, kind = mainKind(point)): number | undefined =>
  medianOf(point.rounds.map(({ latencies }) => latencies[kind]?.[statistic]));

/** Undefined if the nodes do not count a metric that it needs. */
export const measureAt = (point: Point, measure: Measure): number | undefined =>
  medianOf(point.rounds.map((round) => measured(measure, round)));

/** CPU time of the nodes, µs an operation. */
export const cpuAt = ({ rounds }: Point): number | undefined => medianOf(rounds.map(({ cpuUs }) => cpuUs ?? undefined));

function medianOf(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : quantile(known, 0.5);
}

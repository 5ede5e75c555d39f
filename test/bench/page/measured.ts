/** `docs/performance/measured.json`: the source of the page. It holds no commit, no host and no path. */
import type { BenchSettings } from '../context.js';
import type { Row } from '../figures.js';
import type { Machine } from '../report.js';

/** The conditions that a benchmark's figures depend on. */
export interface Conditions {
  readonly machine: Omit<Machine, 'commit' | 'loadBefore'>;
  readonly seed: number;
  readonly rounds: number;
  readonly durationMs: number;
  readonly keysPerPartition: number;
  /** For each process; null for a warm-up by time. */
  readonly warmUpOperations: number | null;
  readonly quick: boolean;
}

/** The conditions of a run, without the commit or the time. */
export function conditionsOf(
  { commit: _commit, loadBefore: _loadBefore, ...machine }: Machine,
  { seed, rounds, durationMs, keysPerPartition, warmUpOperations, quick }: BenchSettings,
): Conditions {
  return { machine, seed, rounds, durationMs, keysPerPartition, warmUpOperations: warmUpOperations ?? null, quick };
}

/** A row without data that only serves to debug the benchmark. */
export type MeasuredRow = Omit<Row, 'benchmark' | 'details'>;

export interface MeasuredBenchmark {
  readonly name: string;
  readonly about: string;
  /** Day, as 2026-01-31. */
  readonly date: string;
  readonly conditions: Conditions;
  /** Share of the machine that others used meanwhile, 0 to 1; null if the system does not report it. */
  readonly others: number | null;
  readonly rows: readonly MeasuredRow[];
}

/** Benchmarks in the order of the page. */
export interface Measured {
  readonly benchmarks: readonly MeasuredBenchmark[];
}

export const NOTHING_MEASURED: Measured = { benchmarks: [] };

const FORMAT = 1;
/** Significant digits of a figure. */
const DIGITS = 4;

export const encodeMeasured = ({ benchmarks }: Measured): string =>
  `${JSON.stringify({ format: FORMAT, benchmarks }, rounded, 1)}\n`;

/** @throws Error for a text that is not such a file */
export function decodeMeasured(text: string): Measured {
  const { format, benchmarks } = JSON.parse(text) as { readonly format?: unknown; readonly benchmarks?: unknown };
  if (format !== FORMAT || !Array.isArray(benchmarks) || !benchmarks.every(isBenchmark))
    throw new Error('not a file of measured figures; measure anew with: npm run bench -- --page docs');
  return { benchmarks };
}

const isBenchmark = (value: unknown): value is MeasuredBenchmark => {
  const { name, about, date, conditions, rows } = (value ?? {}) as Partial<MeasuredBenchmark>;
  return (
    [name, about, date].every((each) => typeof each === 'string') &&
    typeof conditions?.machine?.cpu === 'string' &&
    Array.isArray(rows) &&
    rows.every(isRow)
  );
};

const isRow = (value: unknown): boolean => {
  const { what, unit, measured } = (value ?? {}) as Partial<MeasuredRow>;
  return typeof what === 'string' && typeof unit === 'string' && Number.isFinite(measured?.median);
};

/**
 * New measurements replace those of the same benchmarks; the rest stays. @param order names, in the order of the page
 */
export function mergeMeasured(before: Measured, anew: Measured, order: readonly string[]): Measured {
  const byName = new Map([...before.benchmarks, ...anew.benchmarks].map((each) => [each.name, each]));
  return { benchmarks: order.flatMap((name) => byName.get(name) ?? []) };
}

const rounded = (_key: string, value: unknown): unknown =>
  typeof value === 'number' && !Number.isSafeInteger(value) ? Number(value.toPrecision(DIGITS)) : value;

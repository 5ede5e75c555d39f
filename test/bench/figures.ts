/** Figures of a benchmark: samples, their median, and their comparison with a limit and a target. */

/** The unit of a figure. */
export type Unit = '/s' | 'µs' | 'ms' | 's' | 'KB' | 'MB' | '% of a core' | '×' | '';

/** The notes of rows, each once. */
export const notesOf = (rows: readonly Pick<Row, 'note'>[]): string[] => [
  ...new Set(rows.flatMap(({ note }) => note ?? [])),
];

/** Samples of the same thing, one of each round. */
export interface Figure {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly samples: readonly number[];
}

/** A bound on a row's median, or on its ratio to the limit. */
export interface Target {
  readonly of: 'ratio' | 'median';
  readonly is: 'at least' | 'at most';
  readonly bound: number;
}

/** The maximum of the machine for the same work, measured in the same run. */
export interface Limit {
  readonly what: string;
  readonly figure: Figure;
}

/** The place of a row in a plot of throughput and latency. */
export interface PlotPoint {
  /** The x axis, and name, of the plot. */
  readonly over: PlotName;
  /** The curve. */
  readonly series: string;
  readonly x: number;
}

export type PlotName = 'sessions' | 'keys' | 'partitions';

/** The place of a row in a table of costs, instead of a line of its own. */
export interface TableCell {
  readonly line: string;
  readonly column: string;
}

/** One line of the result. */
export interface Row {
  /** The benchmark's name, as in `--only`. */
  readonly benchmark: string;
  readonly what: string;
  readonly unit: Unit;
  readonly measured: Figure;
  readonly limit?: Limit | undefined;
  readonly target?: Target | undefined;
  /** Median over the rounds of each round's percentile, ms. */
  readonly latency?: { readonly p50Ms: number; readonly p99Ms: number } | undefined;
  /**
   * CPU time of the servers for one operation, µs: a ratio of rates does not show it when the load generator is the
   * bottleneck.
   */
  readonly cpuUs?: { readonly measured: number; readonly limit?: number | undefined } | undefined;
  readonly point?: PlotPoint | undefined;
  readonly cell?: TableCell | undefined;
  /** A sentence that readers of the benchmark need; shown once when several rows share it. */
  readonly note?: string | undefined;
  /** Other data needed to interpret the figure. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

/** A line of a benchmark's result, before the runner adds the name of the benchmark. */
export type Line = Omit<Row, 'benchmark'>;

/** The line of samples of one thing. @throws RangeError without samples */
export const lineOf = (what: string, unit: Unit, samples: readonly number[], target?: Target): Line => ({
  what,
  unit,
  measured: figureOf(samples),
  target,
});

/** @throws RangeError without samples */
export function figureOf(samples: readonly number[]): Figure {
  return { median: quantile(samples, 0.5), min: Math.min(...samples), max: Math.max(...samples), samples };
}

/**
 * The value below which a share of the samples lies, interpolated between neighbours.
 * @throws RangeError without samples
 */
export function quantile(samples: readonly number[], share: number): number {
  if (samples.length === 0) throw new RangeError('a quantile needs at least one sample');
  const sorted = [...samples].sort((a, b) => a - b);
  const position = share * (sorted.length - 1);
  const below = sorted[Math.floor(position)]!;
  const above = sorted[Math.ceil(position)]!;
  return below + (above - below) * (position - Math.floor(position));
}

/** Median by median; undefined without a limit. */
export const ratioOf = ({ measured, limit }: Pick<Row, 'measured' | 'limit'>): number | undefined =>
  limit === undefined ? undefined : measured.median / limit.figure.median;

/** Whether the target is reached; undefined without one. */
export function isMet(row: Pick<Row, 'measured' | 'limit' | 'target'>): boolean | undefined {
  const { target, measured } = row;
  if (target === undefined) return undefined;
  const value = target.of === 'median' ? measured.median : ratioOf(row);
  if (value === undefined) return false;
  return target.is === 'at least' ? value >= target.bound : value <= target.bound;
}

/** The target that a ratio to the limit is at least this. */
export const ratioAtLeast = (bound: number): Target => ({ of: 'ratio', is: 'at least', bound });

/** The target that the figure itself is at least this. */
export const atLeast = (bound: number): Target => ({ of: 'median', is: 'at least', bound });

/** The target that the figure itself is at most this. */
export const atMost = (bound: number): Target => ({ of: 'median', is: 'at most', bound });

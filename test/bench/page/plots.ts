/** Plots of throughput and latency, from the rows that are points of them. */
import type { PlotName, PlotPoint } from '../figures.js';
import { renderPlot, type Series } from '../plot.js';
import type { Measured, MeasuredRow } from './measured.js';

export interface CurvePlot {
  readonly over: PlotName;
  readonly title: string;
  readonly file: string;
  readonly svg: string;
}

type Point = MeasuredRow & { readonly point: PlotPoint };

export function plotsOf({ benchmarks }: Measured): CurvePlot[] {
  const points = benchmarks.flatMap(({ rows }) => rows).filter((row): row is Point => row.point !== undefined);
  const names = [...new Set(points.map(({ point }) => point.over))];
  return names.flatMap((over) => {
    const own = points.filter(({ point }) => point.over === over);
    return [throughput(over, own), latency(over, own)];
  });
}

function throughput(over: PlotName, points: readonly Point[]): CurvePlot {
  const title = `Throughput over ${over}`;
  const series = curvesOf(points, ({ measured }) => measured.median);
  return plot(over, 'throughput', { title, y: 'transactions a second', series });
}

function latency(over: PlotName, points: readonly Point[]): CurvePlot {
  const title = `Latency over ${over}: p50, and p99 dashed`;
  const p50 = curvesOf(points, (row) => row.latency?.p50Ms);
  const p99 = curvesOf(points, (row) => row.latency?.p99Ms, ', p99');
  const series = [...p50, ...p99.map((curve, i): Series => ({ ...curve, dashedLike: i }))];
  return plot(over, 'latency', { title, y: 'ms', series, logarithmic: true });
}

function plot(
  over: PlotName,
  what: string,
  curves: { title: string; y: string; series: readonly Series[]; logarithmic?: boolean },
): CurvePlot {
  const svg = renderPlot({ ...curves, x: over, dots: true, logarithmicX: true });
  return { over, title: curves.title, file: `${over}-${what}.svg`, svg };
}

function curvesOf(points: readonly Point[], y: (row: Point) => number | undefined, suffix = ''): Series[] {
  const names = [...new Set(points.map(({ point }) => point.series))];
  return names.map((series) => ({
    name: `${series}${suffix}`,
    points: points
      .filter(({ point }) => point.series === series)
      .flatMap((row) => {
        const value = y(row);
        return value === undefined ? [] : [[row.point.x, value] as const];
      })
      .sort(([a], [b]) => a - b),
  }));
}

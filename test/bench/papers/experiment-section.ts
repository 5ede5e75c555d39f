/** The section of a report on one experiment. */
import { quantile } from '../figures.js';
import { number, table } from '../markdown.js';
import { renderPlot, type Series } from '../plot.js';
import { isOf } from './claim.js';
import { cpuAt, curveOf, latencyAt, mainKind, measureAt, type Point } from './curve.js';
import type { Case } from './experiment.js';
import { MEASURES } from './measures.js';
import type { ExperimentRecord, VisibilityRecord } from './samples.js';

type AddPlot = (file: string, svg: string) => void;

/** Shares of a distribution that are plotted, every hundredth. */
const SHARES = Array.from({ length: 101 }, (_, i) => i / 100);
const SHOWN_SHARES = [0.5, 0.95, 0.99, 1] as const;

/** Markdown. @param addPlot receives the plots that it refers to */
export function experimentSection(record: ExperimentRecord, addPlot: AddPlot): string {
  const { name, about, figure, cases } = record.experiment;
  return [
    `## ${name}`,
    `${figure}: ${about}.`,
    conditionsOf(record),
    ...cases.filter((each) => isMeasured(record, each)).flatMap((each) => caseSection(record, each, addPlot)),
    ...(record.visibility.length === 0 ? [] : visibilitySection(record, addPlot)),
    ...(cases.length === 0 ? [keysSection(record)] : []),
  ].join('\n\n');
}

const isMeasured = ({ points }: ExperimentRecord, { name }: Case): boolean =>
  points.some((point) => point.case === name);

function conditionsOf({ experiment: { layout }, systems }: ExperimentRecord): string {
  const { regions, nodesPerRegion, partitions, replication, wan, skewsMs } = layout;
  const skews = skewsMs.slice(0, regions.length * nodesPerRegion).join(', ');
  const nodes = `${nodesPerRegion} ${nodesPerRegion === 1 ? 'node' : 'nodes'} each`;
  return [
    `- ${regions.join(', ')}: ${nodes}; ${partitions} partitions, each in ${replication} regions unless stated otherwise.`,
    `- Delays: ${wan === 'aws' ? 'AWS' : 'none'}. Clocks off by ${skews} ms.`,
    ...systems.flatMap(({ name, absent }) => (absent === undefined ? [] : [`- ${name} was not measured: ${absent}`])),
  ].join('\n');
}

function caseSection(record: ExperimentRecord, { name }: Case, addPlot: AddPlot): string[] {
  const curves = record.experiment.systems
    .map((system) => ({ system: system.name, points: curveOf(record, name, system.name) }))
    .filter(({ points }) => points.length > 0);
  const plot = curvePlotOf(record, name, curves, addPlot);
  return [`### ${name}`, ...plot, pointTable(curves), measureTable(curves)];
}

/** A plot of curves with several points; single points are only in the table. */
function curvePlotOf(record: ExperimentRecord, name: string, curves: readonly SystemCurve[], addPlot: AddPlot) {
  if (curves.every(({ points }) => points.length < 2)) return [];
  const file = fileName(record, name);
  addPlot(file, curvePlot(`${record.experiment.name}, ${name}`, curves));
  return [`![throughput and latency](${file})`];
}

const fileName = ({ experiment }: ExperimentRecord, what: string): string =>
  `${`${experiment.name}-${what}`.toLowerCase().replaceAll(/[^a-z0-9.]+/g, '-')}.svg`;

interface SystemCurve {
  readonly system: string;
  readonly points: readonly Point[];
}

function curvePlot(title: string, curves: readonly SystemCurve[]): string {
  const series = curves.map(
    ({ system, points }): Series => ({
      name: system,
      points: points.flatMap((point) => {
        const mean = latencyAt(point, 'meanMs');
        return mean === undefined ? [] : [[point.rate, mean] as const];
      }),
    }),
  );
  const kind = mainKind(curves[0]!.points[0]!);
  return renderPlot({ title, x: 'operations/s', y: `mean ${kind} latency, ms`, logarithmic: true, dots: true, series });
}

function pointTable(curves: readonly SystemCurve[]): string {
  const kinds = curves.some(({ points }) =>
    points.some(({ rounds }) => rounds.some(({ latencies }) => latencies.write)),
  );
  const head = [
    'system',
    'sessions',
    '/s',
    'mean ms',
    'p50',
    'p95',
    'p99',
    'CPU µs/op',
    ...(kinds ? ['write mean ms', 'p99'] : []),
  ];
  const rows = curves.flatMap(({ system, points }) =>
    points.map((point) => [
      system,
      String(point.sessions),
      number(point.rate),
      ...(['meanMs', 'p50Ms', 'p95Ms', 'p99Ms'] as const).map((part) => number(latencyAt(point, part))),
      number(cpuAt(point)),
      ...(kinds ? (['meanMs', 'p99Ms'] as const).map((part) => number(latencyAt(point, part, 'write'))) : []),
    ]),
  );
  return table(head, rows, true);
}

/** The metrics of the nodes, at each point; measures that no node counts are left out. */
function measureTable(curves: readonly SystemCurve[]): string {
  const all = curves.flatMap(({ points }) => points);
  const known = MEASURES.filter((measure) => all.some((point) => measureAt(point, measure) !== undefined));
  const head = ['system', 'sessions', ...known.map(({ name, unit }) => `${name} (${unit})`)];
  const rows = curves.flatMap(({ system, points }) =>
    points.map((point) => [
      system,
      String(point.sessions),
      ...known.map((measure) => number(measureAt(point, measure))),
    ]),
  );
  return table(head, rows, true);
}

function visibilitySection(record: ExperimentRecord, addPlot: AddPlot): string[] {
  const { visibility } = record.experiment;
  const file = fileName(record, 'visibility');
  const readers = ['local', 'remote'] as const;
  const distributions = record.visibility.flatMap((of) => readers.map((where) => distribution(of, where)));
  const measured = distributions.filter(({ ms }) => ms.length > 0);
  const series = measured.map(({ system, where, ms }) => ({
    name: `${system}, ${where}`,
    points: SHARES.map((share) => [quantile(ms, share), share] as const),
  }));
  const title = `${record.experiment.name}: visibility of updates`;
  addPlot(file, renderPlot({ title, x: 'ms after the commit', y: 'share of updates', dots: false, series }));
  const rows = measured.map(({ system, where, ms, unseen }) => [
    `${system}, ${where}`,
    String(ms.length),
    ...SHOWN_SHARES.map((share) => number(quantile(ms, share))),
    String(unseen),
  ]);
  return [
    '### Visibility of updates',
    `From the answer to a write until a session of the region sees it, under ${visibility?.case} with ${visibility?.sessions} sessions; to 5 ms, 10 where reads block, delays between regions included. Local: readers in the writer’s region.`,
    `![visibility](${file})`,
    table(['system', 'updates', 'p50 ms', 'p95', 'p99', 'max', 'never seen'], rows, true),
  ];
}

const distribution = ({ system, samples, unseen }: VisibilityRecord, where: 'local' | 'remote') => ({
  system,
  where,
  unseen,
  ms: samples.filter(isOf(where)).map(({ ms }) => ms),
});

function keysSection({ systems, experiment: { layout } }: ExperimentRecord): string {
  const rows = systems.map(({ name, keysByRegion }) => [
    name,
    ...layout.regions.map((region) => number(keysByRegion?.[region])),
  ]);
  return table(['keys held', ...layout.regions], rows, true);
}

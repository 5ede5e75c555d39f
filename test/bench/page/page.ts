/** The page of figures, `docs/performance.md`, and its plots: a function of the measurements. */
import { isMet, notesOf, type PlotName, ratioOf } from '../figures.js';
import { MOST_OF_OTHERS } from '../machine-load.js';
import { number, table } from '../markdown.js';
import { figureText, targetText, valueText } from '../table.js';
import { CELL_HEAD, cellTables } from './cells.js';
import type { Conditions, Measured, MeasuredBenchmark, MeasuredRow } from './measured.js';
import { type CurvePlot, plotsOf } from './plots.js';

/** The files of the page by their paths below `docs`. */
export type PageFiles = ReadonlyMap<string, string>;

export const PAGE_FILE = 'performance.md';
/** The folder of the plots and of the measurements, below `docs`. */
export const PAGE_FOLDER = 'performance';
export const MEASURED_FILE = `${PAGE_FOLDER}/measured.json`;

const MEASURE = 'npm run bench -- --page docs';
const HEAD = ['what', 'measured', 'p50 / p99 ms', 'beside', 'ratio', 'CPU of the servers, µs an operation (beside)'];
const TARGET_HEAD = ['what', 'figure', 'target', ''];

const PLOT_TITLES: Readonly<Record<PlotName, string>> = {
  sessions: 'Over the number of sessions',
  keys: 'Over the number of keys',
  partitions: 'Over the number of partitions',
};

export function renderPage(measured: Measured): PageFiles {
  const plots = plotsOf(measured);
  const parts = [
    '# Performance',
    intro(measured),
    ...(measured.benchmarks.length === 0 ? [] : [...targets(measured), ...plotSections(plots), ...sections(measured)]),
    again(),
  ];
  const files = plots.map(({ file, svg }) => [`${PAGE_FOLDER}/${file}`, svg] as const);
  return new Map([[PAGE_FILE, `${parts.join('\n\n')}\n`], ...files]);
}

function intro({ benchmarks }: Measured): string {
  if (benchmarks.length === 0) return `Nothing was measured yet. \`${MEASURE}\` measures and writes this page.`;
  return [
    'Real nodes, load generators and limits are processes of one machine and share its cores: a ratio to a limit that was',
    'measured in the same run means more than a rate. Figures are medians over the rounds, with their range. Every value',
    'that was read is verified, and values are random text.',
    '',
    ...conditionLines(benchmarks),
  ].join('\n');
}

/** One line for all benchmarks under the same conditions. */
function conditionLines(benchmarks: readonly MeasuredBenchmark[]): string[] {
  const groups = new Map<string, MeasuredBenchmark[]>();
  for (const each of benchmarks) {
    const key = JSON.stringify([each.date, each.conditions]);
    groups.set(key, [...(groups.get(key) ?? []), each]);
  }
  const named = groups.size > 1;
  return [...groups.values()].map((group) => {
    const [{ date, conditions }] = group as [MeasuredBenchmark];
    const names = named ? `${group.map(({ name }) => `\`${name}\``).join(', ')}: ` : '';
    return wrapped(`- ${names}${date}, ${conditionText(conditions)}${othersText(group)}`);
  });
}

/** A paragraph or an item of a list, in lines of at most 120. */
function wrapped(text: string): string {
  const lines: string[] = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1)!;
    if (line.length + 1 + word.length > 120) lines.push(text.startsWith('- ') ? `  ${word}` : word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines.join('\n');
}

function conditionText({ machine, ...run }: Conditions): string {
  const { cpu, cores, memoryBytes, system, node, fileSystem } = machine;
  const memory = `${Math.round(memoryBytes / 2 ** 30)} GiB`;
  const warmUp = run.warmUpOperations === null ? 'a short one' : `${number(run.warmUpOperations)} operations a process`;
  const text = [
    `${cores} × ${cpu}, ${memory}, ${system}, ${fileSystem}, Node ${node}`,
    `${run.rounds} ${run.rounds === 1 ? 'round' : 'rounds'} of ${number(run.durationMs / 1000)} s in turn, warm-up ${warmUp}`,
    `${number(run.keysPerPartition)} keys a partition, seed ${run.seed}.`,
  ].join('; ');
  return run.quick ? `${text} **A quick run: it measures nothing.**` : text;
}

function othersText(group: readonly MeasuredBenchmark[]): string {
  const loaded = group.filter(isLoaded).map(({ name }) => `\`${name}\``);
  return loaded.length === 0 ? '' : ` **Others used the machine meanwhile: ${loaded.join(', ')}.**`;
}

const isLoaded = ({ others }: MeasuredBenchmark): boolean => others !== null && others > MOST_OF_OTHERS;

function targets({ benchmarks }: Measured): string[] {
  const rows = benchmarks.flatMap((benchmark) => benchmark.rows.flatMap((row) => targetRow(row, isLoaded(benchmark))));
  return rows.length === 0 ? [] : ['## Targets', table(TARGET_HEAD, rows)];
}

function targetRow(row: MeasuredRow, loaded: boolean): string[][] {
  const { what, unit, target, measured, limit } = row;
  if (target === undefined) return [];
  const ratio = ratioOf(row);
  const figure =
    target.of === 'ratio' ? `${number(ratio)} of ${limit?.what ?? 'no limit'}` : valueText(measured.median, unit);
  const verdict = isMet(row) ? 'met' : '**missed**';
  return [[what, figure, targetText(target, unit), loaded ? `${verdict}, on a loaded machine` : verdict]];
}

function plotSections(plots: readonly CurvePlot[]): string[] {
  const names = [...new Set(plots.map(({ over }) => over))];
  return names.flatMap((over) => [
    `## ${PLOT_TITLES[over]}`,
    plots
      .filter((plot) => plot.over === over)
      .map(({ title, file }) => `![${title}](${PAGE_FOLDER}/${file})`)
      .join('\n'),
  ]);
}

const sections = ({ benchmarks }: Measured): string[] =>
  benchmarks.flatMap(({ name, about, rows }) => {
    const plain = rows.filter(({ cell }) => cell === undefined);
    const cells = cellTables(rows);
    if (rows.length === 0) return [];
    return [
      `## ${name}`,
      wrapped(`${about[0]!.toUpperCase()}${about.slice(1)}.`),
      ...(plain.length === 0 ? [] : [table(HEAD, plain.map(cellsOf))]),
      ...cells.map(({ columns, lines }) => table([CELL_HEAD, ...columns], lines, true)),
      ...notesOf(rows),
    ];
  });

function cellsOf(row: MeasuredRow): string[] {
  const { what, unit, measured, latency, limit, cpuUs } = row;
  const ratio = ratioOf(row);
  return [
    what,
    figureText(measured, unit),
    latency === undefined ? '' : `${number(latency.p50Ms)} / ${number(latency.p99Ms)}`,
    limit === undefined ? '' : `${figureText(limit.figure, unit)}, ${limit.what}`,
    ratio === undefined ? '' : number(ratio),
    cpuUs === undefined
      ? ''
      : `${number(cpuUs.measured)}${cpuUs.limit === undefined ? '' : ` (${number(cpuUs.limit)})`}`,
  ];
}

const again = (): string =>
  [
    '## Again',
    '',
    `\`${MEASURE}\` measures all of it and writes this page; \`--only NAME\` measures some benchmarks, and`,
    'leaves the others as they are. How it is measured is in [test/bench](../test/bench/README.md).',
  ].join('\n');

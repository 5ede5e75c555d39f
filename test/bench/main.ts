/**
 * `npm run bench`: runs the benchmarks, prints a table and writes a JSON file; with `--page` also the page of figures.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { type Benchmark, Context } from './context.js';
import { notesOf } from './figures.js';
import { cpuTimes, MOST_OF_OTHERS, shareOfOthers, watchOthers } from './machine-load.js';
import { addRunOptions, chosenFrom, endOnSignals, type RunOptions, settingsOf, whole } from './options.js';
import { readMeasured, writePage } from './page/files.js';
import { conditionsOf, decodeMeasured, type MeasuredBenchmark, mergeMeasured } from './page/measured.js';
import { busiestFunctions, type CpuProfile, profileText } from './profile/cpu-profile.js';
import { Progress } from './progress.js';
import { type Failure, type Machine, machineLines, machineOf, type Result, writeReport } from './report.js';
import { ROOT } from './root.js';
import { BENCHMARKS, LAST_ON_MAIN } from './rows/index.js';
import { renderCells, renderTable } from './table.js';

const FUNCTIONS_SHOWN = 25;
/** Length of a round with `--quick`. */
const QUICK_MS = 250;
const WARM_UP_OPERATIONS = 10_000;
/** Exit code of a run that did not begin. */
const REFUSED = 2;

interface Options extends RunOptions {
  readonly only?: readonly Benchmark[];
  readonly json?: string;
  readonly page?: string;
  readonly from?: string;
  readonly warmUp: number;
  readonly large: boolean;
  readonly loaded: boolean;
  readonly plantWrongValues: boolean;
}

const program = addRunOptions(
  new Command('bench')
    .description('Measures the node and the SDK beside the bare limits of this machine.')
    .option(
      '--only <names>',
      'benchmarks, or beginnings of their names, with commas between them',
      chosenFrom(BENCHMARKS),
    ),
  { duration: 5, rounds: 3, keys: 10_000 },
)
  .option('--warm-up <operations>', 'before the rounds, for each process', whole, WARM_UP_OPERATIONS)
  .option('--large', 'also the benchmarks that take tens of minutes and gigabytes: 10,000,000 keys', false)
  .option('--loaded', 'measure on a machine that others use, and mark the figures', false)
  .option('--json <file>', 'where to write the report (default: bench-results/<date>-bench.json)')
  .option('--page <folder>', 'write performance.md and its plots there; benchmarks that are not run keep their figures')
  .option('--from <measured.json>', 'make the page of earlier figures again, measure nothing')
  .option('--plant-wrong-values', 'write wrong values: each benchmark that reads has to fail', false)
  .addHelpText(
    'after',
    `\nBenchmarks:\n${BENCHMARKS.map(({ name, about, large }) => `  ${name.padEnd(20)} ${about}${large ? ' (--large)' : ''}`).join('\n')}

Exit code: 0 all benchmarks ran, 1 a benchmark failed or the command line is wrong, 2 others use this machine.`,
  );

async function main(): Promise<number> {
  const options = program.parse().opts<Options>();
  if (options.from !== undefined) {
    writePage(options.page ?? join(ROOT, 'docs'), decodeMeasured(readFileSync(options.from, 'utf8')));
    return 0;
  }
  if (!options.quick && !options.loaded && (await isLoaded())) return REFUSED;
  return measure(options);
}

async function isLoaded(): Promise<boolean> {
  const others = await watchOthers();
  if (others === undefined || others <= MOST_OF_OTHERS) return false;
  const percent = (others * 100).toFixed(0);
  console.error(
    `error: others use ${percent} % of this machine: end them, or measure with --loaded, which marks the figures`,
  );
  return true;
}

async function measure(options: Options): Promise<number> {
  const { quick, large, plantWrongValues: planted, warmUp } = options;
  // A page that cannot be read is reported before any measurement.
  if (options.page !== undefined) readMeasured(options.page);
  const benchmarks = options.only ?? BENCHMARKS.filter((benchmark) => large || !benchmark.large);
  const settings = {
    ...settingsOf(options, QUICK_MS),
    large,
    planted,
    // A quick round, too, has operations to count.
    warmUpOperations: quick ? 1 : warmUp,
  };
  const progress = new Progress(benchmarks.length);
  const context = new Context(settings, progress);
  const machine = machineOf(context.folder);
  endOnSignals([context]);
  const results: Result[] = [];
  const failures: Failure[] = [];
  try {
    for (const benchmark of benchmarks) {
      const result = await runOne(benchmark, context, failures);
      // The signal's handler ends the process without a report.
      if (context.isClosing) return await new Promise<never>(() => {});
      if (result === undefined) continue;
      results.push(result);
      // A run that is cut short writes its measurements.
      if (options.page !== undefined) addToPage(options.page, measuredOf(benchmark, context, machine, result));
    }
  } finally {
    progress.end();
    await context.close();
  }
  const file =
    options.json ?? join(ROOT, 'bench-results', `${new Date().toISOString().replaceAll(':', '-')}-bench.json`);
  writeReport(file, settings, machine, results, failures);
  const rows = results.flatMap((result) => result.rows);
  console.log(
    [
      ...machineLines(machine, results),
      ...(rows.every(({ cell }) => cell !== undefined) ? [] : [renderTable(rows)]),
      ...renderCells(rows),
      ...notesOf(rows),
      `All samples: ${file}`,
    ].join('\n'),
  );
  if (options.profile !== undefined) printProfiles(options.profile);
  for (const { benchmark, error } of failures) console.error(`error: ${benchmark}: ${error}`);
  return failures.length === 0 ? 0 : 1;
}

/** Undefined if it failed. */
async function runOne(benchmark: Benchmark, context: Context, failures: Failure[]): Promise<Result | undefined> {
  const { name } = benchmark;
  context.progress.begin(name);
  const before = cpuTimes();
  let result: Result | undefined;
  try {
    const rows = (await benchmark.run(context)).map((line) => ({ benchmark: name, ...line }));
    const after = cpuTimes();
    const others = before === undefined || after === undefined ? null : shareOfOthers(before, after);
    result = { benchmark: name, others, rows };
  } catch (error) {
    if (context.isClosing) return undefined;
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    context.progress.line(`${name} failed: ${text}`);
    failures.push({ benchmark: name, error: text });
    await context.stopOthers();
  }
  if (benchmark === LAST_ON_MAIN && !context.isClosing) await context.stopCluster('main');
  return result;
}

const measuredOf = (
  { name, about }: Benchmark,
  { settings }: Context,
  machine: Machine,
  { others, rows }: Result,
): MeasuredBenchmark => ({
  name,
  about,
  date: new Date().toISOString().slice(0, 'yyyy-mm-dd'.length),
  conditions: conditionsOf(machine, settings),
  others,
  rows: rows.map(({ benchmark: _benchmark, details: _details, ...row }) => row),
});

function addToPage(docs: string, benchmark: MeasuredBenchmark): void {
  const order = BENCHMARKS.map(({ name }) => name);
  writePage(docs, mergeMeasured(readMeasured(docs), { benchmarks: [benchmark] }, order));
}

function printProfiles(folder: string): void {
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.cpuprofile'))) {
    const profile = JSON.parse(readFileSync(join(folder, name), 'utf8')) as CpuProfile;
    console.log(profileText(name, busiestFunctions(profile, FUNCTIONS_SHOWN)));
  }
}

process.exitCode = await main();

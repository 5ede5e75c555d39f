/** `npm run bench`: runs the benchmarks, prints a table and leaves a JSON file. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { type Benchmark, type BenchSettings, Context } from './context.js';
import type { Row } from './figures.js';
import { httpBenchmarks } from './http.js';
import { idle } from './idle.js';
import { memory } from './memory.js';
import { busiestFunctions, type CpuProfile, profileText } from './profile.js';
import { Progress } from './progress.js';
import { type Failure, machineLines, machineOf, writeReport } from './report.js';
import { ROOT } from './root.js';
import { sdkCommits, sdkReads, sdkTransactions } from './sdk.js';
import { staleness, stalenessWan } from './staleness.js';
import { secondStart } from './start.js';
import { renderTable } from './table.js';
import { waits } from './waits.js';

/** In an order that matters: idle before any load, waits after all of it. */
const BENCHMARKS: readonly Benchmark[] = [
  idle,
  ...httpBenchmarks,
  sdkReads,
  sdkCommits,
  sdkTransactions,
  staleness,
  waits,
  stalenessWan,
  memory,
  secondStart,
];
/** From here on the main cluster is not needed, and would only take CPU. */
const LAST_ON_MAIN = waits;

const FUNCTIONS_SHOWN = 25;

interface Options {
  readonly only?: readonly Benchmark[];
  readonly duration: number;
  readonly rounds: number;
  readonly seed: number;
  readonly json?: string;
  readonly profile?: string;
  readonly quick: boolean;
}

function chosen(text: string): Benchmark[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !BENCHMARKS.some((benchmark) => benchmark.name.startsWith(name)));
  if (unknown !== undefined) {
    throw new InvalidArgumentError(
      `none is called "${unknown}"; there are ${BENCHMARKS.map(({ name }) => name).join(', ')}`,
    );
  }
  return BENCHMARKS.filter(({ name }) => names.some((start) => name.startsWith(start)));
}

function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new InvalidArgumentError('expected a number above 0');
  return value;
}

function whole(text: string): number {
  if (!Number.isSafeInteger(positive(text))) throw new InvalidArgumentError('expected a whole number above 0');
  return Number(text);
}

const program = new Command('bench')
  .description('Measures the node and the SDK beside the bare limits of this machine.')
  .option('--only <names>', 'benchmarks, or beginnings of their names, with commas between them', chosen)
  .option('--duration <seconds>', 'length of a round', positive, 5)
  .option('--rounds <n>', 'rounds of each; their median counts', whole, 3)
  .option('--seed <n>', 'where everything random starts', whole, 1)
  .option('--json <file>', 'where to write the report (default: bench-results/<date>-bench.json)')
  .option('--profile <folder>', 'write CPU profiles of all processes there, and print their busiest functions')
  .option('--quick', 'one round of 2 s each and little data: shows that all of it runs, measures nothing', false)
  .addHelpText(
    'after',
    `\nBenchmarks:\n${BENCHMARKS.map(({ name, about }) => `  ${name.padEnd(18)} ${about}`).join('\n')}`,
  );

function settingsOf({ duration, rounds, seed, quick, profile }: Options): BenchSettings {
  const size = quick ? { rounds: 1, durationMs: 2000 } : { rounds, durationMs: duration * 1000 };
  return { ...size, seed, quick, profile };
}

async function main(): Promise<number> {
  const options = program.parse().opts<Options>();
  const benchmarks = options.only ?? BENCHMARKS;
  const settings = settingsOf(options);
  const progress = new Progress(benchmarks.length);
  const context = new Context(settings, progress);
  const machine = machineOf(context.folder);
  endOnSignals(context);
  const rows: Row[] = [];
  const failures: Failure[] = [];
  try {
    for (const benchmark of benchmarks) {
      await runOne(benchmark, context, rows, failures);
      // The signal's handler ends the process; nothing is reported.
      if (context.isClosing) return await new Promise<never>(() => {});
    }
  } finally {
    progress.end();
    await context.close();
  }
  const file =
    options.json ?? join(ROOT, 'bench-results', `${new Date().toISOString().replaceAll(':', '-')}-bench.json`);
  writeReport(file, settings, machine, rows, failures);
  console.log([...machineLines(machine), renderTable(rows), `All samples: ${file}`].join('\n'));
  if (options.profile !== undefined) printProfiles(options.profile);
  for (const { benchmark, error } of failures) console.error(`error: ${benchmark}: ${error}`);
  return failures.length === 0 ? 0 : 1;
}

async function runOne(benchmark: Benchmark, context: Context, rows: Row[], failures: Failure[]): Promise<void> {
  context.progress.begin(benchmark.name);
  try {
    rows.push(...(await benchmark.run(context)));
  } catch (error) {
    if (context.isClosing) return;
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    context.progress.line(`${benchmark.name} failed: ${text}`);
    failures.push({ benchmark: benchmark.name, error: text });
  }
  if (benchmark === LAST_ON_MAIN && !context.isClosing) await context.stopCluster('main');
}

/** The first signal ends all processes in order, the second one at once. */
function endOnSignals(context: Context): void {
  let ending = false;
  const end = (signal: NodeJS.Signals): void => {
    if (ending) {
      context.kill();
      process.exit(1);
    }
    ending = true;
    process.stderr.write('\nStopping ...\n');
    void context.close().finally(() => process.exit(signal === 'SIGINT' ? 130 : 143));
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, end);
}

function printProfiles(folder: string): void {
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.cpuprofile'))) {
    const profile = JSON.parse(readFileSync(join(folder, name), 'utf8')) as CpuProfile;
    console.log(profileText(name, busiestFunctions(profile, FUNCTIONS_SHOWN)));
  }
}

process.exitCode = await main();

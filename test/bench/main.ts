/** `npm run bench`: runs the benchmarks, prints a table and leaves a JSON file. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { type Benchmark, Context } from './context.js';
import type { Row } from './figures.js';
import { httpBenchmarks } from './http.js';
import { idle, idlePartitions, idleSessions } from './idle.js';
import { logAppends } from './log.js';
import { memory } from './memory.js';
import { addRunOptions, chosenFrom, endOnSignals, type RunOptions, settingsOf } from './options.js';
import { busiestFunctions, type CpuProfile, profileText } from './profile.js';
import { Progress } from './progress.js';
import { type Failure, machineLines, machineOf, writeReport } from './report.js';
import { ROOT } from './root.js';
import { sdkCommits, sdkReads, sdkTransactions } from './sdk.js';
import { staleness, stalenessWan } from './staleness.js';
import { secondStart } from './start.js';
import { startAfterKill } from './start-after-kill.js';
import { swiftReads } from './swift.js';
import { renderTable } from './table.js';
import { waits } from './waits.js';

/** In an order that matters: idle before any load, waits after all of it. */
const BENCHMARKS: readonly Benchmark[] = [
  idle,
  idlePartitions,
  idleSessions,
  ...httpBenchmarks,
  sdkReads,
  swiftReads,
  sdkCommits,
  sdkTransactions,
  staleness,
  waits,
  stalenessWan,
  memory,
  secondStart,
  startAfterKill,
  logAppends,
];
/** From here on the main cluster is not needed, and would only take CPU. */
const LAST_ON_MAIN = waits;

const FUNCTIONS_SHOWN = 25;

interface Options extends RunOptions {
  readonly only?: readonly Benchmark[];
  readonly json?: string;
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
  .option('--json <file>', 'where to write the report (default: bench-results/<date>-bench.json)')
  .addHelpText(
    'after',
    `\nBenchmarks:\n${BENCHMARKS.map(({ name, about }) => `  ${name.padEnd(18)} ${about}`).join('\n')}`,
  );

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

function printProfiles(folder: string): void {
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.cpuprofile'))) {
    const profile = JSON.parse(readFileSync(join(folder, name), 'utf8')) as CpuProfile;
    console.log(profileText(name, busiestFunctions(profile, FUNCTIONS_SHOWN)));
  }
}

process.exitCode = await main();

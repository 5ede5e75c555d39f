/**
 * `npm run bench:papers`: carries out the papers' experiments; writes a report with plots, and the samples behind it.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { Context } from '../context.js';
import { addRunOptions, chosenFrom, endOnSignals, type RunOptions, settingsOf } from '../options.js';
import { Progress } from '../progress.js';
import { machineOf } from '../report.js';
import { ROOT } from '../root.js';
import { CLAIMS } from './claims.js';
import { type Experiment, quickForm } from './experiment.js';
import { EXPERIMENTS } from './experiments.js';
import { REPORT_FILE, renderReport } from './report.js';
import { reported } from './reported.js';
import { runExperiment, type Watch } from './run.js';
import type { ExperimentRecord, RunRecord } from './samples.js';
import { decodeRun, encodeRun } from './samples-file.js';
import { QUICK_SCALE, SCALE, type ScaleExperiment } from './scale/experiment.js';
import type { ScaleRecord } from './scale/record.js';
import { runScaleExperiment } from './scale/run.js';
import { Schedule, type Step, stepsOf, timeText, totalMs } from './schedule.js';

const SAMPLES_FILE = 'samples.json';

/** On real nodes, and simulated. */
const ALL: readonly (Experiment | ScaleExperiment)[] = [...EXPERIMENTS, SCALE];

interface Options extends RunOptions {
  readonly only?: readonly (Experiment | ScaleExperiment)[];
  readonly out?: string;
  readonly from?: string;
}

const program = addRunOptions(
  new Command('bench:papers')
    .description("The papers' experiments: throughput and latency by number of sessions, blocking, bytes, visibility.")
    .option('--only <names>', 'experiments, or beginnings of their names, with commas between them', chosenFrom(ALL)),
  // As short as ratios within a run allow: all of it has to end within half an hour.
  { duration: 1.2, rounds: 3, keys: 2_000 },
)
  .option('--out <folder>', 'folder of the report (default: bench-results/<date>-papers)')
  .option('--from <samples.json>', 'make the report of an earlier run again, measure nothing')
  .addHelpText(
    'after',
    `\nExperiments:\n${ALL.map(({ name, figure, about }) => `  ${name.padEnd(22)} ${figure}: ${about}`).join('\n')}

Exit code: 0 all experiments ran, 1 a point of an experiment failed or the command line is wrong.`,
  );

async function main(): Promise<number> {
  const options = program.parse().opts<Options>();
  const date = new Date().toISOString();
  const folder = options.out ?? join(ROOT, 'bench-results', `${date.replaceAll(':', '-')}-papers`);
  if (options.from !== undefined) {
    writeReport(folder, decodeRun(readFileSync(options.from, 'utf8')));
    console.log(join(folder, REPORT_FILE));
    return 0;
  }
  const { failures, experiments } = await measure(options, date, folder);
  console.log(join(folder, REPORT_FILE));
  for (const { experiment, error } of failures) console.error(`error: ${experiment}: ${error}`);
  for (const { experiment, failures: points } of experiments) {
    for (const { point, error } of points) console.error(`error: ${experiment.name}: ${point}: ${error}`);
  }
  return failures.length + experiments.flatMap((own) => own.failures).length === 0 ? 0 : 1;
}

/** Replaces the report of earlier measurements. */
function writeReport(folder: string, run: RunRecord): void {
  mkdirSync(folder, { recursive: true });
  for (const [file, text] of renderReport(run, CLAIMS, commandOf(run))) writeFileSync(join(folder, file), text);
}

/** Writes the measurements so far. */
function writeSamples(folder: string, run: RunRecord): string {
  const text = encodeRun(run);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, SAMPLES_FILE), text);
  return text;
}

/** The command that repeats this run. */
function commandOf({ settings, experiments, failures, scale }: RunRecord): string {
  const { quick, rounds, durationMs, seed, keysPerPartition } = settings;
  const names = [
    ...experiments.map(({ experiment }) => experiment.name),
    ...failures.map(({ experiment }) => experiment),
    ...(scale === undefined ? [] : [SCALE.name]),
  ];
  const size = quick ? '--quick' : `--rounds ${rounds} --duration ${durationMs / 1000} --keys ${keysPerPartition}`;
  const only = names.length === ALL.length ? '' : ` --only ${names.join(',')}`;
  return `npm run bench:papers -- ${size} --seed ${seed}${only}`;
}

async function measure(options: Options, date: string, folder: string): Promise<RunRecord> {
  const settings = settingsOf(options);
  const { quick, rounds, durationMs, seed, keysPerPartition } = settings;
  const named = options.only ?? ALL;
  const chosen = EXPERIMENTS.filter((experiment) => named.includes(experiment)).map((experiment) =>
    quick ? quickForm(experiment) : experiment,
  );
  const simulated = named.includes(SCALE) ? (quick ? QUICK_SCALE : SCALE) : undefined;
  const steps = [...stepsOf(chosen, settings), ...(simulated === undefined ? [] : [simulationOf(simulated)])];
  const schedule = new Schedule(steps, () => performance.now());
  const progress = new Progress(steps.length);
  const begin = (name: string, what: string): void =>
    progress.begin(`${name}: ${what}; ${timeText(schedule.begins(name, what))} left`);
  progress.line(`${steps.length} steps: ${timeText(totalMs(steps))}`);
  const context = new Context(settings, progress);
  const machine = machineOf(context.folder);
  endOnSignals([context]);
  const experiments: ExperimentRecord[] = [];
  let scale: ScaleRecord | undefined;
  const failures: { experiment: string; error: string }[] = [];
  const runOf = (all: readonly ExperimentRecord[]): RunRecord => ({
    date,
    machine,
    settings: { quick, rounds, durationMs, seed, keysPerPartition },
    experiments: all,
    failures,
    ...(scale !== undefined && { scale }),
  });
  try {
    for (const experiment of chosen) {
      const { name } = experiment;
      let partly: readonly ExperimentRecord[] = [];
      const watch: Watch = {
        begins: (what) => begin(name, what),
        measured: (record) => {
          partly = [record];
          writeSamples(folder, runOf([...experiments, record]));
        },
      };
      try {
        experiments.push(await runExperiment(context, experiment, watch));
      } catch (error) {
        if (context.isClosing) {
          // The signal's handler ends the process.
          writeReport(folder, runOf([...experiments, ...partly]));
          return await new Promise<never>(() => {});
        }
        progress.line(`${name} failed: ${error instanceof Error ? error.stack : String(error)}`);
        failures.push({ experiment: name, error: reported(error) });
      }
      // A run that is cut short leaves a report of its measurements.
      writeReport(folder, decodeRun(writeSamples(folder, runOf(experiments))));
    }
    if (simulated !== undefined) {
      begin(simulated.name, SIMULATION);
      try {
        scale = await simulateScale(simulated, progress, seed, quick);
      } catch (error) {
        failures.push({ experiment: SCALE.name, error: reported(error) });
      }
      writeReport(folder, decodeRun(writeSamples(folder, runOf(experiments))));
    }
  } finally {
    progress.end();
    await context.close();
  }
  return runOf(experiments);
}

const SIMULATION = 'simulation';

const simulationOf = ({ name, aboutMs }: ScaleExperiment): Step => ({
  experiment: name,
  what: SIMULATION,
  ms: aboutMs,
});

/** Last: it takes all cores, and no real node runs any more. */
function simulateScale(
  simulated: ScaleExperiment,
  progress: Progress,
  seed: number,
  quick: boolean,
): Promise<ScaleRecord> {
  const onDone = (what: string): void => progress.line(`${SCALE.name}: ${what}`);
  return runScaleExperiment(simulated, { seed, quick, onDone });
}

process.exitCode = await main();

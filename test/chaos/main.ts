/** `npm run chaos`: a cluster of real processes, sessions, a nemesis, and a verdict. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { Progress } from '../bench/progress.js';
import { cleanUp } from '../e2e/harness.js';
import { ROOT } from '../e2e/processes.js';
import { RULES } from './access.js';
import type { ChaosClusterOptions } from './cluster.js';
import { NotConverged } from './convergence.js';
import { ALWAYS, FAULT_KINDS, type FaultKind } from './faults.js';
import { isolation } from './isolation.js';
import { run, type Scenario } from './run.js';
import { storm } from './storm.js';
import { summaryOf } from './summary.js';
import { EXIT, exitCodeOf } from './verdict.js';

interface Options {
  readonly minutes?: number;
  readonly seed: number;
  readonly scenario: 'storm' | 'isolation';
  readonly regions: number;
  readonly nodes: number;
  readonly partitions: number;
  readonly replication: number;
  readonly sessions: number;
  readonly keys: number;
  readonly faults?: readonly FaultKind[];
  readonly lose: boolean;
  readonly wipe: boolean;
  readonly rules: boolean;
  readonly tls: boolean;
  readonly output?: string;
}

const REGION_NAMES = ['virginia', 'oregon', 'ireland', 'mumbai', 'sydney'];
const DEFAULT_MINUTES = { storm: 5, isolation: 1 } as const;
/** Seeds that are drawn are below this, so that they are short enough to type. */
const SEEDS = 1_000_000;

function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new InvalidArgumentError('expected a number above 0');
  return value;
}

const whole =
  (least: number, most: number) =>
  (text: string): number => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`expected a whole number from ${least} to ${most}`);
  };

function kinds(text: string): FaultKind[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !FAULT_KINDS.some((kind) => kind === name));
  if (unknown !== undefined) throw new InvalidArgumentError(`there is no "${unknown}"; ${FAULT_KINDS.join(', ')}`);
  return FAULT_KINDS.filter((kind) => names.includes(kind));
}

const program = new Command('chaos')
  .description('Breaks a cluster of real processes in every way there is, and looks whether it keeps its promises.')
  .option('--minutes <n>', 'how long faults go on (default: 5; isolation: 1)', positive)
  .option('--seed <n>', 'faults and sessions are drawn from it (default: a new one)', whole(0, Number.MAX_SAFE_INTEGER))
  .addOption(
    new Option('--scenario <name>', 'all faults, or a region cut off').choices(['storm', 'isolation']).default('storm'),
  )
  .option('--regions <n>', 'regions', whole(1, REGION_NAMES.length), 3)
  .option('--nodes <n>', 'nodes in each region', whole(1, 4), 2)
  .option('--partitions <n>', 'partitions', whole(1, 256), 12)
  .option('--replication <n>', 'in how many regions each partition is held', whole(1, REGION_NAMES.length), 2)
  .option('--sessions <n>', 'sessions', whole(1, 256), 9)
  .option('--keys <n>', 'hot keys', whole(8, 100_000), 50)
  .option('--faults <kinds>', `only these, with commas between them: ${FAULT_KINDS.join(', ')}`, kinds)
  .option('--lose', 'nodes are down for so long that the others suspend them, too', false)
  .option('--wipe', 'data folders are lost or rolled back, too', false)
  .option('--rules', 'the cluster has access rules and users, and a reader of albums must see no hidden photo', false)
  .option('--tls', 'the API and the links between nodes have TLS, with certificates of isochron certs', false)
  .option(
    '--output <folder>',
    'leave history, logs and schedule there (default: in data/chaos/<seed>, when something is wrong)',
  )
  .addHelpText(
    'after',
    '\nExit code: 0 all promises kept, 1 a violation, 2 the cluster did not converge after healing, 3 the run itself failed.',
  )
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? EXIT.fine : EXIT.harness));

async function main(): Promise<number> {
  const options = program.parse().opts<Options>();
  const seed = options.seed ?? Math.floor(Math.random() * SEEDS);
  const folder = options.output ?? join(ROOT, 'data', 'chaos', String(seed));
  process.stderr.write(`seed ${seed}\n`);
  const progress = new Progress(1);
  progress.begin(options.scenario);
  const onStep = (text: string) => progress.step(text);
  const scenario = scenarioOf(options, { seed, folder, onStep });
  const report = await run(scenario, { seed, cluster: clusterOptions(options), folder, onStep });
  progress.end();
  const summary = summaryOf(report);
  console.log(summary);
  const exitCode = exitCodeOf(report);
  if (exitCode === EXIT.fine && options.output === undefined) rmSync(folder, { recursive: true });
  else {
    writeFileSync(join(folder, 'summary.txt'), `${summary}\n`);
    console.log(`History, logs and schedule: ${folder}`);
  }
  return exitCode;
}

interface Context {
  readonly seed: number;
  readonly folder: string;
  readonly onStep: (text: string) => void;
}

function scenarioOf(options: Options, { seed, folder, onStep }: Context): Scenario {
  const { scenario, sessions, keys, regions } = options;
  const durationMs = (options.minutes ?? DEFAULT_MINUTES[scenario]) * 60_000;
  if (scenario === 'storm')
    return storm({ seed, durationMs, kinds: faultKinds(options), sessions, keys, folder, onStep });
  return isolation({ seed, phaseMs: durationMs, sessionsPerRegion: Math.ceil(sessions / regions), onStep });
}

const faultKinds = ({ faults, lose, wipe }: Options): FaultKind[] => [
  ...(faults ?? ALWAYS),
  ...(lose ? (['lose'] as const) : []),
  ...(wipe ? (['wipe', 'rollback'] as const) : []),
];

function clusterOptions({ regions, nodes, partitions, replication, rules, tls }: Options): ChaosClusterOptions {
  const names = REGION_NAMES.slice(0, regions);
  return {
    regions: names,
    nodesPerRegion: nodes,
    partitions,
    replication,
    wan: delaysBetween(names),
    tls,
    ...(rules ? { rules: RULES } : {}),
  };
}

/** Some milliseconds, different for each direction, so that much is in flight when a fault begins. */
function delaysBetween(regions: readonly string[]): Record<string, number> {
  const delays: Record<string, number> = {};
  for (const [i, a] of regions.entries()) {
    for (const [j, b] of regions.entries()) if (i !== j) delays[`${a}>${b}`] = 2 + ((5 * i + 3 * j) % 11);
  }
  return delays;
}

/** Ends all processes on a signal. */
function endOnSignals(): void {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    process.once(signal, () => void cleanUp().finally(() => process.exit(code)));
  }
}

endOnSignals();
try {
  process.exitCode = await main();
} catch (error) {
  await cleanUp();
  process.stderr.write(`\nerror: ${error instanceof Error ? error.stack : String(error)}\n`);
  // It has to converge between faults, too, where the next fault waits for that.
  process.exitCode = error instanceof NotConverged ? EXIT.notConverged : EXIT.harness;
}

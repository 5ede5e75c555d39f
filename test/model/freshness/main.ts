/** `npm run model`: long searches of the model of suspension and return. */
import { Command, InvalidArgumentError, Option } from 'commander';
import { drawnRun, type Finding, neighbours, replay, scheduleOf, shrunk } from './search.js';
import { actionsOf, FAIR, FIVE, SOLE_COPY, THREE } from './shapes.js';
import { MUTANTS, type Mutant, type Shape } from './state.js';

const SHAPES = { three: THREE, 'sole-copy': SOLE_COPY, five: FIVE } as const;

interface Options {
  readonly runs: number;
  readonly seedStart: number;
  readonly steps: number;
  readonly shape: keyof typeof SHAPES;
  readonly mutant?: Mutant;
  readonly neighbours: boolean;
}

/** A schedule that was tried, and where it comes from. */
interface TriedSchedule {
  readonly finding: Finding | undefined;
  readonly of: string;
}

function whole(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}

const options = new Command('model')
  .description('Searches for schedules that break a promise of suspension and return, and shrinks the first of them.')
  .option('--runs <n>', 'drawn runs', whole, 1000)
  .option(
    '--seed-start <n>',
    'the seed of the first run (default: from the clock)',
    whole,
    Math.floor(Date.now() / 1000),
  )
  .option('--steps <n>', 'actions of a run', whole, 250)
  .addOption(new Option('--shape <name>', 'nodes and partitions').choices(Object.keys(SHAPES)).default('three'))
  .addOption(new Option('--mutant <name>', 'break a rule').choices(MUTANTS))
  .addOption(
    new Option('--neighbours', 'instead, all schedules that differ from a fair schedule at one place')
      .conflicts('shape')
      .default(false),
  )
  .addHelpText('after', '\nExit code: 0 nothing was found, 1 a promise was broken.')
  .parse()
  .opts<Options>();

process.exitCode = search({ ...SHAPES[options.shape], mutant: options.mutant }, options.shape === 'five' ? 5 : 3);

function search(shape: Shape, nodes: number): number {
  let tried = 0;
  for (const { finding, of } of options.neighbours ? near(shape, nodes) : drawn(shape, nodes)) {
    tried++;
    if (finding === undefined) continue;
    const { message, schedule } = shrunk(finding, shape, nodes);
    process.stdout.write(`${of}: ${message}\n${schedule.length} actions:\n  ${schedule.join('\n  ')}\n`);
    return 1;
  }
  process.stdout.write(`${tried} schedules, nothing found\n`);
  return 0;
}

function* drawn(shape: Shape, nodes: number): Generator<TriedSchedule> {
  const { seedStart, runs, steps } = options;
  for (let seed = seedStart; seed < seedStart + runs; seed++)
    yield { finding: drawnRun(seed, steps, shape, nodes).finding, of: `seed ${seed}` };
}

function* near(shape: Shape, nodes: number): Generator<TriedSchedule> {
  for (const [name, script] of Object.entries(FAIR))
    for (const schedule of neighbours(scheduleOf(script, shape, nodes), actionsOf(shape, nodes)))
      yield { finding: replay(schedule, shape, nodes), of: name };
}

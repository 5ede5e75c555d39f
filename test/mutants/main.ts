/** `npm run mutants`: shows which check catches which breakage. */
import { Command, InvalidArgumentError } from 'commander';
import { Lanes } from './lanes.js';
import { MUTANTS } from './list/index.js';
import type { Mutant } from './mutant.js';
import { pin, search } from './search.js';
import { renderTable } from './table.js';
import { Trials } from './trials.js';
import { tryMutant, WITHOUT_INVARIANTS } from './verdict.js';

interface Options {
  readonly only?: readonly string[];
  readonly search: boolean;
  readonly pin: boolean;
  readonly seeds: number;
  readonly seedStart: number;
}

function whole(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}

function names(text: string): string[] {
  const wanted = text.split(',').map((name) => name.trim());
  const unknown = wanted.find((name) => !MUTANTS.some((mutant) => mutant.name === name));
  if (unknown === undefined) return wanted;
  throw new InvalidArgumentError(`There is no "${unknown}"; ${MUTANTS.map(({ name }) => name).join(', ')}.`);
}

const options = new Command('mutants')
  .description(
    'Breaks PaRiS on purpose, in the memory of a process of its own, and shows which check of the simulator detects it.',
  )
  .option('--only <names>', 'only these mutants, separated by commas', names)
  .option('--search', 'try fresh seeds, and report how often each mutant is caught', false)
  .option('--pin', 'look for a run that catches a mutant, and keep it in test/mutants/plans', false)
  .option('--seeds <n>', 'number of seeds, for --search and --pin', whole, 100)
  .option('--seed-start <n>', 'the first of them (default: from the clock)', whole, Math.floor(Date.now() / 1000))
  .addHelpText('after', '\nExit code: 0 every mutant was caught, 1 a mutant was not.')
  .parse()
  .opts<Options>();

const chosen = MUTANTS.filter(({ name }) => options.only?.includes(name) ?? true);
const trials = new Trials([...chosen, WITHOUT_INVARIANTS]);
const lanes = new Lanes();
try {
  if (options.search || options.pin) await explore(chosen);
  else process.exitCode = await judge(chosen);
} finally {
  trials.end();
}

async function explore(mutants: readonly Mutant[]): Promise<void> {
  const seeds = { from: options.seedStart, count: options.seeds };
  const look = options.pin ? pin : search;
  const show = async (mutant: Mutant): Promise<void> => {
    process.stdout.write(`${(await look(trials, mutant, seeds)).trimEnd()}\n`);
  };
  await Promise.all(mutants.map((mutant) => lanes.run(() => show(mutant))));
}

async function judge(mutants: readonly Mutant[]): Promise<number> {
  const verdicts = await Promise.all(mutants.map((mutant) => lanes.run(() => tryMutant(trials, mutant))));
  process.stdout.write(`${renderTable(verdicts)}\n`);
  return verdicts.some(({ caught }) => caught === undefined) ? 1 : 0;
}

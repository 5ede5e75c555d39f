/** The command line: its options, and its errors. */
import { Command, InvalidArgumentError, Option } from 'commander';
import { DEFAULT_SIZE } from '../plan/draw.js';
import { PROTOCOLS } from '../protocols/index.js';

export interface SimOptions {
  readonly protocol: string;
  readonly seed?: number;
  readonly plan?: string;
  readonly kept?: string;
  readonly seeds?: number;
  readonly seedStart?: number;
  readonly minutes?: number;
  readonly transactions: number;
  readonly suspendAfter: number | undefined;
  readonly workers?: number;
  readonly shrink: boolean;
  readonly save: string;
  readonly keep?: string;
  readonly verbose: boolean;
  readonly json: boolean;
}

const MAX_SEED = 2 ** 53 - 1;

function whole(low: number, high: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (!/^\d+$/.test(text) || !Number.isSafeInteger(number) || number < low || number > high)
      throw new InvalidArgumentError(`It must be a whole number from ${low} to ${high}.`);
    return number;
  };
}

function minutes(text: string): number {
  const number = Number(text);
  if (!/^\d+(\.\d+)?$/.test(text) || !(number > 0 && number <= 100_000))
    throw new InvalidArgumentError('It must be a number of minutes above 0.');
  return number;
}

const EXAMPLES = `
Exit code: 0 everything passed, 1 a promise was broken (safety), 2 a wrong command line,
3 work did not end after everything was healed (liveness), 4 a machine threw an error (crash),
5 the simulator itself threw one.

Examples:
  npm run sim -- --seeds 1000                   a thousand fresh seeds
  npm run sim -- --minutes 10 --seed-start 1    as many as fit, from seed 1 on
  npm run sim -- --seed 8812 --verbose          every event of one seed
  npm run sim -- --plan data/sim/paris-8812.json --verbose
  npm run -s sim -- --seeds 100 --json | jq 'select(.ok | not)'`;

/** Parses the arguments; `run` gets the options. */
export function simCommand(run: (options: SimOptions) => Promise<void>): Command {
  return new Command('sim')
    .description(
      'Runs clusters on a virtual clock, network and disk, each drawn from one seed, under faults, and checks their promises. ' +
        'A seed that fails is made smaller, shown and saved.',
    )
    .addOption(
      new Option('--protocol <name>', 'the protocol to simulate').choices([...PROTOCOLS.keys()]).default('paris'),
    )
    .addOption(
      new Option('--seed <n>', 'run this seed only')
        .argParser(whole(0, MAX_SEED))
        .conflicts(['plan', 'seeds', 'seedStart', 'minutes']),
    )
    .addOption(
      new Option('--plan <file>', 'run this saved plan only').conflicts([
        'seeds',
        'seedStart',
        'minutes',
        'transactions',
      ]),
    )
    .addOption(
      new Option('--kept <file>', 'run the plans of a file of kept seeds, such as test/sim/seeds.json').conflicts([
        'seed',
        'plan',
        'seeds',
        'seedStart',
        'minutes',
        'transactions',
      ]),
    )
    .addOption(
      new Option('--seeds <n>', 'run this many seeds (default: 100)').argParser(whole(1, 1e9)).conflicts('minutes'),
    )
    .addOption(new Option('--minutes <n>', 'run seeds for this many minutes').argParser(minutes))
    .addOption(
      new Option('--seed-start <n>', 'first seed (default: from the clock)').argParser(whole(0, MAX_SEED - 1e9)),
    )
    .addOption(
      new Option('--transactions <n>', 'transactions of a seed, about')
        .argParser(whole(1, 100_000))
        .default(DEFAULT_SIZE.transactions),
    )
    .addOption(
      new Option(
        '--suspend-after <ms>',
        'PaRiS suspends nodes that do not answer for so long, 0: never (default: drawn, in half of the plans)',
      ).argParser(whole(0, 600_000)),
    )
    .addOption(new Option('--workers <n>', 'threads (default: one for each processor)').argParser(whole(1, 256)))
    .option('--no-shrink', 'show failures as they are')
    .option('--save <folder>', 'folder for plans that fail', 'data/sim')
    .option('--keep <file>', 'also add them to a file of kept seeds, such as test/sim/seeds.json')
    .option('--verbose', 'print every event of a single seed or plan', false)
    .option('--json', 'print one line of JSON for each seed', false)
    .addHelpText('after', EXAMPLES)
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(`${text.trim().replaceAll(/\s*\n\s*/g, ' ')}\n`) })
    .action((_flags: unknown, command: Command) => run(command.opts<SimOptions>()));
}

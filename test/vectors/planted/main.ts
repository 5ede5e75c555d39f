/**
 * `npm run vectors:planted`: shows which vectors detect each mistake in the Swift sessions and the Swift client.
 */
import Table from 'cli-table3';
import { Command, InvalidArgumentError } from 'commander';
import { PLANTED, type PlantedBug } from './bugs.js';
import { type Finding, judge } from './judge.js';

interface Options {
  readonly swift: string;
  readonly jobs: number;
  readonly only?: readonly PlantedBug[];
  readonly details: boolean;
}

function whole(text: string): number {
  if (/^[1-9]\d?$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}

function named(text: string): PlantedBug[] {
  return text.split(',').map((name) => {
    const found = PLANTED.find((bug) => bug.name === name.trim());
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`There is no "${name}"; ${PLANTED.map((bug) => bug.name).join(', ')}.`);
  });
}

const options = new Command('vectors:planted')
  .description(
    'Plants mistakes in a copy of the Swift sessions and of the Swift client, and shows which vectors notice them.',
  )
  .option('--swift <command>', 'how to call Swift, with spaces between its arguments', process.env.SWIFT ?? 'swift')
  .option('--jobs <n>', 'compilers that run at once', whole, 2)
  .option('--only <names>', 'only these, with commas between them', named)
  .option('--details', 'what differs, too', false)
  .addHelpText('after', '\nExit code: 0 every mistake was noticed, and no difference without a mistake; 1 otherwise.')
  .parse()
  .opts<Options>();

const bugs = options.only ?? PLANTED;
const findings = judge(bugs, options.swift.split(' '), options.jobs);
const intact = findings.filter(({ bug }) => bug === 'none');
const missed = bugs.filter(({ name }) => !findings.some(({ bug }) => bug === name));
process.stdout.write(`${tableOf(bugs, findings)}\n`);
if (options.details) process.stdout.write(`${findings.map(detailsOf).join('\n')}\n`);
for (const finding of intact) process.stdout.write(`Differs without any bug: ${detailsOf(finding)}\n`);
process.stdout.write(`${bugs.length - missed.length} of ${bugs.length} were noticed\n`);
process.exitCode = missed.length + intact.length > 0 ? 1 : 0;

function tableOf(planted: readonly PlantedBug[], found: readonly Finding[]): string {
  const head = ['bug', 'what it does', 'first noticed at', 'by', 'sequences or cases'];
  const chars = { mid: '', 'left-mid': '', 'mid-mid': '', 'right-mid': '' };
  const table = new Table({ head, style: { head: [], border: [], compact: true }, chars });
  for (const { name, does } of planted) {
    const own = found.filter(({ bug }) => bug === name);
    const [first] = own;
    table.push([name, does, first?.where ?? 'NOWHERE', first?.what ?? '', own.map(counted).join(', ')]);
  }
  return table.toString();
}

function counted({ file, count }: Finding): string {
  return `${file} ${count}`;
}

function detailsOf({ bug, where, what, expected, got }: Finding): string {
  return `${bug}: ${where}: ${what}\n  expected ${expected}\n  got      ${got}`;
}

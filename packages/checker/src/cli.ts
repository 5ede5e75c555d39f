import { open } from 'node:fs/promises';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { HistoryChecker } from './check.js';
import { formatVerdict } from './explanation/report.js';
import type { Verdict } from './explanation/violations.js';
import { HistoryError, quote, readHistory } from './input/history.js';
import { HistoryTooLargeError } from './order/clocks.js';
import { Progress } from './progress.js';
import {
  GUARANTEES,
  type Guarantee,
  type HistoryLevel,
  isGuarantee,
  LEVELS,
  type LevelName,
  type Unit,
} from './rules/guarantees.js';

/** Exit codes of the command. */
export const EXIT = {
  kept: 0,
  violated: 1,
  wrongUsage: 2,
  unreadableFile: 3,
  badLine: 4,
  tooLarge: 5,
  provesNothing: 6,
} as const;

/** The streams of the process, or a test's own. */
export interface CheckIo {
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
}

interface CheckFlags {
  readonly json?: boolean;
  readonly level: LevelName;
  readonly demand?: readonly Guarantee[];
  readonly maxViolations: number;
}

/** Input that cannot be checked: one line for the user, and the exit code. */
class UnusableInput extends Error {
  constructor(
    readonly code: number,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Runs the command with the arguments after its name; returns the exit code. */
export async function runCheck(args: readonly string[], io: CheckIo): Promise<number> {
  let code: number = EXIT.kept;
  const command = describe(io).action(async (file: string, flags: CheckFlags) => {
    code = await check(file, flags, io);
  });
  try {
    await command.parseAsync([...args], { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.kept : EXIT.wrongUsage;
    if (!(error instanceof UnusableInput)) throw error;
    io.stderr.write(`check: ${error.message}\n`);
    return error.code;
  }
  return code;
}

function describe(io: CheckIo): Command {
  return new Command('check')
    .description(
      'Decides from a recorded history alone what it keeps of the guarantees of a transactional causal store.',
    )
    .argument('<file>', 'history as JSON lines, or - for standard input')
    .addOption(
      new Option('--level <name>', 'what to demand').choices(Object.keys(LEVELS)).default('transactional-causal'),
    )
    .option('--demand <list>', 'guarantees to demand instead of those of the level, with commas', parseDemand)
    .option('--json', 'print the verdict as one JSON object')
    .option('--max-violations <n>', 'violations to explain; the rest are only counted', parseCount, 10)
    .addHelpText('after', HELP)
    .exitOverride()
    .configureOutput({ writeOut: (text) => io.stdout.write(text), writeErr: (text) => io.stderr.write(text) });
}

const UNITS: Readonly<Record<Unit, string>> = {
  transaction: 'a line is a transaction',
  'read-only-transaction': 'a line that writes nothing is a transaction, in others every operation is one',
  operation: 'every operation is a transaction',
};

const HELP = `
A history holds one line per transaction, the lines of a session in session order:

  {"session": "c1", "seq": 0, "tx": "id", "status": "committed",
   "ops": [{"f": "r", "k": "key", "v": null}, {"f": "w", "k": "key", "v": "value"}]}

  status  committed, aborted or unknown
  f       r for a read, w for a write, in the order of the calls
  v       the value; null is no version for a read, a delete for a write
  Values written to the same key must differ from one another.

It may hold what replicas end with, when everything has reached them:

  {"replica": "virginia/0", "final": [{"k": "key", "v": "value"}, {"k": "deleted", "v": null}]}

Guarantees, each judged by itself (packages/checker/README.md defines them):

${GUARANTEES.map((guarantee) => `  ${guarantee}\n`).join('')}
Levels:

${Object.entries(LEVELS)
  .map(([name, { unit, demands }]) => `  ${name}: ${describeDemands(demands)}; ${UNITS[unit]}\n`)
  .join('')}
Exit codes:

  ${EXIT.kept}  nothing that was demanded is violated
  ${EXIT.violated}  something that was demanded is violated
  ${EXIT.wrongUsage}  wrong usage
  ${EXIT.unreadableFile}  the file cannot be read
  ${EXIT.badLine}  a line is not a line of a history; its number and the reason are on stderr
  ${EXIT.tooLarge}  the history is too large for the memory that it may take
  ${EXIT.provesNothing}  the history proves nothing: it is empty, or lacks the final states that --demand needs

Examples:
  npm run check -- history.jsonl
  npm run check -- --level read-atomic history.jsonl
  npm run check -- --demand read-your-writes,monotonic-reads history.jsonl
  npm run -s check -- --json - < history.jsonl`;

function describeDemands(demands: readonly Guarantee[]): string {
  return demands.length === GUARANTEES.length ? 'all' : demands.join(', ');
}

function parseDemand(text: string): Guarantee[] {
  const labels = text.split(',');
  const wrong = labels.find((word) => !isGuarantee(word));
  if (wrong !== undefined) throw new InvalidArgumentError(`${quote(wrong)} is not a guarantee. See --help.`);
  return labels.filter(isGuarantee);
}

function parseCount(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1 to 999999.');
  return Number(text);
}

async function check(file: string, flags: CheckFlags, io: CheckIo): Promise<number> {
  const startMs = performance.now();
  const { unit, demands } = LEVELS[flags.level];
  const level: HistoryLevel = { unit, demands: flags.demand ?? demands };
  const verdict = await decide(file, flags, level, io);
  const elapsedMs = performance.now() - startMs;
  const text = flags.json
    ? `${JSON.stringify({ file, elapsedMs: Math.round(elapsedMs), level, ...verdict })}\n`
    : formatVerdict(file === '-' ? 'standard input' : file, verdict, elapsedMs, level.demands);
  io.stdout.write(text);
  return verdict.ok ? EXIT.kept : EXIT.violated;
}

async function decide(file: string, flags: CheckFlags, level: HistoryLevel, io: CheckIo): Promise<Verdict> {
  const progress = new Progress(io.stderr);
  const { maxViolations } = flags;
  const checker = new HistoryChecker({ level, maxViolations, onPhase: (phase) => progress.phase(phase) });
  try {
    const { chunks, bytes } = await openInput(file, io);
    for await (const record of readHistory(progress.watch(chunks, bytes))) {
      checker.add(record);
      progress.line();
    }
    const verdict = checker.verdict();
    refuseEmptyProof(file, verdict, flags.demand ?? []);
    return verdict;
  } catch (error) {
    throw asUnusable(error, file);
  }
}

/** An empty recording proves nothing; a pass would hide a failure of the recorder. */
function refuseEmptyProof(file: string, { stats, guarantees }: Verdict, demand: readonly Guarantee[]): void {
  if (stats.transactions === 0) throw new UnusableInput(EXIT.provesNothing, `${file} holds no transactions`);
  const unjudged = demand.find((guarantee) => guarantees[guarantee] === 'not-judged');
  if (unjudged === undefined) return;
  throw new UnusableInput(EXIT.provesNothing, `${file} holds no final states that show ${unjudged}`);
}

/** The message for the user, or the error itself when the input did not cause it. */
function asUnusable(error: unknown, file: string): unknown {
  const about = (code: number, text: string): UnusableInput => new UnusableInput(code, text, { cause: error });
  if (error instanceof HistoryError) return about(EXIT.badLine, `${file}: ${error.message}`);
  if (error instanceof HistoryTooLargeError) return about(EXIT.tooLarge, `${file}: ${error.message}`);
  if (isSystemError(error)) return about(EXIT.unreadableFile, `cannot read ${file}: ${error.message}`);
  return error;
}

/** The input, and its length if known. */
async function openInput(file: string, io: CheckIo): Promise<{ chunks: AsyncIterable<Uint8Array>; bytes?: number }> {
  if (file === '-') return { chunks: io.stdin };
  const handle = await open(file);
  const { size } = await handle.stat();
  return { chunks: handle.createReadStream({ highWaterMark: 1024 * 1024 }), bytes: size };
}

/** By shape, not by class: an error of the operating system may come from another realm. */
const isSystemError = (error: unknown): error is NodeJS.ErrnoException =>
  typeof error === 'object' && error !== null && 'code' in error && 'syscall' in error && 'message' in error;

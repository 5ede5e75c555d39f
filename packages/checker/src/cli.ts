import { open } from 'node:fs/promises';
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { HistoryChecker } from './check.js';
import { HistoryTooLargeError } from './clocks.js';
import { HistoryError, readHistory } from './history.js';
import { formatVerdict } from './report.js';
import type { Verdict } from './violations.js';

/** Exit codes of the command. */
export const EXIT = { consistent: 0, violation: 1, unreadable: 2 } as const;

/** The streams of the process, or a test's own. */
export interface CheckIo {
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
}

interface CheckFlags {
  readonly json?: boolean;
  readonly maxViolations: number;
}

/** Input that cannot be checked, in one line for the user. */
class UnusableInput extends Error {}

/** Runs the command with the arguments after its name; gives the exit code. */
export async function runCheck(args: readonly string[], io: CheckIo): Promise<number> {
  let code: number = EXIT.consistent;
  const command = describe(io).action(async (file: string, flags: CheckFlags) => {
    code = await check(file, flags, io);
  });
  try {
    await command.parseAsync([...args], { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.consistent : EXIT.unreadable;
    if (!(error instanceof UnusableInput)) throw error;
    io.stderr.write(`check: ${error.message}\n`);
    return EXIT.unreadable;
  }
  return code;
}

function describe(io: CheckIo): Command {
  return new Command('check')
    .description('Decides whether a recorded history is transactionally causally consistent.')
    .argument('<file>', 'history as JSON lines, or - for standard input')
    .option('--json', 'print the verdict as one JSON object')
    .option('--max-violations <n>', 'violations to explain; the rest are only counted', parseCount, 10)
    .addHelpText('after', HELP)
    .exitOverride()
    .configureOutput({ writeOut: (text) => io.stdout.write(text), writeErr: (text) => io.stderr.write(text) });
}

const HELP = `
A history holds one line per transaction, the lines of a session in session order:

  {"session": "c1", "seq": 0, "tx": "id", "status": "committed",
   "ops": [{"f": "r", "k": "key", "v": null}, {"f": "w", "k": "key", "v": "value"}]}

  status  committed, aborted or unknown
  f       r for a read, w for a write, in the order of the calls
  v       the value; null is no version for a read, a delete for a write
  Values written to the same key must differ from one another.

Exit code: 0 consistent, 1 violation found, 2 input that cannot be read.

Examples:
  npm run check -- history.jsonl
  npm run -s check -- --json - < history.jsonl`;

function parseCount(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1 to 999999.');
  return Number(text);
}

async function check(file: string, flags: CheckFlags, io: CheckIo): Promise<number> {
  const startMs = performance.now();
  const verdict = await decide(file, flags, io);
  const elapsedMs = performance.now() - startMs;
  const text = flags.json
    ? `${JSON.stringify({ file, elapsedMs: Math.round(elapsedMs), ...verdict })}\n`
    : formatVerdict(file === '-' ? 'standard input' : file, verdict, elapsedMs);
  io.stdout.write(text);
  return verdict.ok ? EXIT.consistent : EXIT.violation;
}

async function decide(file: string, flags: CheckFlags, io: CheckIo): Promise<Verdict> {
  const checker = new HistoryChecker({ maxViolations: flags.maxViolations });
  try {
    for await (const transaction of readHistory(await openInput(file, io))) checker.add(transaction);
    const verdict = checker.verdict();
    // An empty recording proves nothing, and passing it would hide that nothing was recorded.
    if (verdict.stats.transactions === 0) throw new UnusableInput(`${file} holds no transactions`);
    return verdict;
  } catch (error) {
    if (error instanceof HistoryError || error instanceof HistoryTooLargeError) {
      throw new UnusableInput(`${file}: ${error.message}`, { cause: error });
    }
    if (isSystemError(error)) throw new UnusableInput(`cannot read ${file}: ${error.message}`, { cause: error });
    throw error;
  }
}

async function openInput(file: string, io: CheckIo): Promise<AsyncIterable<Uint8Array>> {
  if (file === '-') return io.stdin;
  return (await open(file)).createReadStream({ highWaterMark: 1024 * 1024 });
}

/** By shape, not by class: an error of the operating system may come from another realm. */
const isSystemError = (error: unknown): error is NodeJS.ErrnoException =>
  typeof error === 'object' && error !== null && 'code' in error && 'syscall' in error && 'message' in error;

// The checks of the Swift package: toolchain, format, build, session vectors, tests.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { runQuietly } from './child.mjs';
import { withProgress } from './progress.mjs';
import { root, step } from './steps.mjs';

const PACKAGE = join(root, 'sdk-swift');
const ENSURE = join(root, 'infra/swift/ensure-swift.sh');
const WITH_SERVER = join(root, 'infra/swift/with-servers.mjs');
/** The input of the vector tests: made anew from the TypeScript sessions every time. */
const VECTORS = join(PACKAGE, '.vectors');

/** Longest time of a step, ms: a test that hangs must end, with the output so far. */
const LIMIT_MS = 1_500_000;

const options = {
  cwd: PACKAGE,
  limitMs: LIMIT_MS,
  env: { ...process.env, SWIFT_BIND: root, ISOCHRON_VECTORS: VECTORS },
};

/**
 * Fetches the toolchain if it is missing.
 * @returns {Promise<string>} why it is missing; empty when it is there
 */
export async function swiftProblem() {
  const { code, output } = await runQuietly('sh', [ENSURE, '--setup'], options);
  return code === 0 ? '' : (output.trim().split('\n').at(-1) ?? `exit code ${code}`);
}

/**
 * Checks the format, builds, and runs the tests.
 * @param {string[]} args for `swift test`, such as `--filter Backoff` or `--sanitize=thread`
 * @returns {Promise<{ passed: number, failed: number, skipped: number }>}
 */
export async function runSwiftTests(args) {
  rmSync(VECTORS, { recursive: true, force: true });
  await step('Session vectors', process.execPath, [join(root, 'test/dist/vectors/main.js'), '--out', VECTORS]);
  const format = await swift('Format of the Swift sources', [
    ...['format', 'lint', '--strict', '--recursive'],
    ...['Package.swift', 'Sources', 'Tests'],
  ]);
  const [tests, missed] = await Promise.all([
    swift('Swift tests', ['test', ...args], [WITH_SERVER]),
    // With arguments only some of the tests run.
    args.length === 0 ? plantedMistakes() : 0,
  ]);
  const counts = countsOf(tests);
  if (tests.code === 0 && counts.passed === 0) process.stderr.write('No Swift test ran: none has such a name.\n');
  return { ...counts, failed: counts.failed + (format.code === 0 ? 0 : 1) + missed };
}

/** The session vectors have to notice mistakes that are planted in copies of the Swift sessions. */
async function plantedMistakes() {
  const label = 'Planted mistakes';
  const script = [join(root, 'test/dist/vectors/planted/main.js'), '--swift', ENSURE];
  const { code, output } = await withProgress(label, () => runQuietly(process.execPath, script, options));
  process.stderr.write(`${output}\n`);
  return code === 0 ? 0 : 1;
}

/**
 * Runs a command and shows its output when it fails. @param {string[]} around a script that runs the command that
 * follows
 */
async function swift(label, args, around = []) {
  const [command, ...rest] = around.length > 0 ? [process.execPath, ...around, 'sh'] : ['sh'];
  const result = await withProgress(label, () => runQuietly(command, [...rest, ENSURE, ...args], options));
  if (result.code !== 0) process.stderr.write(`${result.output}\n${label}: exit code ${result.code}\n`);
  return result;
}

/** Both test libraries print the number of their tests at the end. */
export function countsOf({ code, output }) {
  const [, executed = 0, skipped = 0, failures = 0] =
    [...output.matchAll(/Executed (\d+) tests?, with (?:(\d+) tests? skipped and )?(\d+) failures?/g)].at(-1) ?? [];
  const [, run = 0, issues = 0] =
    [...output.matchAll(/Test run with (\d+) tests?.* (?:passed|failed) after [^\n]*?(?:with (\d+) issues?)?\.\n/g)].at(
      -1,
    ) ?? [];
  const failed = Number(failures) + Number(issues);
  const passed = Math.max(0, Number(executed) + Number(run) - Number(skipped) - failed);
  // The run was cut short, or had no tests.
  const broken = failed === 0 && (code !== 0 || passed === 0);
  return { passed, skipped: Number(skipped), failed: broken ? 1 : failed };
}

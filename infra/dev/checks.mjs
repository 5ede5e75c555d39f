// The single checks of the tiers. Each returns counts; none throws because of its findings.

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInForeground } from './child.mjs';
import { root, step, tool } from './steps.mjs';

const JEST_END_TIMEOUT_MS = 30_000;
/** Longest time of a compiled file that runs in the terminal, ms. */
const SHOWN_LIMIT_MS = 3_600_000;

/** Runs a script that is silent on success. A failure counts as one failed test. */
export async function runTool(label, script, args) {
  try {
    await step(label, process.execPath, [script, ...args]);
    return { passed: 0, failed: 0, skipped: 0 };
  } catch (error) {
    if (error.output === undefined) throw error;
    process.stderr.write(`${error.output}${error.message}\n`);
    return { passed: 0, failed: 1, skipped: 0 };
  }
}

/** Runs a compiled file of the repository in the terminal. A failure counts as one failed test. */
export async function runShown(file, args, limitMs = SHOWN_LIMIT_MS) {
  const code = await runInForeground(process.execPath, [file, ...args], { cwd: root }, (child) => {
    const timer = setTimeout(() => {
      console.error(`${file} still runs after ${limitMs / 1000} s: ended.`);
      child.kill('SIGKILL');
    }, limitMs);
    child.on('exit', () => clearTimeout(timer));
  });
  return { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, skipped: 0 };
}

/**
 * Runs Jest in the terminal.
 * @param {string[]} args
 * @returns {Promise<{ passed: number, failed: number, skipped: number, files?: { file: string, ms: number }[] }>}
 */
export async function runJest(args) {
  const folder = mkdtempSync(join(tmpdir(), 'isochron-test-'));
  const summaryFile = join(folder, 'summary.json');
  try {
    const code = await spawnJest(args, summaryFile);
    if (code >= 128 && !existsSync(summaryFile))
      throw Object.assign(new Error(`Jest was stopped (exit code ${code}).`), { exitCode: code });
    return countsOf(code, summaryFile);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function spawnJest(args, summaryFile) {
  const reporters = ['--reporters=default', `--reporters=${join(root, 'infra/dev/jest-summary.mjs')}`];
  const command = [tool('jest/bin/jest.js'), '-c', 'test/jest.config.mjs', ...reporters, ...args];
  const env = { ...process.env, ISOCHRON_TEST_SUMMARY: summaryFile };
  const watching = args.some((arg) => arg.startsWith('--watch'));
  const onStart = (child) => watching || endHanging(child, summaryFile);
  return runInForeground(process.execPath, command, { cwd: root, env }, onStart);
}

/** Jest waits for ever when a test left a socket or a process open: that is a failure, not a reason to hang. */
function endHanging(child, summaryFile) {
  let finishedAtMs;
  const timer = setInterval(() => {
    if (finishedAtMs === undefined && existsSync(summaryFile)) finishedAtMs = performance.now();
    if (finishedAtMs === undefined || performance.now() - finishedAtMs < JEST_END_TIMEOUT_MS) return;
    clearInterval(timer);
    console.error('All tests have run, but Jest does not end: a test left a socket, a timer or a process open.');
    child.kill('SIGKILL');
  }, 500);
  child.on('exit', () => clearInterval(timer));
}

function countsOf(code, summaryFile) {
  const counts = existsSync(summaryFile)
    ? JSON.parse(readFileSync(summaryFile, 'utf8'))
    : { passed: 0, failed: 0, skipped: 0 };
  // No summary (nothing matched, bad option), or a failure that belongs to no test: a coverage limit, a run without
  // end.
  if (code >= 128 || (code !== 0 && counts.failed === 0)) counts.failed += 1;
  return counts;
}

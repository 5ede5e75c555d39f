// Installing and building: each is skipped when up to date, and done by one process at a time.

import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runQuietly } from './child.mjs';
import { buildState, hasOutput, installState, isBuilt, isInstalled, writeStamp } from './freshness.mjs';
import { withLock } from './lock.mjs';
import { withProgress } from './progress.mjs';

/** The repository's root. */
export const root = join(dirname(fileURLToPath(import.meta.url)), '../..');

// Not in node_modules, which `npm ci` empties.
const lockFile = join(root, 'infra/dev/.lock');

/** Installs the dependencies and builds all packages, as far as needed. Prints nothing when all is up to date. */
export async function prepare() {
  if (isInstalled(root) && isBuilt(root)) return;
  await alone(installAndBuild);
}

/** Installs the dependencies, if needed. */
export async function installOnce() {
  if (!isInstalled(root)) await alone(installAsNeeded);
}

const alone = (work) =>
  withLock(lockFile, work, (holder) =>
    console.error(`Waiting for process ${holder}, which is installing or building ...`),
  );

async function installAndBuild() {
  await installAsNeeded();
  if (!isBuilt(root)) await build();
}

async function installAsNeeded() {
  if (!isInstalled(root)) await install();
  writeStamp(root, 'install', installState(root));
}

async function install() {
  const { command, args } = npm();
  // Development tools make the build: they are installed even if NODE_ENV=production or `omit=dev` leaves them out by
  // default.
  const options = ['ci', '--include=dev', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];
  await step(
    'Installing dependencies',
    command,
    [...args, ...options],
    'check the network and the disk, and try again',
  );
}

/** The npm that runs this script, or else the one on the path. */
function npm() {
  const cli = process.env.npm_execpath;
  if (cli && basename(cli) === 'npm-cli.js' && existsSync(cli)) return { command: process.execPath, args: [cli] };
  return { command: 'npm', args: [] };
}

async function build() {
  // Computed before the compiler reads: a file that changes meanwhile makes the next run build again.
  const state = buildState(root);
  // The compiler checks only its own records, and would not notice that the output was deleted.
  const force = hasOutput(root) ? [] : ['--force'];
  await step('Building', process.execPath, [tool('typescript/bin/tsc'), '-b', 'infra/build/tsconfig.json', ...force]);
  await step('Bundling the command line', process.execPath, [join(root, 'test/e2e/bundle.mjs')]);
  writeStamp(root, 'build', state);
}

/** The script of an installed development tool. */
export const tool = (path) => join(root, 'node_modules', path);

/**
 * Runs a command in the repository's root with a progress line; shows its output only when it fails.
 * @param {string} label such as `Building`
 * @param {string} command
 * @param {string[]} args
 * @param {string} [advice] the remedy when it fails; by default, a reference to the output
 * @throws an error that carries the `output`
 */
export async function step(label, command, args, advice = 'see above') {
  await withProgress(label, async () => {
    const { code, output } = await runQuietly(command, args, { cwd: root });
    if (code === 0) return;
    throw Object.assign(new Error(`${label} failed (exit code ${code}): ${advice}.`), { output });
  });
}

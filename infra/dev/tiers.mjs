// The tiers of the tests: their checks, and the table of where their time went.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { runJest, runShown, runTool } from './checks.mjs';
import { withProgress } from './progress.mjs';
import { root, tool } from './steps.mjs';
import { runSwiftTests, swiftProblem } from './swift-checks.mjs';

/** Tests with real processes on real ports that are as right on a busy machine: they wait more than they compute. */
const SHARING = ['/test/e2e/'];
/** Tests that limit how long real processes take, or keep all processors busy on purpose. */
const ALONE = ['/test/e2e/frozen-node', '/test/e2e/hostile/', '/test/chaos/chaos', '/test/bench/bench'];
/** Unit tests of minutes, which the quick tier leaves out. */
const LONG = ['/test/sim/faults', '/packages/storage/src/level-store', '/test/bench/'];

/** How many files the table names. */
const SLOWEST = 12;

const except = (...paths) => ['/node_modules/', ...paths].map((path) => `--testPathIgnorePatterns=${path}`);
const only = (paths) => `--testPathPatterns=${paths.join('|')}`;

const silent = (label, script, ...args) => [label, () => runTool(label, tool(script), args)];
const lint = silent('Lint', '@biomejs/biome/bin/biome', 'check', '--config-path=.biome.jsonc', '.');
const types = silent('Types of the tests', 'typescript/bin/tsc', '--noEmit', '-p', 'infra/build/tsconfig.tests.json');
const units = (...left) => ['Unit tests', () => runJest(['--maxWorkers=2', ...except(...SHARING, ...ALONE, ...left)])];
const endToEnd = ['End-to-end tests', () => runJest(['--maxWorkers=2', only(SHARING), ...except(...ALONE)])];
const alone = ['Tests that run alone', () => runJest(['--runInBand', only(ALONE)])];
const shown = (label, file, ...args) => [label, () => runShown(file, args)];

const SWIFT = 'Swift tests';

/** The checks of each tier, in order: a label, and what runs. */
export const TIERS = {
  quick: [lint, types, units(...LONG)],
  default: [lint, types, units(), SWIFT, endToEnd, alone],
  all: [
    ...[lint, types, units(), SWIFT, endToEnd, alone],
    shown('Search of mutants', 'test/dist/mutants/main.js', '--search', '--seeds', '10'),
    shown('Chaos', 'test/dist/chaos/main.js', '--minutes', '3', '--wipe', '--rules', '--tls'),
  ],
};

/**
 * Runs a tier, and prints where its time went.
 * @param {string} tier a name in {@link TIERS}
 * @returns {Promise<{ passed: number, failed: number, skipped: number, table: string }>}
 */
export async function runTier(tier) {
  // The tests read it: see test/tier.ts.
  process.env.ISOCHRON_TEST_TIER = tier;
  // Built by now: the module reads the tier, too.
  const { isDue, SWIFT_INPUTS } = await import(pathToFileURL(join(root, 'test/dist/e2e/package-checks.js')).href);
  const swift = TIERS[tier].includes(SWIFT) ? swiftStep(isDue(SWIFT_INPUTS)) : undefined;
  const steps = TIERS[tier].map((step) => (step === SWIFT ? swift : step));
  const total = { passed: 0, failed: 0, skipped: 0 };
  const rows = [];
  for (const [label, run] of steps) {
    const [startMs, startCpu] = [performance.now(), cpuOfChildren()];
    const counts = await run();
    for (const key of Object.keys(total)) total[key] += counts[key];
    rows.push({ label, counts, ms: performance.now() - startMs, cpuMs: cpuOfChildren() - startCpu });
  }
  return { ...total, table: tableOf(rows) };
}

/** The toolchain comes from the network: meanwhile the checks before it run. */
function swiftStep(due) {
  if (!due) return [SWIFT, swiftUnchanged];
  const preparing = swiftProblem();
  // The check that awaits it reports its failure.
  preparing.catch(() => undefined);
  return [SWIFT, () => withProgress('Preparing Swift', () => preparing).then(swiftCheck)];
}

async function swiftUnchanged() {
  console.log('The Swift tests did not run: their inputs have not changed since docs/tested.json.');
  return { passed: 0, failed: 0, skipped: 1 };
}

/** The Swift tests. A problem that prevents them fails in continuous integration. */
async function swiftCheck(problem) {
  if (problem === '') return runSwiftTests([]);
  console.log(`The Swift tests did not run: ${problem}`);
  return { passed: 0, failed: process.env.CI ? 1 : 0, skipped: 0 };
}

/** CPU time of the child processes that have ended, ms; NaN where the system does not say it. */
function cpuOfChildren() {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1].split(' ');
    const [user, system] = [Number(fields[13]), Number(fields[14])];
    return (user + system) * 10;
  } catch {
    return Number.NaN;
  }
}

function tableOf(rows) {
  const files = rows.flatMap(({ counts }) => counts.files ?? []).sort((a, b) => b.ms - a.ms);
  const sum = (key) => rows.reduce((total, row) => total + row[key], 0);
  return [
    lineOf('', 'passed', 'failed', 'time', 'CPU'),
    ...rows.map(({ label, counts, ms, cpuMs }) =>
      lineOf(label, counts.passed, counts.failed, seconds(ms), seconds(cpuMs)),
    ),
    lineOf('all', '', '', seconds(sum('ms')), seconds(sum('cpuMs'))),
    '',
    'The files that took longest:',
    ...files.slice(0, SLOWEST).map(({ file, ms }) => `${seconds(ms).padStart(9)}  ${file}`),
  ].join('\n');
}

const seconds = (ms) => (Number.isNaN(ms) ? '-' : `${(ms / 1000).toFixed(0)} s`);

const lineOf = (label, ...cells) => label.padEnd(22) + cells.map((cell) => String(cell).padStart(9)).join('');

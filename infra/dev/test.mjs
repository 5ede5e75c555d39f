// `npm test`: installs and builds as far as needed, then lint, types of the tests, unit tests, Swift tests, end-to-end
// tests. Arguments go to Jest, and then only Jest runs: `npm test -- packages/core -t tick`.

import { runMain } from './node-version.mjs';

runMain(async () => {
  const { prepare } = await import('./steps.mjs');
  const { runJest, runTool } = await import('./checks.mjs');
  const { runSwiftTests, swiftProblem } = await import('./swift-checks.mjs');
  const { withProgress } = await import('./progress.mjs');
  await prepare();
  const args = process.argv.slice(2);
  // The toolchain comes from the network: meanwhile other tests run.
  const preparing = args.length > 0 ? undefined : swiftProblem();
  // The check that awaits it reports its failure.
  preparing?.catch(() => undefined);
  let swift = '';
  const runSwift = async () => {
    const problem = await withProgress('Preparing Swift', () => preparing);
    const { summary, ...counts } = await swiftCheck(problem, runSwiftTests);
    swift = summary;
    return counts;
  };
  const checks = args.length > 0 ? [() => runJest(chosen(args))] : allChecks(runTool, runJest, runSwift);
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const check of checks) {
    const counts = await check();
    for (const key of Object.keys(total)) total[key] += counts[key];
  }
  if (swift !== '') console.log(swift);
  if (total.skipped > 0) console.log(`${total.skipped} skipped`);
  console.log(`${total.passed} passed, ${total.failed} failed`);
  return total.failed === 0 ? 0 : 1;
});

/** The Swift tests. A problem that prevents them fails in continuous integration. `summary`: whether they ran. */
async function swiftCheck(problem, runSwiftTests) {
  if (problem !== '') {
    const counts = { passed: 0, failed: process.env.CI ? 1 : 0, skipped: 0 };
    return { ...counts, summary: `The Swift tests did not run: ${problem}` };
  }
  const counts = await runSwiftTests([]);
  return { ...counts, summary: `The Swift tests ran: ${counts.passed} passed, ${counts.failed} failed` };
}

/** Tests with real processes on real ports that are as right on a busy machine: they wait more than they compute. */
const SHARING = ['/test/e2e/'];
/** Tests that limit how long real processes take, or keep all processors busy on purpose. */
const ALONE = ['/test/e2e/frozen-node', '/test/e2e/hostile/', '/test/chaos/chaos', '/test/bench/bench'];

const except = (...paths) => ['/node_modules/', ...paths].map((path) => `--testPathIgnorePatterns=${path}`);
const only = (paths) => `--testPathPatterns=${paths.join('|')}`;

function allChecks(runTool, runJest, runSwift) {
  return [
    () => runTool('Lint', '@biomejs/biome/bin/biome', ['check', '--config-path=.biome.jsonc', '.']),
    () => runTool('Types of the tests', 'typescript/bin/tsc', ['--noEmit', '-p', 'infra/build/tsconfig.tests.json']),
    () => runJest(['--maxWorkers=2', ...except(...SHARING, ...ALONE)]),
    runSwift,
    () => runJest(['--maxWorkers=2', only(SHARING), ...except(...ALONE)]),
    () => runJest(['--runInBand', only(ALONE)]),
  ];
}

function chosen(args) {
  const workers = args.some((arg) => /e2e|chaos/.test(arg)) ? '--runInBand' : '--maxWorkers=2';
  const decided = args.some((arg) => /^(-i|-w|--runInBand|--maxWorkers)/.test(arg));
  return decided ? args : [workers, ...args];
}

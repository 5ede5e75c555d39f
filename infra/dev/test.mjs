// `npm test`: installs and builds as far as needed, then lint, types of the tests, unit tests, end-to-end tests.
// Arguments go to Jest, and then only Jest runs: `npm test -- packages/core -t tick`.

import { runMain } from './node-version.mjs';

runMain(async () => {
  const { prepare } = await import('./steps.mjs');
  const { runJest, runTool } = await import('./checks.mjs');
  await prepare();
  const args = process.argv.slice(2);
  const checks = args.length > 0 ? [() => runJest(chosen(args))] : allChecks(runTool, runJest);
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const check of checks) {
    const counts = await check();
    for (const key of Object.keys(total)) total[key] += counts[key];
  }
  if (total.skipped > 0) console.log(`${total.skipped} skipped`);
  console.log(`${total.passed} passed, ${total.failed} failed`);
  return total.failed === 0 ? 0 : 1;
});

/** Tests with real processes on real ports. */
const REAL = ['/test/e2e/', '/test/chaos/chaos'];

function allChecks(runTool, runJest) {
  return [
    () => runTool('Lint', '@biomejs/biome/bin/biome', ['check', '--config-path=.biome.jsonc', '.']),
    () => runTool('Types of the tests', 'typescript/bin/tsc', ['--noEmit', '-p', 'infra/build/tsconfig.tests.json']),
    () => runJest(['--maxWorkers=2', ...['/node_modules/', ...REAL].map((path) => `--testPathIgnorePatterns=${path}`)]),
    // One file after the other.
    () => runJest(['--runInBand', `--testPathPatterns=${REAL.join('|')}`]),
  ];
}

function chosen(args) {
  const workers = args.some((arg) => /e2e|chaos/.test(arg)) ? '--runInBand' : '--maxWorkers=2';
  const decided = args.some((arg) => /^(-i|-w|--runInBand|--maxWorkers)/.test(arg));
  return decided ? args : [workers, ...args];
}

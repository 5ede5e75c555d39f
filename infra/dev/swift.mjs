// `npm run test:swift`: the tests of the Swift package, with a toolchain that is fetched if it is missing.

import { runMain } from './node-version.mjs';

const COMMAND = {
  usage: 'npm run test:swift -- [options]',
  about: 'Runs the tests of the Swift package; fetches the toolchain if it is missing.',
  options: {
    filter: { value: '<regex>', about: 'only tests with such a name: swift test --filter' },
    skip: { value: '<regex>', about: 'no tests with such a name: swift test --skip' },
    sanitize: { value: '<kind>', about: 'thread or address: swift test --sanitize' },
  },
  exitCodes: '0 all tests passed, 1 a test failed or no test can run',
};

runMain(async () => {
  const { commandLine } = await import('./command-line.mjs');
  const args = commandLine(COMMAND);
  if (args === undefined) return 0;
  const { prepare } = await import('./steps.mjs');
  const { runSwiftTests, swiftProblem } = await import('./swift-checks.mjs');
  await prepare();
  const { withProgress } = await import('./progress.mjs');
  const problem = await withProgress('Preparing Swift', swiftProblem);
  if (problem !== '') throw new Error(`The Swift tests cannot run: ${problem}`);
  const options = Object.entries(args.values).map(([name, value]) => `--${name}=${value}`);
  const { passed, failed, skipped } = await runSwiftTests(options);
  if (skipped > 0) console.log(`${skipped} skipped`);
  console.log(`${passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
});

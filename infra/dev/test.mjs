// `npm test`: installs and builds as far as needed, then runs a tier of the tests. Other arguments go to Jest, and then
// only Jest runs: `npm test -- packages/core -t tick`.

import { runMain } from './node-version.mjs';

const COMMAND = {
  usage: 'npm test [-- <arguments of Jest>]',
  about: 'Installs and builds what is not up to date, then runs a tier of the tests. With arguments, only Jest runs.',
  options: {
    tier: {
      value: '<name>',
      about: 'quick: npm run test:quick, minutes; all: npm run test:all, before a release; default: what CI runs',
    },
  },
  exitCodes: '0 all tests passed, 1 a test failed or no test can run',
};

runMain(async () => {
  const args = process.argv.slice(2);
  const isForJest = args.length > 0 && args[0] !== '--tier' && !args.includes('--help') && !args.includes('-h');
  const { commandLine, usageError } = await import('./command-line.mjs');
  const parsed = commandLine(COMMAND, isForJest ? [] : args);
  if (parsed === undefined) return 0;
  const { tier = 'default' } = parsed.values;
  const { runTier, TIERS } = await import('./tiers.mjs');
  if (!Object.hasOwn(TIERS, tier)) throw usageError(`no tier '${tier}'`, COMMAND.usage);
  const { prepare } = await import('./steps.mjs');
  await prepare();
  const { runJest } = await import('./checks.mjs');
  const { keepResult } = await import('./tested.mjs');
  const result = await (isForJest ? runJest(chosen(args)) : runTier(tier));
  const { passed, failed, skipped, table } = result;
  if (table !== undefined) console.log(`\n${table}\n`);
  if (!isForJest && tier === 'all') await keepResult(result);
  if (skipped > 0) console.log(`${skipped} skipped`);
  console.log(`${passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
});

function chosen(args) {
  const workers = args.some((arg) => /e2e|chaos/.test(arg)) ? '--runInBand' : '--maxWorkers=2';
  const decided = args.some((arg) => /^(-i|-w|--runInBand|--maxWorkers)/.test(arg));
  return decided ? args : [workers, ...args];
}

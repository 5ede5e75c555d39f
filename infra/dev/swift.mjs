// `npm run test:swift`: the tests of the Swift package, with a toolchain that is fetched if it is missing. Arguments go
// to `swift test`: `npm run test:swift -- --filter Backoff`.

import { runMain } from './node-version.mjs';

runMain(async () => {
  const { prepare } = await import('./steps.mjs');
  const { runSwiftTests, swiftProblem } = await import('./swift-checks.mjs');
  await prepare();
  const { withProgress } = await import('./progress.mjs');
  const problem = await withProgress('Preparing Swift', swiftProblem);
  if (problem !== '') throw new Error(`The Swift tests cannot run: ${problem}`);
  const { passed, failed, skipped } = await runSwiftTests(process.argv.slice(2));
  if (skipped > 0) console.log(`${skipped} skipped`);
  console.log(`${passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
});

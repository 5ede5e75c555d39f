// `npm run pack:sdk`: installs and builds as far as needed, then makes the npm package of the TypeScript SDK.

import { runMain } from './node-version.mjs';

const COMMAND = {
  usage: 'npm run pack:sdk -- [FOLDER]',
  about: 'Makes the npm package of the TypeScript SDK in a folder (default: this one); prints the path of the tarball.',
  positionals: 1,
  exitCodes: '0 the package is made, 1 a step failed',
};

runMain(async () => {
  const { commandLine } = await import('./command-line.mjs');
  const args = commandLine(COMMAND);
  if (args === undefined) return 0;
  const { prepare, root } = await import('./steps.mjs');
  const { runInForeground } = await import('./child.mjs');
  await prepare();
  return runInForeground(process.execPath, ['sdk-js/packaging/pack.mjs', ...args.positionals], { cwd: root });
});

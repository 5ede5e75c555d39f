// `npm run build`: installs and builds as far as needed.

import { runMain } from './node-version.mjs';

const COMMAND = {
  usage: 'npm run build',
  about: 'Installs the dependencies and builds all packages, as far as needed.',
  exitCodes: '0 all packages are built, 1 a step failed',
};

runMain(async () => {
  const { commandLine } = await import('./command-line.mjs');
  if (commandLine(COMMAND) === undefined) return 0;
  const { prepare } = await import('./steps.mjs');
  await prepare();
  return 0;
});

// `node infra/dev/run.mjs FILE ARGS`: installs and builds as far as needed, then runs a compiled file of the
// repository. Prints nothing on stdout itself.

import { runMain } from './node-version.mjs';

runMain(async () => {
  const [file, ...args] = process.argv.slice(2);
  if (file === undefined) throw new Error('Name the compiled file to run: node infra/dev/run.mjs FILE [ARGS]');
  const { prepare, root } = await import('./steps.mjs');
  const { runInForeground } = await import('./child.mjs');
  await prepare();
  return runInForeground(process.execPath, [file, ...args], { cwd: root });
});

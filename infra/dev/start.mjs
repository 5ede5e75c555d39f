// `npm start`: installs and builds as far as needed, then runs a development cluster. Arguments go to `isochron dev`.

import { runMain } from './node-version.mjs';

runMain(async () => {
  const { prepare, root } = await import('./steps.mjs');
  const { runInForeground } = await import('./child.mjs');
  await prepare();
  const args = ['server/dist/cli/main.js', 'dev', ...process.argv.slice(2)];
  return runInForeground(process.execPath, args, { cwd: root });
});

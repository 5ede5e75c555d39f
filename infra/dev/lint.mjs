// `npm run lint` and `npm run format`: installs as far as needed, then checks form and lint rules of all files.

import { runMain } from './node-version.mjs';

const COMMAND = {
  usage: 'npm run lint, npm run format',
  about: 'Checks the format and the lint rules of all files.',
  options: { write: { about: 'repair what can be repaired; npm run format has this option' } },
  exitCodes: '0 no finding is left, 1 findings',
};

runMain(async () => {
  const { commandLine } = await import('./command-line.mjs');
  const args = commandLine(COMMAND);
  if (args === undefined) return 0;
  const { installOnce, root, tool } = await import('./steps.mjs');
  const { runInForeground } = await import('./child.mjs');
  await installOnce();
  const write = args.values.write ? ['--write'] : [];
  const command = [tool('@biomejs/biome/bin/biome'), 'check', ...write, '--config-path=.biome.jsonc', '.'];
  return runInForeground(process.execPath, command, { cwd: root });
});

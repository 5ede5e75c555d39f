/** Checks of packages that run in the tier `all`, and in other tiers when their inputs have changed since. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TIER } from '../tier.js';
import { ROOT } from './processes.js';

/** The result of the last run of the tier `all`, which `npm run test:all` writes. */
const LAST_RUN = 'docs/tested.json';

/**
 * `it` where a check of these inputs is due, and `it.skip` where it is not.
 * @param inputs files and folders, from the root of the repository
 */
export const whenChanged = (...inputs: readonly string[]): jest.It =>
  TIER === 'all' || haveChanged(ROOT, inputs) ? it : (it.skip as jest.It);

/** Whether these files differ from those that last passed the tier `all`; true where git does not know. */
export function haveChanged(root: string, inputs: readonly string[]): boolean {
  const file = join(root, LAST_RUN);
  if (!existsSync(file)) return true;
  const { commit, failed } = JSON.parse(readFileSync(file, 'utf8')) as { commit: string; failed: number };
  if (failed > 0 || !/^[0-9a-f]{40}$/.test(commit)) return true;
  const git = (...args: string[]) => spawnSync('git', ['-C', root, ...args, '--', ...inputs], { encoding: 'utf8' });
  const added = git('ls-files', '--others', '--exclude-standard');
  return git('diff', '--quiet', commit).status !== 0 || added.status !== 0 || added.stdout !== '';
}

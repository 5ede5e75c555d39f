/** The commit under test: the tests that it picks, and the files that have changed since others. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './e2e/processes.js';

/** The result of the last run of the tier `all`, which `npm run test:all` writes. */
const LAST_RUN = 'docs/tested.json';

/** The output of git; undefined where git fails. */
function git(root: string, ...args: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync('git', ['-C', root, ...args], { encoding: 'utf8' });
  return status === 0 ? stdout : undefined;
}

/** A number that depends on the commit alone; 0 outside a git repository. */
export const commitNumber = (root = ROOT): number =>
  Number.parseInt((git(root, 'rev-parse', 'HEAD') ?? '0').slice(0, 8), 16);

/** One of several parts of a list. The number picks the part: each item is in the part of some number. */
export const partOf = <T>(items: readonly T[], parts: number, number: number): T[] =>
  items.filter((_, i) => i % parts === number % parts);

/** The commit that last passed the tier `all`; undefined until one has passed. */
function testedCommit(root: string): string | undefined {
  const file = join(root, LAST_RUN);
  if (!existsSync(file)) return undefined;
  const { commit, failed } = JSON.parse(readFileSync(file, 'utf8')) as { commit: string; failed: number };
  return failed === 0 && /^[0-9a-f]{40}$/.test(commit) ? commit : undefined;
}

/** The files that differ from those of a commit, or are new; undefined where git does not know. */
export function filesChangedSince(commit: string, root = ROOT): ReadonlySet<string> | undefined {
  const changed = git(root, 'diff', '--name-only', commit);
  const added = git(root, 'ls-files', '--others', '--exclude-standard');
  return changed === undefined || added === undefined ? undefined : new Set(`${changed}${added}`.split('\n'));
}

/** The files that differ from those that last passed the tier `all`; undefined where that is not known. */
export function filesChanged(root = ROOT): ReadonlySet<string> | undefined {
  const commit = testedCommit(root);
  return commit === undefined ? undefined : filesChangedSince(commit, root);
}

import { execFileSync } from 'node:child_process';

/** The commit of the source tree, marked when files differ from it; `unknown` outside of a checkout. */
export function commitOfTree(): string {
  try {
    const git = (...args: string[]) =>
      execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
    const changed = git('status', '--porcelain', '--untracked-files=no') !== '';
    return `${git('rev-parse', '--short=12', 'HEAD')}${changed ? ' with changes' : ''}`;
  } catch {
    return 'unknown';
  }
}

/** The mutants that the quick tier tries: those whose patched files changed. */
import { execFileSync } from 'node:child_process';
import { ROOT } from '../e2e/processes.js';
import type { Change } from './test-build.js';

/** The files that differ from the commit before the present one. Empty where there is no such commit. */
export function changedFiles(): ReadonlySet<string> {
  try {
    const output = execFileSync('git', ['diff', '--name-only', 'HEAD~1'], { cwd: ROOT, stdio: 'pipe' });
    return new Set(String(output).split('\n'));
  } catch {
    return new Set();
  }
}

/** The changes that patch one of the files. */
export const changesOf = <C extends Change>(changes: readonly C[], files: ReadonlySet<string>): C[] =>
  changes.filter(({ patches }) => patches.some(({ file }) => files.has(file)));

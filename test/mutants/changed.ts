/** The mutants that a tier tries. */
import { commitNumber, filesChanged, filesChangedSince, partOf } from '../commit.js';
import type { Tier } from '../tier.js';
import type { Change } from './test-build.js';

/** Number of parts of the mutants whose patched files have not changed. The default tier tries one part. */
const PARTS = 4;

/** The changes that patch one of the files. */
export const changesOf = <C extends Change>(changes: readonly C[], files: ReadonlySet<string>): C[] =>
  changes.filter(({ patches }) => patches.some(({ file }) => files.has(file)));

/**
 * The changes that a tier tries: `all` tries all of them. The default tries those whose patched files have changed
 * since `all` last passed, and of the others the part that the commit picks; all of them where that is not known. The
 * quick tier tries those whose patched files differ from the commit before the present one.
 */
export function dueChanges<C extends Change>(changes: readonly C[], tier: Tier): readonly C[] {
  if (tier === 'quick') return changesOf(changes, filesChangedSince('HEAD~1') ?? new Set());
  return tier === 'all' ? changes : changedAndPart(changes, filesChanged(), commitNumber());
}

/** Those of the default tier. @param files the changed files; undefined where they are not known */
export function changedAndPart<C extends Change>(
  changes: readonly C[],
  files: ReadonlySet<string> | undefined,
  number: number,
): readonly C[] {
  if (files === undefined) return changes;
  const changed = new Set(changesOf(changes, files));
  const part = new Set(partOf(changes, PARTS, number));
  return changes.filter((change) => changed.has(change) || part.has(change));
}

import { posix } from 'node:path';
import { importsOf, type Source } from './source.js';

/**
 * The groups of sources that import one another in a circle, types included, each sorted by path. A source in a circle
 * cannot be understood, or moved, without the others.
 */
export function importCircles(sources: readonly Source[]): string[][] {
  const paths = new Set(sources.map(({ path }) => path));
  const imports = new Map(sources.map((source) => [source.path, targetsOf(source, paths)]));
  const reached = new Map(sources.map(({ path }) => [path, reachedFrom(path, imports)]));
  const inCircle = [...paths].filter((path) => reached.get(path)!.has(path));
  const groups = new Map<string, string[]>();
  for (const path of inCircle.sort()) {
    const members = inCircle.filter((other) => reached.get(path)!.has(other) && reached.get(other)!.has(path)).sort();
    groups.set(members[0]!, members);
  }
  return [...groups.values()];
}

/** The files that a source imports by relative paths. */
function targetsOf(source: Source, paths: ReadonlySet<string>): string[] {
  return importsOf(source).flatMap(({ specifier }) => {
    if (!specifier.startsWith('.')) return [];
    const path = posix.join(posix.dirname(source.path), specifier).replace(/\.js$/, '.ts');
    return paths.has(path) ? [path] : [];
  });
}

/** All sources that a source imports, directly or not. */
function reachedFrom(path: string, imports: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  const reached = new Set<string>();
  const open = [...imports.get(path)!];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (reached.has(next)) continue;
    reached.add(next);
    open.push(...imports.get(next)!);
  }
  return reached;
}

import type { Finding } from './source.js';

const TOP_LEVEL = new Set([
  'package.json',
  'package-lock.json',
  'LICENSE',
  'packages',
  'server',
  'sdk-js',
  'sdk-swift',
  'examples',
  'infra',
  'test',
  'docs',
]);

/** Outputs of runs, which git ignores. */
const LEFT_BY_RUNS = new Set(['node_modules', 'data', 'bench-results', 'coverage']);

/** Names in the repository's root that have no place there. */
export function topLevelFindings(names: readonly string[]): Finding[] {
  const known = (name: string) =>
    name.startsWith('.') || name.endsWith('.md') || TOP_LEVEL.has(name) || LEFT_BY_RUNS.has(name);
  return names.filter((name) => !known(name)).map((name) => `${name}: does not belong to the top of the repository`);
}

/** Folders without a README.md, of those that need one. */
export function readmeFindings(folders: readonly string[], paths: ReadonlySet<string>): Finding[] {
  return folders.filter((folder) => !paths.has(`${folder}/README.md`)).map((folder) => `${folder}: has no README.md`);
}

/** Test support among the sources of the product, which would be compiled and published with them. */
export const testSupportFindings = (paths: readonly string[]): Finding[] =>
  paths
    .filter((path) => /^(packages\/(?!testing\/)[^/]+|server|sdk-js)\/src\/(.+\/)?testing\//.test(path))
    .map((path) => `${path}: test support belongs to packages/testing, or to the folder testing beside src`);

/** The fields of a `package.json` that name exact versions. */
export interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** Every dependency of a manifest with its version. */
export const dependenciesOf = (manifest: Manifest): Record<string, string> => ({
  ...manifest.dependencies,
  ...manifest.devDependencies,
  ...manifest.optionalDependencies,
});

/** Dependencies whose version is a range or a tag. */
export function pinFindings(path: string, manifest: Manifest): Finding[] {
  return Object.entries(dependenciesOf(manifest))
    .filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
    .map(([name, version]) => `${path}: ${name} is not pinned to one version (${version})`);
}

/** The part of `package-lock.json` that the rule below looks at: entries by the path of their folder. */
export interface Lockfile {
  readonly packages: Readonly<Record<string, Manifest>>;
}

/**
 * Packages for other platforms that the lock file leaves out. `npm ci` refuses such a file on every other platform.
 */
export function lockfileFindings({ packages }: Lockfile): Finding[] {
  const isLocked = (path: string, name: string) =>
    `${path}/node_modules/${name}` in packages || `node_modules/${name}` in packages;
  return Object.entries(packages).flatMap(([path, entry]) =>
    Object.keys(entry.optionalDependencies ?? {})
      .filter((name) => !isLocked(path, name))
      .map((name) => `package-lock.json: ${name}, an optional dependency of ${path}, has no entry`),
  );
}

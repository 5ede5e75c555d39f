import { posix } from 'node:path';
import { type Finding, findingAt, type ImportedModule, importsOf, type Source } from './source.js';

/**
 * The allowed imports: the map of the architecture. Imports point towards `core`; the server, the tests and the
 * examples are never imported, except that the tests run the server.
 */
const MAP: Readonly<Record<string, readonly string[]>> = {
  'packages/core': [],
  'packages/protocols': ['packages/core'],
  'packages/storage': ['packages/core'],
  'packages/wire': ['packages/core'],
  'packages/transport': ['packages/core', 'packages/wire'],
  'packages/checker': ['packages/core'],
  'packages/workload': ['packages/core'],
  'packages/simulated-world': ['packages/core'],
  'packages/testing': [
    'packages/core',
    'packages/simulated-world',
    'packages/protocols',
    'packages/storage',
    'packages/wire',
    'packages/transport',
    'packages/checker',
    'packages/sessions',
    'packages/client',
  ],
  'packages/sim': [
    'packages/core',
    'packages/simulated-world',
    'packages/protocols',
    'packages/storage',
    'packages/checker',
    'packages/sessions',
    'packages/client',
  ],
  'packages/sessions': ['packages/core', 'packages/protocols', 'packages/wire'],
  'packages/client': ['packages/core', 'packages/protocols', 'packages/wire'],
  'sdk-js': ['packages/core', 'packages/protocols', 'packages/wire', 'packages/client'],
  server: [
    'packages/core',
    'packages/protocols',
    'packages/storage',
    'packages/wire',
    'packages/transport',
    'packages/workload',
    'packages/sessions',
    'sdk-js',
  ],
  examples: ['sdk-js'],
  infra: [],
  test: [
    'packages/core',
    'packages/protocols',
    'packages/storage',
    'packages/wire',
    'packages/transport',
    'packages/checker',
    'packages/workload',
    'packages/simulated-world',
    'packages/testing',
    'packages/sim',
    'packages/sessions',
    'packages/client',
    'sdk-js',
    'server',
  ],
};

/** These import no library and no module of Node. */
const WITHOUT_LIBRARIES = new Set([
  'packages/core',
  'packages/protocols',
  'packages/sessions',
  'packages/client',
  'packages/simulated-world',
]);
/** Exceptions: pure functions of Node (`purity.ts`), and conditions of access rules. */
const COMPUTATION: Readonly<Record<string, readonly string[]>> = {
  'packages/sessions': ['node:crypto', '@marcbachmann/cel-js'],
};

/** The folder of a path as the map names it, or undefined. */
export const placeOf = (path: string): string | undefined =>
  /^(packages\/[^/]+|server|sdk-js|examples|infra|test)\//.exec(path)?.[1];

/** The folder with the `package.json` that a path belongs to, or undefined. */
export const workspaceOf = (path: string): string | undefined =>
  /^(packages\/[^/]+|examples\/[^/]+|server|sdk-js|test)\//.exec(path)?.[1];

/** Test support outside of packages/testing, which may import it. */
const TEST_SUPPORT = /^(sdk-js|server)\/testing\//;

/** Imports in a direction that the map does not have. */
export function directionFindings(source: Source): Finding[] {
  const place = placeOf(source.path);
  const mapped = MAP[place ?? ''];
  const allowed = mapped && (TEST_SUPPORT.test(source.path) ? [...mapped, 'packages/testing'] : mapped);
  if (place === undefined || allowed === undefined) return [`${source.path}: is not on the map of this rule`];
  return importsOf(source).flatMap((imported) => {
    const problem = directionProblem(source.path, place, allowed, imported.specifier);
    return problem === undefined ? [] : [findingAt(source, imported.node, problem)];
  });
}

function directionProblem(path: string, place: string, allowed: readonly string[], specifier: string) {
  if (specifier.startsWith('.')) return relativeProblem(path, specifier);
  const target = placeOfPackage(specifier);
  if (target !== undefined) return allowed.includes(target) ? undefined : `${place} must not import ${target}`;
  return WITHOUT_LIBRARIES.has(place) && !COMPUTATION[place]?.includes(specifier)
    ? `${place} must not import ${specifier}: it stands on the language alone`
    : undefined;
}

function placeOfPackage(specifier: string): string | undefined {
  const name = /^@isochron\/([^/]+)/.exec(specifier)?.[1];
  if (name === undefined) return undefined;
  if (name === 'sdk') return 'sdk-js';
  if (name.startsWith('example-')) return 'examples';
  return name === 'server' || name === 'test' ? name : `packages/${name}`;
}

function relativeProblem(path: string, specifier: string): string | undefined {
  const target = posix.join(posix.dirname(path), specifier);
  const home = workspaceOf(path) ?? placeOf(path);
  if (home !== undefined && !target.startsWith(`${home}/`)) return `leaves ${home} by the path ${specifier}`;
  const [from, to] = [protocolFolder(path), protocolFolder(target)];
  if (from === undefined || to === undefined || from === to || to === 'kernel') return undefined;
  return `the protocol folder ${from} must not import ${to}: what they share belongs to the kernel`;
}

const protocolFolder = (path: string): string | undefined => /^packages\/protocols\/src\/([^/]+)\//.exec(path)?.[1];

/** Imports of libraries that the folder's own `package.json` does not name. */
export function undeclaredFindings(source: Source, declared: ReadonlySet<string>): Finding[] {
  return importsOf(source)
    .filter(({ specifier }) => !/^(\.|node:)/.test(specifier) && !declared.has(packageName(specifier)))
    .map((imported: ImportedModule) =>
      findingAt(source, imported.node, `${imported.specifier} is not a dependency in its package.json`),
    );
}

const packageName = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

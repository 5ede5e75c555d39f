import { posix } from 'node:path';
import { isTest } from './repository.js';
import { type Finding, importsOf, type Source } from './source.js';

const PROTOCOLS = 'packages/protocols/src';

/** The two files of the catalogue. */
const CATALOGUE = [`${PROTOCOLS}/catalogue.ts`, `${PROTOCOLS}/session-rules.ts`];

/** PaRiS is the default of test worlds and of SDKs, which try it first. Worlds of Wren read its snapshots. */
const EXCEPTIONS: ReadonlySet<string> = new Set([
  'packages/testing/src/world/world.ts: paris',
  'packages/testing/src/world/wren-world.ts: wren',
  'packages/testing/src/client/world.ts: paris',
  'sdk-js/src/protocols.ts: paris',
]);

/** Imports of a protocol's folder from outside: every source but the catalogue takes protocols from the catalogue. */
export function catalogueFindings(source: Source, protocols: readonly string[]): Finding[] {
  if (isTest(source.path) || CATALOGUE.includes(source.path)) return [];
  const own = folderOf(source.path, protocols);
  return importsOf(source).flatMap(({ specifier }) => {
    const imported = folderOf(pathOf(source.path, specifier), protocols);
    if (imported === undefined || imported === own || EXCEPTIONS.has(`${source.path}: ${imported}`)) return [];
    return [`${source.path} imports ${imported}, and not the catalogue`];
  });
}

/** Every folder of the package that has a `SPEC.md`, and so is a protocol with its own machines. */
export const protocolFolders = (paths: readonly string[]): string[] =>
  paths.flatMap((path) => new RegExp(`^${PROTOCOLS}/([a-z]+)/SPEC\\.md$`).exec(path)?.[1] ?? []);

function pathOf(importer: string, specifier: string): string {
  if (specifier.startsWith('.')) return posix.join(posix.dirname(importer), specifier);
  return specifier.replace(/^@isochron\/protocols\//, `${PROTOCOLS}/`);
}

const folderOf = (path: string, protocols: readonly string[]): string | undefined =>
  protocols.find((name) => path.startsWith(`${PROTOCOLS}/${name}/`));

/** Two tables beside the catalogue have a row for each protocol: the simulator's checks and the sessions of Swift. */
const TABLE =
  /^(packages\/sim\/src\/protocols\/\w+\/table\.ts|sdk-swift\/Sources\/IsochronSession\/SessionKind\.swift)$/;

/** Sources of the product: no tests, no support of tests, no benchmarks. */
const PRODUCT = /^(packages|server|sdk-js|sdk-swift\/Sources)\/.*\.(ts|swift)$/;
const SUPPORT = /^packages\/testing\/|\/testing\//;

/** A source that names a protocol, as a text or a key, and is no part of it, of the catalogue or of the two tables. */
export function namingFindings(path: string, text: string, name: string): Finding[] {
  if (!PRODUCT.test(path) || isTest(path) || SUPPORT.test(path)) return [];
  if (CATALOGUE.includes(path) || TABLE.test(path)) return [];
  if (path.startsWith(`${PROTOCOLS}/${name.replaceAll('-', '')}/`)) return [];
  const named = new RegExp(`(['"])${name}\\1|^ *${name}: `, 'm');
  return named.test(text) ? [`${path} names ${name}, and takes no table from the catalogue`] : [];
}

import { posix } from 'node:path';
import { isTest } from './repository.js';
import { type Finding, importsOf, type Source } from './source.js';

const PROTOCOLS = 'packages/protocols/src';

/** The two files of the catalogue. */
const CATALOGUE = [`${PROTOCOLS}/catalogue.ts`, `${PROTOCOLS}/session-rules.ts`];

/** PaRiS is the default of test worlds and of SDKs, which try it first. Worlds of Wren read its snapshots. */
const EXCEPTIONS: ReadonlySet<string> = new Set([
  'packages/testing/src/protocols/world.ts: paris',
  'packages/testing/src/protocols/wren-world.ts: wren',
  'packages/client/src/testing/world.ts: paris',
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

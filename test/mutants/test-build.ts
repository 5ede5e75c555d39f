/** A build with patches. It exists only in the memory of the process that asks for it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { transformSync } from '@swc/core';
import { ROOT } from '../e2e/processes.js';
import { type Patch, patched } from './mutant.js';

/** Sources of modules, by the URLs of the compiled files that they replace. */
export type Replacements = ReadonlyMap<string, string>;

/** The patched files that the process has loaded: each adds its own name. */
export const LOADED = 'isochronLoadedPatches';

/**
 * Compiles every file that the patches touch.
 * @throws RangeError for a patch whose place does not occur exactly once; the compiler's error for invalid TypeScript
 */
export function testBuild(patches: readonly Patch[]): Replacements {
  const files = new Set(patches.map(({ file }) => file));
  return new Map([...files].map((file) => [urlOf(file), compiled(file, patches)]));
}

function compiled(file: string, patches: readonly Patch[]): string {
  const source = readFileSync(join(ROOT, file), 'utf8');
  const text = patches.filter((patch) => patch.file === file).reduce(patched, source);
  const { code } = transformSync(text, {
    filename: file,
    configFile: false,
    swcrc: false,
    jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
    module: { type: 'es6' },
  });
  return `${code}\n(globalThis.${LOADED} ??= new Set()).add(${JSON.stringify(file)});\n`;
}

/** The URL under which Node loads the compiled form of a package's source. */
function urlOf(file: string): string {
  return pathToFileURL(join(ROOT, file.replace('/src/', '/dist/').replace(/\.ts$/, '.js'))).href;
}

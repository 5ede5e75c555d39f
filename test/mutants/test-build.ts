/** A build with patches in it. It exists in the memory of the process that asks for it, and nowhere else. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { transformSync } from '@swc/core';
import { ROOT } from '../e2e/processes.js';
import { type Patch, patched } from './mutant.js';

/** Modules as they are to be loaded, by the URL of the compiled file that each stands for. */
export type Replacements = ReadonlyMap<string, string>;

/** Names of the patched files that the process has loaded, kept by those files themselves. */
export const LOADED = 'isochronLoadedPatches';

/**
 * Compiles every file that the patches touch.
 * @throws RangeError for a patch whose place is not there exactly once; an error of the compiler for one that is no TypeScript
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

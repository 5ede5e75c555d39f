/** Builds with patches, each as one module. They exist only in memory. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { transformSync } from '@swc/core';
import { build, type Plugin } from 'esbuild';
import { ROOT } from '../e2e/processes.js';
import { type Patch, patched } from './mutant.js';
import { SWITCHES, switched } from './switches.js';

/** Patches that belong together: those of a mutant, or of a variant. */
export interface Change {
  readonly patches: readonly Patch[];
}

/** A module, and the changes that can be switched on in it, each at its number. */
export interface Build {
  readonly code: string;
  readonly numbers: ReadonlyMap<Change, number>;
}

/** Sources of compiled files, by the paths of the files that they replace. */
type Replacements = ReadonlyMap<string, string>;

/**
 * Bundles a compiled module of the tests and everything that it imports, with all changes behind switches. The build
 * lacks the changes of which a patch is outside of all functions.
 * @throws RangeError for a patch whose place does not occur exactly once; the compiler's error for invalid TypeScript
 */
export async function switchedBuild(changes: readonly Change[], entry: string): Promise<Build> {
  const missing = new Set<number>();
  const texts = new Map<string, string>();
  for (const file of filesOf(changes)) {
    const here = changes.flatMap(({ patches }, number) => {
      const own = patches.filter((patch) => patch.file === file);
      return own.length === 0 ? [] : [{ number, patches: own }];
    });
    const { text, numbers } = switched(readFileSync(join(ROOT, file), 'utf8'), here);
    texts.set(builtPath(file), compiled(file, text));
    for (const { number } of here) if (!numbers.includes(number)) missing.add(number);
  }
  const code = await bundle(entry, texts, changes.length);
  return {
    code,
    numbers: new Map([...changes.entries()].filter(([i]) => !missing.has(i)).map(([i, one]) => [one, i])),
  };
}

/** Bundles a compiled module of the tests and everything that it imports, with changes that cannot be switched off. */
export async function patchedBuild(changes: readonly Change[], entry: string): Promise<Build> {
  const texts = new Map(
    [...compilePatched(changes)].map(([file, code]) => [builtPath(file), code + marks(file, changes)]),
  );
  return { code: await bundle(entry, texts, changes.length), numbers: new Map(changes.map((one, i) => [one, i])) };
}

/**
 * Compiles every file that the changes touch, by its path.
 * @throws RangeError for a patch whose place does not occur exactly once; the compiler's error for invalid TypeScript
 */
export function compilePatched(changes: readonly Change[]): Map<string, string> {
  const patches = changes.flatMap((change) => change.patches);
  return new Map(
    filesOf(changes).map((file) => {
      const source = readFileSync(join(ROOT, file), 'utf8');
      return [file, compiled(file, patches.filter((patch) => patch.file === file).reduce(patched, source))];
    }),
  );
}

const filesOf = (changes: readonly Change[]): string[] => [
  ...new Set(changes.flatMap(({ patches }) => patches.map(({ file }) => file))),
];

/** A patched file that is loaded marks its changes as run. */
const marks = (file: string, changes: readonly Change[]): string =>
  changes
    .map(({ patches }, i) => (patches.some((patch) => patch.file === file) ? `\n${SWITCHES}.ran[${i}] = 1;` : ''))
    .join('');

/** One module loads in a fraction of the time that Node's loader takes for some hundred. */
async function bundle(entry: string, replacements: Replacements, switches: number): Promise<string> {
  const array = `new Uint8Array(${switches})`;
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'es2022',
    write: false,
    logLevel: 'silent',
    banner: { js: `const ${SWITCHES} = (globalThis.${SWITCHES} = { on: ${array}, ran: ${array} });` },
    plugins: [replacing(replacements)],
  });
  return outputFiles[0]!.text;
}

/** Gives some files another text. */
const replacing = (replacements: Replacements): Plugin => ({
  name: 'patches',
  setup({ onLoad }) {
    for (const [path, contents] of replacements)
      onLoad({ filter: new RegExp(`^${path.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`) }, () => ({ contents }));
  },
});

function compiled(file: string, text: string): string {
  return transformSync(text, {
    filename: file,
    configFile: false,
    swcrc: false,
    jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
    module: { type: 'es6' },
  }).code;
}

/** Where the compiled form of a package's source is. */
const builtPath = (file: string): string => join(ROOT, file.replace('/src/', '/dist/').replace(/\.ts$/, '.js'));

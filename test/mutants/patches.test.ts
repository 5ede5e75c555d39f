/// <reference types="jest" />
/** Every patch fits the present source: otherwise it would change nothing, or the wrong place. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../e2e/processes.js';
import { rulesOf } from '../tidy/rules.js';
import { MUTANTS, VARIANTS } from './list/index.js';
import { patched } from './mutant.js';
import { compilePatched } from './test-build.js';
import { WITHOUT_INVARIANTS } from './verdict.js';

const all = [...MUTANTS, ...VARIANTS];

describe('the list', () => {
  it.each(all.map(({ name, patches }) => [name, patches] as const))(
    'the patches of %s find their place once, and compile',
    (_name, patches) => {
      const build = compilePatched([{ patches }, WITHOUT_INVARIANTS]);
      expect([...build.values()].every((source) => source.length > 0)).toBe(true);
    },
  );

  it('every mutant and variant has a name of its own', () => {
    const names = all.map(({ name }) => name);
    expect(names).toEqual([...new Set(names)]);
  });

  it('every saved run belongs to a mutant', () => {
    const names = new Set(MUTANTS.map(({ name }) => `${name}.json`));
    const folder = join(ROOT, 'test/mutants/plans');
    // The folder is missing as long as drawn seeds catch every mutant.
    const saved = existsSync(folder) ? readdirSync(folder) : [];
    expect(saved.filter((file) => !names.has(file))).toEqual([]);
  });

  it('the mutants break exactly the rules that docs/rules.md lists as broken by mutants, and defines', () => {
    const page = readFileSync(join(ROOT, 'docs/rules.md'), 'utf8');
    const [definitions, marked] = page.split('\n## Rules that mutants break\n') as [string, string];
    const order = rulesOf(definitions).map(({ id }) => id);
    const broken = new Set(MUTANTS.flatMap(({ breaks }) => breaks.match(/\b[A-Z]{1,2}\d+[a-z]?\b/g) ?? []));
    expect(marked.match(/\b[A-Z]{1,2}\d+[a-z]?\b/g)).toEqual(order.filter((id) => broken.has(id)));
    expect([...broken].filter((id) => !order.includes(id))).toEqual([]);
  });
});

describe('a patch', () => {
  const patch = { file: 'a.ts', in: 'f', find: 'if (x < y) z(x, 1);', replace: 'if (x <= $&) z();' };

  it('a patch replaces its place by exactly its text', () => {
    expect(patched('function f() { if (x < y) z(x, 1); }', patch)).toBe('function f() { if (x <= $&) z(); }');
  });

  it.each([
    'function f() { }',
    'function f() { if (x < y) z(x, 1); if (x < y) z(x, 1); }',
    'function g() { if (x < y) z(x, 1); }',
    'function f() { if (xx < y) z(x, 1); }',
    'function f() { if (x < y) z(x, 12); }',
  ])('a patch is refused unless its place occurs exactly once: %s', (text) => {
    expect(() => patched(text, patch)).toThrow('not one');
  });

  it('a patch finds its place in any layout', () => {
    const text = 'function f() {\n  if (\n    x < y\n  )\n    z(\n      x,\n      1,\n    );\n}';
    expect(patched(text, patch)).toBe('function f() {\n  if (x <= $&) z();\n}');
  });

  it('a patch finds its place after changes to other statements and functions', () => {
    const text = 'const e = () => { if (x < y) z(x, 1); };\nfunction f(q) { q("ä"); if (x < y) z(x, 1); }';
    expect(patched(text, patch)).toBe(
      'const e = () => { if (x < y) z(x, 1); };\nfunction f(q) { q("ä"); if (x <= $&) z(); }',
    );
  });

  it.each([
    ['C.m', 'class C { m() { return x; } }'],
    ['C.#m', 'class C { #m() { return x; } }'],
    ['C.constructor', 'class C { constructor() { return x; } }'],
    ['C.m', 'export class C { m = () => { return x; }; }'],
    ['C.m', 'class C { get m() { return x; } set m(v) {} }'],
    ['rules.m', 'export const rules = { m() { return x; } };'],
    ['rules.m', 'export const rules: Rules = { m: () => { return x; } };'],
    ['outer.inner', 'function outer() { const inner = () => { return x; }; }'],
  ])('a patch of %s finds its place in %s', (part, text) => {
    expect(patched(text, { file: 'a.ts', in: part, find: 'return x;', replace: 'return 0;' })).toContain('return 0;');
  });

  it('a patch is refused if its result is not TypeScript', () => {
    const file = 'packages/core/src/invariant.ts';
    const broken = { file, in: 'invariant', find: 'if (!condition)', replace: 'if (!condition' };
    expect(() => compilePatched([{ patches: [broken] }])).toThrow();
  });
});

/// <reference types="jest" />
/** Patches that fit the code as it is: one that does not would break nothing, or something else. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../e2e/processes.js';
import { MUTANTS, VARIANTS } from './list/index.js';
import { patched } from './mutant.js';
import { testBuild } from './test-build.js';
import { WITHOUT_INVARIANTS } from './verdict.js';

const all = [...MUTANTS, ...VARIANTS];

describe('the list', () => {
  it.each(all.map(({ name, patches }) => [name, patches] as const))(
    'has patches of %s that find their place once, and compile',
    (_name, patches) => {
      const build = testBuild([...patches, WITHOUT_INVARIANTS]);
      expect([...build.values()].every((source) => source.length > 0)).toBe(true);
    },
  );

  it('names each only once', () => {
    const names = all.map(({ name }) => name);
    expect(names).toEqual([...new Set(names)]);
  });

  it('has no saved run of a mutant that is gone', () => {
    const names = new Set(MUTANTS.map(({ name }) => `${name}.json`));
    const folder = join(ROOT, 'test/mutants/plans');
    // There is none as long as drawn seeds catch everything.
    const saved = existsSync(folder) ? readdirSync(folder) : [];
    expect(saved.filter((file) => !names.has(file))).toEqual([]);
  });

  it('breaks at least 24 rules of the protocol', () => {
    expect(MUTANTS.length).toBeGreaterThanOrEqual(24);
  });
});

describe('a patch', () => {
  const patch = { file: 'a.ts', find: 'x < y', replace: 'x <= $&' };

  it('replaces its place by exactly the text that it has', () => {
    expect(patched('if (x < y) z();', patch)).toBe('if (x <= $&) z();');
  });

  it.each(['', 'x < y || x < y'])('is refused where its place is not there exactly once: %j', (text) => {
    expect(() => patched(text, patch)).toThrow('not one');
  });

  it('is refused where it leaves no TypeScript', () => {
    const file = 'packages/core/src/invariant.ts';
    expect(() => testBuild([{ file, find: 'if (!condition)', replace: 'if (!condition' }])).toThrow();
  });
});

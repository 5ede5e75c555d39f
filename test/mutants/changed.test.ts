/// <reference types="jest" />
import { changedAndPart, changesOf } from './changed.js';

const patch = (file: string) => ({ file, in: 'f', find: 'a', replace: 'b' });

it('the quick tier tries the changes of which a patched file changed', () => {
  const one = { patches: [patch('a.ts')] };
  const two = { patches: [patch('b.ts'), patch('c.ts')] };
  expect(changesOf([one, two], new Set(['a.ts']))).toEqual([one]);
  expect(changesOf([one, two], new Set(['c.ts']))).toEqual([two]);
  expect(changesOf([one, two], new Set(['d.ts']))).toEqual([]);
});

describe('the default tier', () => {
  const all = Array.from({ length: 10 }, (_, i) => ({ patches: [patch(`${i}.ts`)] }));

  it('the default tier tries each change whose patched file changed, whatever the commit', () => {
    for (const number of [0, 1, 2, 3, 4]) expect(changedAndPart(all, new Set(['7.ts']), number)).toContain(all[7]);
  });

  it('the default tier tries every change at some commit, a part at each, and none twice', () => {
    const parts = [4, 5, 6, 7].map((number) => changedAndPart(all, new Set(), number));
    expect(parts.flat().sort((a, b) => all.indexOf(a) - all.indexOf(b))).toEqual(all);
    expect(parts.map(({ length }) => length)).toEqual([3, 3, 2, 2]);
  });

  it('the default tier tries all changes where the changed files are not known', () => {
    expect(changedAndPart(all, undefined, 3)).toEqual(all);
  });
});

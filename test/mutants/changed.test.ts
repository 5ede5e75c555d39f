/// <reference types="jest" />
import { changesOf } from './changed.js';

const patch = (file: string) => ({ file, in: 'f', find: 'a', replace: 'b' });

it('the quick tier tries the changes of which a patched file changed', () => {
  const one = { patches: [patch('a.ts')] };
  const two = { patches: [patch('b.ts'), patch('c.ts')] };
  expect(changesOf([one, two], new Set(['a.ts']))).toEqual([one]);
  expect(changesOf([one, two], new Set(['c.ts']))).toEqual([two]);
  expect(changesOf([one, two], new Set(['d.ts']))).toEqual([]);
});

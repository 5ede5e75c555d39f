import { compareKeys, prefixEnd, Random } from '@isochron/core';
import { inRange, type KeyRange, type Scope, ScopeUnion } from './scope.js';
import { ScopeIndex, sharedPrefix } from './scope-index.js';

const LETTERS = ['a', 'b', 'z', '/', '\ue000', '\u{10ffff}', '😀'];

function key(random: Random, length = random.below(4)): string {
  return `k/${Array.from({ length }, () => random.pick(LETTERS)).join('')}`;
}

function range(random: Random): KeyRange {
  if (random.chance(0.1)) return { start: '', end: null };
  const start = key(random);
  if (random.chance(0.3)) return { start, end: prefixEnd(start) };
  const [low, high] = [start, key(random)].sort(compareKeys) as [string, string];
  const level = random.below(4);
  return { start: low, end: high, ...(level > 0 && { level }) };
}

const scope = (random: Random): Scope => ({
  keys: Array.from({ length: random.below(3) }, () => key(random)),
  ranges: Array.from({ length: random.below(3) }, () => range(random)),
});

const has = ({ keys, ranges }: Scope, one: string): boolean =>
  keys.includes(one) || ranges.some((of) => inRange(of, one));

describe('the index of scopes', () => {
  it('the index finds the scopes that a look at each of them finds, whatever was added and deleted (LQ6)', () => {
    for (let seed = 0; seed < 200; seed++) {
      const random = new Random(seed);
      const index = new ScopeIndex<Scope>();
      const present = new Set<Scope>();
      for (let step = 0; step < 60; step++) {
        const [oldest] = present;
        if (oldest !== undefined && random.chance(0.4)) {
          present.delete(oldest);
          index.delete(oldest, oldest);
        } else {
          const added = scope(random);
          present.add(added);
          index.add(added, added);
        }
        const asked = key(random);
        const found = new Set<Scope>();
        index.find(asked, (one) => found.add(one));
        const expected = [...present].filter((one) => has(one, asked));
        expect([seed, asked, found.size]).toEqual([seed, asked, expected.length]);
        expect(expected.every((one) => found.has(one))).toBe(true);
      }
    }
  });

  it('every key of a range has the prefix that the index files it under', () => {
    for (let seed = 0; seed < 2_000; seed++) {
      const random = new Random(seed);
      const of = range(random);
      const one = key(random);
      if (inRange(of, one)) expect([seed, one.startsWith(sharedPrefix(of))]).toEqual([seed, true]);
    }
    expect(sharedPrefix({ start: 'todos/list-7/', end: 'todos/list-70' })).toBe('todos/list-7/');
    expect(sharedPrefix({ start: 'todos/a1', end: 'todos/a3' })).toBe('todos/a');
  });

  it('the union of scopes has the keys that one of them has', () => {
    for (let seed = 0; seed < 500; seed++) {
      const random = new Random(seed);
      const scopes = Array.from({ length: random.below(5) }, () => scope(random));
      const union = new ScopeUnion(scopes);
      for (let i = 0; i < 20; i++) {
        const one = key(random);
        expect([seed, one, union.has(one)]).toEqual([seed, one, scopes.some((of) => has(of, one))]);
      }
    }
  });
});

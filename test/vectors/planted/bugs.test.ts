/** Patches that fit the sessions as they are: one that does not would plant nothing, or something else. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../e2e/processes.js';
import { PLANTED, type PlantedBug, sourcesOf } from './bugs.js';
import { chosen } from './package.js';
import { patched } from './planted-bug.js';

describe('the planted bugs', () => {
  it.each(PLANTED.map((bug) => [bug.name, bug] as [string, PlantedBug]))(
    'have patches of %s that find their place once',
    (_name, bug) => {
      for (const patch of bug.patches) {
        const source = readFileSync(join(ROOT, sourcesOf(bug), patch.file), 'utf8');
        expect(patched(source, patch)).not.toBe(source);
      }
    },
  );

  it('take effect while they are the chosen one: as another expression, or where they say so themselves', () => {
    const [file, find] = ['A.swift', 'a < b'];
    expect(chosen('late', { file, find, replace: 'a <= b' }).replace).toBe('(isPlanted("late") ? (a <= b) : (a < b))');
    expect(chosen('late', { file, find, replace: 'planted || a < b' }).replace).toBe('isPlanted("late") || a < b');
  });

  it('are at least ten, each named once', () => {
    const names = PLANTED.map(({ name }) => name);
    expect(names.length).toBeGreaterThanOrEqual(10);
    expect(names).toEqual([...new Set(names)]);
  });
});

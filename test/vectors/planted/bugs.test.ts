/** Patches match the sessions' current sources: one that does not would plant no bug, or another one. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../e2e/processes.js';
import { PLANTED, type PlantedBug, SESSIONS, sourcesOf } from './bugs.js';
import { chosen } from './package.js';
import { patched } from './planted-bug.js';

/**
 * Sources of the sessions without a bug: declarations, tables, and limits that other tests compare with the server's.
 */
const WITHOUT_BUGS = [
  'ExportedSession.swift',
  'Generated/Limits.swift',
  'Operations/Requests.swift',
  'SessionError.swift',
  'SessionKind.swift',
  'Transactions/Snapshot.swift',
  'Values/KeyProblem.swift',
  'Values/Names.swift',
  'Values/OrderedMap.swift',
  'Values/Value.swift',
];

describe('the planted bugs', () => {
  it.each(PLANTED.map((bug) => [bug.name, bug] as [string, PlantedBug]))(
    'the patches of the planted bug %s find their place once',
    (_name, bug) => {
      for (const patch of bug.patches) {
        const source = readFileSync(join(ROOT, sourcesOf(bug), patch.file), 'utf8');
        expect(patched(source, patch)).not.toBe(source);
      }
    },
  );

  it('a patch takes effect while its bug is chosen: as another expression, or through `planted` in its replacement', () => {
    const [file, find] = ['A.swift', 'a < b'];
    expect(chosen('late', { file, find, replace: 'a <= b' }).replace).toBe('(isPlanted("late") ? (a <= b) : (a < b))');
    expect(chosen('late', { file, find, replace: 'planted || a < b' }).replace).toBe('isPlanted("late") || a < b');
  });

  it('each planted bug has a name of its own', () => {
    const names = PLANTED.map(({ name }) => name);
    expect(names).toEqual([...new Set(names)]);
  });

  it('every source of the sessions has a planted bug, except those that are listed', () => {
    const sources = readdirSync(join(ROOT, SESSIONS), { recursive: true, encoding: 'utf8' });
    const planted = new Set(
      PLANTED.filter((bug) => sourcesOf(bug) === SESSIONS).flatMap(({ patches }) => patches.map(({ file }) => file)),
    );
    expect(sources.filter((file) => file.endsWith('.swift') && !planted.has(file)).sort()).toEqual(WITHOUT_BUGS);
  });
});

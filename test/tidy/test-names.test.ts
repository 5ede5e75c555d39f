import { join } from 'node:path';
import { Repository } from './repository.js';
import { parseSource } from './source.js';
import { nameFindings } from './test-names.js';

const repository = new Repository(join(__dirname, '../..'));
/** Tests, and suites and claims that several tests run. */
const TESTS = /(\.test|\/suite[\w-]*|-claims)\.ts$/;

describe('the names of tests', () => {
  it('the names of tests are whole sentences, with a subject', () => {
    const paths = repository.sources.filter((path) => TESTS.test(path) && !path.startsWith('test/tidy/test-names'));
    expect(paths.length).toBeGreaterThan(250);
    expect(paths.flatMap((path) => nameFindings(parseSource(path, repository.read(path))))).toEqual([]);
  });

  it.each([
    [`it('is refused with a code', f);`, 1],
    [`test('returns the newest version', f);`, 1],
    [`it.each([1, 2])('has %s parts', f);`, 1],
    [`it('a read', f);`, 1],
    [`it('a read is refused with a code', f);`, 0],
    [`it.each([1, 2])('a message has %s parts', f);`, 0],
    [`submit('is no test');`, 0],
  ])('the names of tests are judged by their first words and their length: %s', (text, count) => {
    expect(nameFindings(parseSource('a.test.ts', text))).toHaveLength(count);
  });
});

import { join } from 'node:path';
import { Repository } from './repository.js';
import { type Exception, textFindings, withoutExceptions } from './text.js';

const repository = new Repository(join(__dirname, '../..'));

/** Entries may only be removed. */
const EXCEPTIONS: readonly Exception[] = [];

describe('sources', () => {
  it('sources are short and narrow, switch off no check and postpone no work', () => {
    const findings = repository.sources.flatMap((path) => textFindings(path, repository.read(path)));
    expect(withoutExceptions(findings, EXCEPTIONS)).toEqual([]);
  });

  // Concatenated here, so that this file itself does not contain them.
  it.each([
    ['// eslint', '-disable-next-line'],
    ['// biome', '-ignore lint/x: y'],
    ['// @ts', '-ignore'],
    ['// @ts', '-expect-error'],
    ['const x = y as', ' any;'],
    ['const x = y as unknown', ' as Z;'],
    ['// TO', 'DO later'],
    ['// FIX', 'ME later'],
  ])('sources may not contain %s%s', (start, end) => {
    expect(textFindings('a.ts', `fine\n${start}${end}\n`)).toEqual([expect.stringMatching(/^a\.ts:2: /)]);
  });

  it('sources may use the words in another sense', () => {
    expect(textFindings('a.ts', `const todos = client.collection('todos'); // as anyone can`)).toEqual([]);
  });

  it.each([
    ['a comment', `// ${'x'.repeat(118)}`, 1],
    ['a comment with a quote', `   * it's ${'x'.repeat(118)}`, 1],
    ['a line of code', `f(${'x, '.repeat(40)});`, 1],
    ['a comment of 120 characters', `// ${'x'.repeat(117)}`, 0],
    ['a line with a text', `f('${'x'.repeat(118)}');`, 0],
    ['a regular expression', `  /^${'x'.repeat(118)}$/,`, 0],
  ])('sources are at most 120 wide, and %s is judged by that', (_what, line, found) => {
    expect(textFindings('a.ts', `${line}\n`)).toHaveLength(found);
  });

  it('sources may have 500 lines and no more', () => {
    expect(textFindings('a.ts', 'x\n'.repeat(500))).toEqual([]);
    expect(textFindings('a.ts', 'x\n'.repeat(501))).toEqual([expect.stringContaining('501 lines')]);
  });
});

describe('exceptions', () => {
  const exception = { path: 'a.ts', finding: 'postponed work', reason: 'r' };

  it('exceptions cover their own file and finding only', () => {
    const findings = ['a.ts:3: postponed work', 'b.ts:3: postponed work', 'a.ts:4: something else'];
    expect(withoutExceptions(findings, [exception])).toEqual(findings.slice(1));
  });

  it('exceptions that are no longer needed are found', () => {
    expect(withoutExceptions([], [exception])).toEqual(['a.ts: its exception is not needed any more']);
  });
});

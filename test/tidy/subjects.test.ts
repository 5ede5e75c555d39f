import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { subjectFindings } from './subjects.js';

/** Earlier commits have longer subjects. */
const SINCE = 'c0e9d8b737b821d7d6628dfe383dda9c9708322c';
const ROOT = join(__dirname, '../..');

/** The output of git; undefined where it fails: without git or a history, and in a shallow clone. */
function git(...args: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' });
  return status === 0 ? stdout : undefined;
}

describe('subjects of commits', () => {
  const log = git('log', '--no-merges', '--format=%h %s', `${SINCE}..HEAD`);

  (log === undefined ? it.skip : it)('subjects of commits have at most 72 characters', () => {
    expect(subjectFindings(log!)).toEqual([]);
  });

  it('a subject that is too long is found', () => {
    expect(subjectFindings(`1a ${'x'.repeat(72)}\n2b ${'x'.repeat(73)}\n`)).toEqual([
      '2b: a subject of 73 characters, more than 72',
    ]);
  });
});

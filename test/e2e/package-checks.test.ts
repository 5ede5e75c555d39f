import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { haveChanged, SWIFT_INPUTS } from './package-checks.js';
import { ROOT } from './processes.js';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'isochron-inputs-'));
  for (const folder of ['docs', 'in', 'out']) mkdirSync(join(root, folder));
  write('in/a', '1');
  write('out/a', '1');
  git('init', '-q');
  commit();
});
afterEach(() => rmSync(root, { recursive: true }));

const write = (path: string, text: string) => writeFileSync(join(root, path), text);
const git = (...args: string[]) =>
  execFileSync('git', ['-C', root, '-c', 'user.name=a', '-c', 'user.email=a@localhost', ...args], { encoding: 'utf8' });
const commit = () => git('add', '.') + git('commit', '-qm', 'a');
const passed = (head = git('rev-parse', 'HEAD').trim(), failed = 0) =>
  write('docs/tested.json', JSON.stringify({ commit: head, failed }));
const changed = () => haveChanged(['in', 'gone'], root);

it('inputs have changed until the tier has passed once', () => {
  expect(changed()).toBe(true);
  passed();
  expect(changed()).toBe(false);
});

it('inputs have changed when a file of theirs is edited, committed or added, and not when another file is', () => {
  passed();
  write('out/a', '2');
  write('out/b', '2');
  expect(changed()).toBe(false);
  write('in/a', '2');
  expect(changed()).toBe(true);
  commit();
  expect(changed()).toBe(true);
  passed();
  expect(changed()).toBe(false);
  write('in/b', '2');
  expect(changed()).toBe(true);
});

it.each([
  ['a test has failed', undefined, 1],
  ['git does not have the commit', '0'.repeat(40), 0],
  ['the commit is not one', '--help', 0],
])('inputs have changed when %s', (_why, head, failed) => {
  passed(head, failed);
  expect(changed()).toBe(true);
});

it('inputs have changed where there is no repository', () => {
  passed();
  rmSync(join(root, '.git'), { recursive: true });
  expect(changed()).toBe(true);
});

it.each(SWIFT_INPUTS)('an input of the Swift tests exists: %s', (input) => {
  expect(existsSync(join(ROOT, input))).toBe(true);
});

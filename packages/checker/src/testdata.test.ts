import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { violatedByDefinition } from '@isochron/testing/checker/definition';
import { textHistory } from '@isochron/testing/checker/text-history';
import { checkHistory } from './check.js';
import { GUARANTEES, LEVELS } from './rules/guarantees.js';

const FOLDER = join(__dirname, '../testdata');

/** Paths below the folder. */
const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.txt'))
  .sort();

interface Case {
  readonly history: string;
  readonly violates: readonly string[];
  readonly names: readonly string[];
  readonly keeps: readonly string[] | undefined;
}

function read(path: string): Case {
  const [history, expected] = readFileSync(join(FOLDER, path), 'utf8').split('---\n');
  const lines = expected!.trim().split('\n');
  const field = (name: string): string[] | undefined => {
    const text = lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
    return text === 'nothing' ? [] : text?.split(', ');
  };
  return { history: history!, violates: field('violates')!, names: field('names') ?? [], keeps: field('keeps') };
}

describe('hand-written histories', () => {
  it('hand-written histories are many, correct ones and wrong ones', () => {
    const wrong = files.filter((path) => read(path).violates.length > 0);
    expect(files.length).toBeGreaterThanOrEqual(100);
    expect(Math.min(wrong.length, files.length - wrong.length)).toBeGreaterThanOrEqual(40);
  });

  it.each(files)('%s has the expected verdict', (path) => {
    const { history, violates, names, keeps } = read(path);
    const verdict = checkHistory(textHistory(history));
    const violated = GUARANTEES.filter((guarantee) => verdict.guarantees[guarantee] === 'violated');
    expect([...violated].sort()).toEqual([...violates].sort());
    expect(verdict.violations.map(({ name }) => name).sort()).toEqual([...names].sort());
    expect(verdict).toMatchObject({ ok: violates.length === 0, found: names.length });
    if (keeps !== undefined) expect(levelsKept(history)).toEqual(keeps);
  });

  it.each(files)('%s has the verdict of the definition', (path) => {
    const { history, violates } = read(path);
    expect([...violatedByDefinition(textHistory(history))].sort()).toEqual([...violates].sort());
  });
});

const levelsKept = (history: string): string[] =>
  Object.entries(LEVELS)
    .filter(([, level]) => checkHistory(textHistory(history), { level }).ok)
    .map(([name]) => name);

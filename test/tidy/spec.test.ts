/** SPEC.md of a protocol names the test of each rule: every one of them exists. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const PROTOCOLS = join(__dirname, '../../packages/protocols/src');
const CLAIMS = join(__dirname, '../../packages/testing/src');

/** The rows of the table of rules: the one with a column of tests. */
export function ruleRows(spec: string): string[] {
  const [, rows = ''] = /^\| rule .*\| test +\|\n\| -.*\n(?<rows>(?:\|.*\n?)+)/m.exec(spec) ?? [];
  return rows.split('\n').filter((row) => row !== '');
}

/** The last column of the table of rules, and lines that begin with `Test:`. */
export function namedTests(spec: string): string[] {
  const inTable = ruleRows(spec).map((row) => row.split(' | ').at(-1)!.replace(/\|$/, '').trim());
  return [...inTable, ...[...spec.matchAll(/^Test: (?<name>.+)$/gm)].map((match) => match.groups!.name!.trim())];
}

/** A rule of `docs/rules.md`, or a sentence or a figure of the paper. */
const SUBJECT = /^\| (?:[A-Z]{1,2}\d+[a-z]?|Prop\. \d+|Fig\. \w+) +\|/;

/** The names of tests in a source. */
export function testNames(source: string): string[] {
  return [...source.matchAll(/\bit\(\s*(['"`])(?<name>.*?)(?<!\\)\1/gs)].map((match) => match.groups!.name!);
}

/** Tests, and claims that several protocols run as tests. */
const sources = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts') || file.endsWith('-claims.ts'))
    .map((file) => readFileSync(join(folder, file), 'utf8'));

describe('SPEC.md of the protocols', () => {
  const specs = readdirSync(PROTOCOLS, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('SPEC.md'),
  );

  it('every page of a protocol has a table of rules, whose rows begin with a rule, a proposition or a figure', () => {
    const rows = specs.map((file) => [file, ruleRows(readFileSync(join(PROTOCOLS, file), 'utf8'))] as const);
    expect(rows.filter(([, { length }]) => length === 0)).toEqual([]);
    expect(rows.flatMap(([, all]) => all.filter((row) => !SUBJECT.test(row)))).toEqual([]);
  });

  it.each(specs)('every test that %s names exists', (file) => {
    const known = new Set([PROTOCOLS, CLAIMS].flatMap(sources).flatMap(testNames));
    const named = namedTests(readFileSync(join(PROTOCOLS, file), 'utf8'));
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });

  it('names of tests are found in tables and in sources, and other texts are not', () => {
    const table = '| rule | what | test |\n| ---- | ---- | ---- |\n| P1 | x | a b |\n| Fig. 1a | y | c |\n';
    expect(namedTests(`| paper | here |\n| ----- | ---- |\n| x | y |\n\n${table}\nTest: d e\n`)).toEqual([
      'a b',
      'c',
      'd e',
    ]);
    expect(ruleRows('| paper | here |\n| ----- | ---- |\n| x | y |\n')).toEqual([]);
    expect(testNames(`it('one', () => {}); it("it's two", f); submit('three')`)).toEqual(['one', "it's two"]);
  });
});

/** SPEC.md of a protocol names the test of each rule: every one of them exists. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const PROTOCOLS = join(__dirname, '../../packages/protocols/src');
const CLAIMS = join(__dirname, '../../packages/testing/src/protocols');

/** The last column of the table of rules, and lines that begin with `Test:`. */
export function namedTests(spec: string): string[] {
  const rules = /^\| (?:[A-Z]{1,2}\d+[a-z]?|Prop\. \d+|Fig\. \w+) +\|[^|]*\|(?<name>[^|]+)\|$/;
  return spec.split('\n').flatMap((line) => {
    const name = rules.exec(line)?.groups?.name ?? /^Test: (?<name>.+)$/.exec(line)?.groups?.name;
    return name === undefined ? [] : [name.trim()];
  });
}

/** The names of tests in a source. */
export function testNames(source: string): string[] {
  return [...source.matchAll(/\bit\(\s*(['"`])(?<name>.*?)(?<!\\)\1/gs)].map((match) => match.groups!.name!);
}

/** A baseline has few rules of its own: the tests of the product's protocol cover those that it shares. */
const FEWEST = (file: string): number => (file.startsWith('paris') ? 20 : 5);

/** Tests, and claims that several protocols run as tests. */
const sources = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts') || file.endsWith('-claims.ts'))
    .map((file) => readFileSync(join(folder, file), 'utf8'));

describe('SPEC.md of the protocols', () => {
  const specs = readdirSync(PROTOCOLS, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('SPEC.md'),
  );

  it('at least one protocol has a SPEC.md', () => expect(specs.length).toBeGreaterThan(0));

  it.each(specs)('every test that %s names exists', (file) => {
    const known = new Set([PROTOCOLS, CLAIMS].flatMap(sources).flatMap(testNames));
    const named = namedTests(readFileSync(join(PROTOCOLS, file), 'utf8'));
    expect(named.length).toBeGreaterThan(FEWEST(file));
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });

  it('names of tests are found in tables and in sources, and other texts are not', () => {
    expect(namedTests('| P1 | x | a b |\n| rule | what | test |\nTest: c d')).toEqual(['a b', 'c d']);
    expect(namedTests('| VR1 | x | a |\n| Fig. 1a | x | b |\n| D10a | x | c |\n| paper | x | y |')).toEqual([
      'a',
      'b',
      'c',
    ]);
    expect(testNames(`it('one', () => {}); it("it's two", f); submit('three')`)).toEqual(['one', "it's two"]);
  });
});

import { join } from 'node:path';
import { isTest, Repository } from './repository.js';
import { pronounFindings, ratchetFindings, typeNameFindings } from './words.js';

const repository = new Repository(join(__dirname, '../..'));
const texts = repository.sources.map((path) => ({ path, text: repository.read(path) }));
const product = texts.filter(({ path }) => /^(?:packages|server|sdk-js)\//.test(path) && !isTest(path));

/** Numbers of findings that are left. They may only fall. */
const TYPE_NAMES = 0;
const PRONOUNS = 1108;

describe('words', () => {
  it('a type is named by a noun with one meaning, or two', () => {
    expect(product.length).toBeGreaterThan(400);
    expect(ratchetFindings(typeNameFindings(product), TYPE_NAMES)).toEqual([]);
  });

  it('doc comments have a noun for the thing, not a pronoun', () => {
    expect(ratchetFindings(texts.flatMap(pronounFindings), PRONOUNS)).toEqual([]);
  });

  it('a type name with three meanings is found, and not one type under the same name', () => {
    const sources = (...declarations: string[]) => declarations.map((text, i) => ({ path: `${i}.ts`, text }));
    expect(typeNameFindings(sources('interface A {', 'export type A = string;', 'abstract class A {'))).toEqual([
      'A: 3 meanings: 0.ts, 1.ts, 2.ts',
    ]);
    expect(typeNameFindings(sources('type A = B<1>;', 'type A = B<2>;', 'class A {', '// type A = 3'))).toEqual([]);
  });

  it.each([
    ['It waits.', 'It'],
    ['They wait.', 'They'],
    ['This is sent.', 'This is'],
    ['Sends the last one.', 'the last one'],
    ['Returns one that may pass.', 'one'],
    ['Ends those behind it.', 'those'],
    ['Ends the own ones.', 'ones'],
  ])('a pronoun in place of a noun is found: %s', (comment, word) => {
    expect(pronounFindings({ path: 'a.ts', text: `\n/**\n * ${comment}\n */` })).toEqual([
      `a.ts:2: "${word === 'the last one' ? 'last one' : word}" in place of a noun: ${comment}`,
    ]);
  });

  it.each(['Sends one request.', 'This node waits.', 'Waits for at least one.', 'Has `those`.', 'One by one.'])(
    'a noun, a number and code are no pronouns: %s',
    (comment) => {
      expect(pronounFindings({ path: 'a.ts', text: `/** ${comment} */` })).toEqual([]);
    },
  );

  it('the permitted number may only fall', () => {
    expect(ratchetFindings(['a'], 1)).toEqual([]);
    expect(ratchetFindings(['a'], 2)).toEqual(['1 findings: lower the permitted number, 2']);
    expect(ratchetFindings(['a', 'b'], 1)).toEqual(['2 findings, more than 1:', 'a', 'b']);
  });
});

import { checkAnswer } from './answers.js';
import { LEAST_CHARACTERS, type ValueRule, valueFor, verify, WRITERS } from './values.js';

const rule: ValueRule = { characters: 8, planted: false };

describe('a value', () => {
  it("a value belongs to its key and its writer, and is verified without the writer's number", () => {
    const values = [0, 1, 4711, WRITERS - 1].map((writer) => valueFor(rule, 'key-1', writer));
    expect(new Set(values).size).toBe(4);
    for (const value of values) expect(() => verify(rule, 'key-1', value)).not.toThrow();
    expect(valueFor(rule, 'key-1', 3)).toBe(valueFor(rule, 'key-1', 3));
  });

  it.each([8, 98, 100])('a value has %i characters, for every key', (characters) => {
    expect(valueFor({ characters, planted: false }, 'item-00000001', 5)).toMatch(/^[\w-]+$/);
    expect(valueFor({ characters, planted: false }, 'item-00000001', 5)).toHaveLength(characters);
  });

  it('a value is refused for another key, with one character changed, shorter, longer, or absent', () => {
    const value = valueFor(rule, 'key-1', 77);
    expect(value.length).toBeGreaterThanOrEqual(LEAST_CHARACTERS);
    const changed = [...value].map((_, i) => value.slice(0, i) + (value[i] === 'A' ? 'B' : 'A') + value.slice(i + 1));
    const wrong = [...changed, value.slice(1), `${value}A`, '', undefined, null, 7, { value }];
    for (const each of wrong) expect(() => verify(rule, 'key-1', each)).toThrow(/wrong value of key-1/);
    expect(() => verify(rule, 'key-2', value)).toThrow(/wrong value of key-2/);
  });

  it('a planted value is one of another key', () => {
    expect(() => verify(rule, 'key-1', valueFor({ ...rule, planted: true }, 'key-1', 0))).toThrow(/wrong value/);
  });

  it('a value has no repetitions, so that it does not compress', () => {
    const value = valueFor({ characters: 10_000, planted: false }, 'key-1', 0);
    const words = value.match(/.{4}/g)!;
    expect(new Set(words).size).toBeGreaterThan(words.length * 0.99);
  });
});

describe('an HTTP answer', () => {
  const value = valueFor(rule, 'key-1', 0);
  const other = valueFor(rule, 'key-2', 0);
  const values = (...all: unknown[]) => JSON.stringify({ values: all.map((each) => ({ timestamp: 1, value: each })) });
  const entries = (...all: [string, string][]) =>
    JSON.stringify({ entries: all.map(([key, own]) => ({ key, value: own })) });

  it('an HTTP answer with the requested contents passes', () => {
    checkAnswer(rule, { of: 'value', key: 'key-1' }, JSON.stringify(value));
    checkAnswer(rule, { of: 'values', keys: ['key-1', 'key-2'] }, values(value, other));
    checkAnswer(rule, { of: 'entries', count: 1 }, entries(['key-1', value]));
    checkAnswer(rule, { of: 'commit' }, '{"timestamp":5}');
    checkAnswer(rule, { of: 'nothing' }, '');
  });

  it.each([
    ['another value', { of: 'value', key: 'key-1' }, JSON.stringify(other)],
    ['values in another order', { of: 'values', keys: ['key-1', 'key-2'] }, values(other, value)],
    ['a value that is missing', { of: 'values', keys: ['key-1'] }, '{"values":[null]}'],
    ['too few values', { of: 'values', keys: ['key-1', 'key-2'] }, values(value)],
    ['an entry with the value of another key', { of: 'entries', count: 1 }, entries(['key-1', other])],
    ['too few entries', { of: 'entries', count: 2 }, entries(['key-1', value])],
    ['no timestamp', { of: 'commit' }, '{"timestamp":null}'],
    ['a body where there should be none', { of: 'nothing' }, '{}'],
  ] as const)('an HTTP answer with %s is refused', (_what, expected, body) => {
    expect(() => checkAnswer(rule, expected, body)).toThrow(/wrong value|expected/);
  });
});

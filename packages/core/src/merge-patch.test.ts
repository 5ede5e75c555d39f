import { mergePatch } from './merge-patch.js';

/** Document, patch, result: appendix A of RFC 7396. */
const CASES: readonly (readonly [string, string, string])[] = [
  ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
  ['{"a":"b"}', '{"a":null}', '{}'],
  ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
  ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
  ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
  ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
  ['["a","b"]', '["c","d"]', '["c","d"]'],
  ['{"a":"b"}', '["c"]', '["c"]'],
  ['{"a":"foo"}', 'null', 'null'],
  ['{"a":"foo"}', '"bar"', '"bar"'],
  ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
  ['[1,2]', '{"a":"b","c":null}', '{"a":"b"}'],
  ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
];

test.each(CASES)('%s patched with %s is %s, as RFC 7396 lists', (target, patch, result) => {
  expect(JSON.stringify(mergePatch(JSON.parse(target), JSON.parse(patch)))).toBe(result);
});

test('a member called __proto__ is merged like any other', () => {
  const target = JSON.parse('{"__proto__":{"a":1}}');
  const merged = mergePatch(target, JSON.parse('{"__proto__":{"b":2}}'));
  expect(JSON.stringify(merged)).toBe('{"__proto__":{"a":1,"b":2}}');
  expect(({} as { b?: number }).b).toBeUndefined();
});

test('document and patch stay as they are', () => {
  const [target, patch] = [{ a: { b: 1 } }, { a: { c: 2 } }];
  expect(mergePatch(target, patch)).toEqual({ a: { b: 1, c: 2 } });
  expect([target, patch]).toEqual([{ a: { b: 1 } }, { a: { c: 2 } }]);
});

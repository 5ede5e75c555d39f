import { IsochronError } from './errors.js';
import { isNormalForm } from './normal-form.js';
import { readDocument } from './read-document.js';

function refusal(text: string, levels?: number): string {
  try {
    readDocument(text, 'document', levels);
    return 'accepted';
  } catch (error) {
    if (error instanceof IsochronError) return `${error.code} ${error.message}`;
    throw error;
  }
}

describe('a document at the door', () => {
  it.each([
    ['white space', ' {\n "a" : [ 1 , 2 ] }\r\t', '{"a":[1,2]}'],
    ['an escape that needs none', '"\\u0041\\/\\u00e9"', '"A/é"'],
    ['a pair of surrogates as escapes', '"\\ud834\\uDD1E"', '"\ud834\udd1e"'],
    ['a backslash before what looks like an escape', '"\\\\ud800"', '"\\\\ud800"'],
    ['zeros at the ends', '[1.0,1.10,100e-2,0.0,-0]', '[1,1.1,1,0,0]'],
    ['a fraction with many digits', '3.141592653589793238462643383279', '3.141592653589793'],
    ['a fraction beyond 2^53', '9007199254740993.5', '9007199254740994'],
    ['an exponent', '[1E2,1e+2,5E-324,1.7976931348623157e308]', '[100,100,5e-324,1.7976931348623157e+308]'],
    ['the greatest safe integers', '[9007199254740991,-9007199254740991]', '[9007199254740991,-9007199254740991]'],
    ['2^53', '9007199254740992', '9007199254740992'],
    [
      'a large number as a double is written',
      '[1e20,12345678901234567000]',
      '[100000000000000000000,12345678901234567000]',
    ],
    ['large numbers of few digits', '[1e300,6.02214076e23]', '[1e+300,6.02214076e+23]'],
    ['a long zero', `[0.${'0'.repeat(100)},0e999999]`, '[0,0]'],
    ['members in another order than numbers', '{"b":1,"2":2,"1":3}', '{"1":3,"2":2,"b":1}'],
    ['names of JavaScript', '{"__proto__":{"a":1},"constructor":1}', '{"__proto__":{"a":1},"constructor":1}'],
    ['one name in two objects', '[{"a":1},{"a":{"a":1}}]', '[{"a":1},{"a":{"a":1}}]'],
    ['names that Unicode calls equal', '{"\u00e9":1,"e\u0301":2}', '{"\u00e9":1,"e\u0301":2}'],
  ])('a document with %s is stored in its normal form', (_what, text, normal) => {
    const read = readDocument(text);
    expect(read.text).toBe(normal);
    expect(read.value).toEqual(JSON.parse(text));
    expect(readDocument(normal)).toEqual({ text: normal, value: JSON.parse(normal) as unknown });
  });

  it.each([
    ['a member twice', '{"owner":"ann","owner":"eve"}', '/owner: a member of this name is there twice'],
    ['a member twice in two spellings', '{"a":{"b":1,"\\u0062":2}}', '/a/b: a member of this name is there twice'],
    ['__proto__ twice', '{"__proto__":1,"__proto__":1}', '/__proto__: a member of this name is there twice'],
    ['a member twice in an item', '[0,{"x":[],"x":[]}]', '/1/x: a member of this name is there twice'],
    ['a name with a slash twice', '{"a/~":{"":1,"":2}}', '/a~1~0/: a member of this name is there twice'],
    ['half a surrogate pair', '{"a":["x","\\ud800"]}', '/a/1: a text has half a surrogate pair'],
    ['the other half', '"\\uDC00\\ud834"', ': a text has half a surrogate pair'],
    ['half a pair in a name', '{"a":{"\\ud800":1}}', '/a: a text has half a surrogate pair'],
    ['half a pair after a backslash', '"\\\\\\ud800"', ': a text has half a surrogate pair'],
    ['half a pair without an escape', '"\ud800"', ': the text has half a surrogate pair'],
    [
      'a number beyond doubles',
      '{"n":1e400}',
      '/n: the number 1e400 is beyond the range of a double. Store it as text',
    ],
    ['a number below doubles', '[-1e-400]', '/0: the number -1e-400 is beyond the range of a double'],
    ['400 digits', `1${'0'.repeat(400)}`, 'is beyond the range of a double'],
    [
      '2^53 + 1',
      '{"id":9007199254740993}',
      '/id: a double holds 9007199254740992, not the whole number 9007199254740993',
    ],
    ['-2^53 - 1', '-9007199254740993', 'a double holds -9007199254740992, not the whole number -9007199254740993'],
    ['64 bits', '[18446744073709551615]', '/0: a double holds 18446744073709552000'],
    ['2^60, which is written with other digits', '1152921504606846976', 'a double holds 1152921504606847000'],
    ['a whole number in another spelling', '[9007199254740993.0,1]', '/0: a double holds 9007199254740992'],
    ['a whole number with an exponent', '9007199254740993e0', ': a double holds 9007199254740992'],
    ['a whole number with a negative exponent', '90071992547409930e-1', ': a double holds 9007199254740992'],
    ['a fault after another', '{"a":1e400,"a":1}', '/a: the number 1e400'],
    ['no JSON', '{"a":01}', ': it is not JSON'],
    ['nothing', '', ': it is not JSON'],
    ['a byte order mark', '\ufeff1', ': it is not JSON'],
    ['129 levels', '['.repeat(129) + ']'.repeat(129), 'it has more than 128 levels'],
  ])('a document with %s is refused, with its place', (_what, text, message) => {
    expect(refusal(text)).toMatch(/^VALUE_INVALID document/);
    expect(refusal(text)).toContain(message);
  });

  it('the place of a fault is one short line, whatever the names', () => {
    const name = `a\n${'x'.repeat(10_000)}`;
    expect(refusal(`{${JSON.stringify(name)}:1e400}`)).toMatch(/^VALUE_INVALID document\/a\\nx{100,200}…: the number/);
    expect(refusal('9'.repeat(100_000)).length).toBeLessThan(200);
  });

  // In quadratic time each of these would take hours.
  it('a document of a megabyte is searched in linear time, whatever it has', () => {
    for (const text of [
      ` ["${'\\\\'.repeat(500_000)}"]`,
      ` [${'1,'.repeat(500_000)}1]`,
      ` {${Array.from({ length: 100_000 }, (_, i) => `"k${i}":0`).join()}}`,
      `0.${'10'.repeat(500_000)}`,
      `1${'0'.repeat(1_000_000)}1`,
      `"${'\\ud834\\udd1e'.repeat(80_000)}"`,
    ])
      refusal(text);
  }, 120_000);
});

it.each([
  ['"\\ud800"', false],
  ['"\\\\\\ud800"', false],
  ['"\\\\ud800"', true],
  ['"\\\\\\\\ud800"', true],
  ['1e400', false],
  ['{"a":1}', true],
  ['{"a":1} ', false],
])('the text %s is a normal form: %s', (text, expected) => {
  expect(isNormalForm(text, JSON.parse(text))).toBe(expected);
});

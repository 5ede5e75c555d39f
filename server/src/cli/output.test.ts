import { bytes, count, duration, escaped, nameOf } from './output.js';

describe('what people read', () => {
  it('count puts commas between thousands', () => {
    expect(count(1234567)).toBe('1,234,567');
  });

  it.each([
    [12, '12 ms'],
    [1234, '1.2 s'],
    [250_000, '4 min 10 s'],
  ])('duration shows %d ms as %s', (ms, text) => {
    expect(duration(ms)).toBe(text);
  });

  it.each([
    [0, '0 B'],
    [1023, '1023 B'],
    [1024, '1.0 KiB'],
    [120 * 2 ** 20, '120 MiB'],
    [3.5 * 2 ** 30, '3.5 GiB'],
    [2 ** 60, '1048576 TiB'],
  ])('bytes shows %d bytes as %s', (value, text) => {
    expect(bytes(value)).toBe(text);
  });
});

describe('a stored text', () => {
  it.each([
    ['users/ann b', 'users/ann b'],
    ['caf\u00e9 \u{1f469}\u200d\u{1f9b0}', 'caf\u00e9 \u{1f469}\u200d\u{1f9b0}'],
    ['a\nadmin\t{}', '"a\\nadmin\\t{}"'],
    ['a\u001b[2J', '"a\\u001b[2J"'],
    ['a\u009b2J\u2028\u202e', '"a\\u009b2J\\u2028\\u202e"'],
    ['"quoted"', '"\\"quoted\\""'],
  ])('a stored name is one line without controls of a terminal: %j is shown as %s', (name, shown) => {
    expect(nameOf(name)).toBe(shown);
  });

  it('JSON without its controls is the same JSON', () => {
    const document = { 'a\u009b': ['\u2028', '\u0085', 'x'] };
    expect(escaped(JSON.stringify(document))).toMatch(/^[\x20-\x7e]*$/);
    expect(JSON.parse(escaped(JSON.stringify(document)))).toEqual(document);
  });
});

import { bytes, count, duration } from './output.js';

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

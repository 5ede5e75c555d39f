import fc from 'fast-check';
import { pack } from './msgpack.js';
import { packedSize } from './packed-size.js';

/** The parts of messages, with sizes around every border of the encoding. */
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.integer({ min: -(2 ** 33), max: 2 ** 33 }),
    fc.constantFrom(...[7, 8, 15, 16, 31, 32, 53].flatMap((power) => [2 ** power - 1, 2 ** power, -(2 ** power)])),
    fc.double({ noNaN: true }),
    fc.string({ unit: 'binary', maxLength: 100 }),
    fc.nat(70_000).map((length) => 'x'.repeat(length)),
    fc.nat(70_000).map((length) => new Uint8Array(length)),
    fc.constantFrom(null, undefined, true, false),
    fc.array(tie('value'), { maxLength: 40 }),
  ),
}));

describe('the size of a value as MessagePack', () => {
  it('the size of a value is the length of its encoding', () => {
    fc.assert(fc.property(value, (of) => expect(packedSize(of)).toBe(pack(of).length)));
  });

  it('the size of an object is that of its fields in order', () => {
    expect(packedSize({ ts: 2 ** 40, key: 'k', deps: [1, 2] })).toBe(pack([2 ** 40, 'k', [1, 2]]).length);
  });

  it('the size is right for lists and texts of all lengths of length', () => {
    for (const length of [0, 15, 16, 31, 32, 255, 256, 65_535, 65_536]) {
      const list = new Array<number>(length).fill(1);
      expect(packedSize(list)).toBe(pack(list).length);
      const text = 'é'.repeat(length);
      expect(packedSize(text)).toBe(pack(text).length);
    }
  });
});

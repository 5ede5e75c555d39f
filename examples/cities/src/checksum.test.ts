import fc from 'fast-check';
import { Checksum, canonicalJson } from './checksum.js';

const entries = fc.uniqueArray(fc.tuple(fc.string({ minLength: 1 }), fc.jsonValue()), { selector: ([key]) => key });

function checksumOf(pairs: readonly (readonly [string, unknown])[]): string {
  const checksum = new Checksum();
  for (const [key, document] of pairs) checksum.add(key, document);
  return `${checksum.count} ${checksum.hex}`;
}

describe('Checksum', () => {
  it('Checksum is the same in whatever order the entries come', () => {
    const shuffled = entries.chain((pairs) =>
      fc.tuple(fc.constant(pairs), fc.shuffledSubarray(pairs, { minLength: pairs.length })),
    );
    fc.assert(fc.property(shuffled, ([pairs, other]) => checksumOf(pairs) === checksumOf(other)));
  });

  it('Checksum differs for data sets that differ in one document', () => {
    expect(
      checksumOf([
        ['a', 1],
        ['b', 2],
      ]),
    ).not.toBe(
      checksumOf([
        ['a', 1],
        ['b', 3],
      ]),
    );
  });

  it('Checksum differs for data sets in which documents changed places', () => {
    expect(
      checksumOf([
        ['a', 1],
        ['b', 2],
      ]),
    ).not.toBe(
      checksumOf([
        ['a', 2],
        ['b', 1],
      ]),
    );
  });

  it('Checksum counts an entry that occurs twice', () => {
    expect(
      checksumOf([
        ['a', 1],
        ['a', 1],
      ]).split(' ')[1],
    ).not.toBe(checksumOf([]).split(' ')[1]);
  });

  it('Checksum stays below 2^64', () => {
    const checksum = new Checksum();
    for (let i = 0; i < 100; i++) checksum.add(`${i}`, i);
    expect(checksum.hex).toMatch(/^[0-9a-f]{16}$/);
  });
});

describe('canonicalJson', () => {
  it('canonicalJson does not depend on the order of members, at any depth', () => {
    expect(canonicalJson({ b: [{ d: 1, c: null }], a: 'x' })).toBe('{"a":"x","b":[{"c":null,"d":1}]}');
  });

  it('canonicalJson is JSON for the same document', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });
});

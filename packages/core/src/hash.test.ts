import fc from 'fast-check';
import { hashKey } from './hash.js';

/** The same hash over encoded bytes, as its comment defines it. */
function overBytes(text: string): number {
  let h = 0x811c9dc5;
  for (const byte of Buffer.from(text, 'utf8')) h = Math.imul(h ^ byte, 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

test('a hash is that of the UTF-8 bytes, for every well-formed text', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => expect(hashKey(text)).toBe(overBytes(text))));
});

/** Placement depends on them: these values never change. */
test.each([
  ['', 0xab3e7c0b],
  ['default/todos/1', 0xb50d93e3],
  ['default/ключ', 0xef8b00e5],
  ['default/🔑', 0xd70af6c2],
])('the hash of %p stays what it was', (text, hash) => {
  expect(hashKey(text)).toBe(hash);
});

test('keys that differ in their last character spread over all partitions', () => {
  const counts = new Array<number>(16).fill(0);
  for (let i = 0; i < 16_000; i++) counts[hashKey(`default/user/${i}`) % 16]!++;
  for (const count of counts) {
    expect(count).toBeGreaterThan(850);
    expect(count).toBeLessThan(1150);
  }
});

/** Damage to bytes: accidental, on a wire or on a disk, or intended by an attacker. */
import fc from 'fast-check';

/** One change. Positions are taken modulo the length. */
export type Damage =
  | { readonly kind: 'flip'; readonly at: number; readonly bit: number }
  | { readonly kind: 'truncate'; readonly to: number }
  | { readonly kind: 'duplicate'; readonly from: number; readonly length: number }
  | { readonly kind: 'insert'; readonly at: number; readonly bytes: Uint8Array }
  | { readonly kind: 'overwrite'; readonly at: number; readonly bytes: Uint8Array };

/**
 * MessagePack headers that declare more than the input can hold: binary, text, arrays, maps and extensions of 4 GiB, 64
 * KiB, 255 B.
 */
export const GIANT_HEADERS: readonly Uint8Array[] = [
  ...[0xc6, 0xdb, 0xdd, 0xdf, 0xc9].map((tag) => Uint8Array.of(tag, 0xff, 0xff, 0xff, 0xff, 0x01)),
  ...[0xc6, 0xdb, 0xdd, 0xdf, 0xc9].map((tag) => Uint8Array.of(tag, 0x7f, 0xff, 0xff, 0xff, 0x01)),
  ...[0xc5, 0xda, 0xdc, 0xde, 0xc8].map((tag) => Uint8Array.of(tag, 0xff, 0xff, 0x01)),
  ...[0xc4, 0xd9, 0xc7].map((tag) => Uint8Array.of(tag, 0xff, 0x01)),
];

const position = fc.nat({ max: 1 << 20 });
const someBytes = fc.oneof(fc.uint8Array({ minLength: 1, maxLength: 12 }), fc.constantFrom(...GIANT_HEADERS));
const change: fc.Arbitrary<Damage> = fc.oneof(
  fc.record({ kind: fc.constant('flip' as const), at: position, bit: fc.nat({ max: 7 }) }),
  fc.record({ kind: fc.constant('truncate' as const), to: position }),
  fc.record({ kind: fc.constant('duplicate' as const), from: position, length: fc.integer({ min: 1, max: 64 }) }),
  fc.record({ kind: fc.constant('insert' as const), at: position, bytes: someBytes }),
  fc.record({ kind: fc.constant('overwrite' as const), at: position, bytes: someBytes }),
);

/** One to four changes. */
export const damages: fc.Arbitrary<readonly Damage[]> = fc.array(change, { minLength: 1, maxLength: 4 });

/** A copy of the bytes with the damage. */
export const damaged = (bytes: Uint8Array, changes: readonly Damage[]): Uint8Array =>
  changes.reduce(damagedOnce, Uint8Array.from(bytes));

function damagedOnce(bytes: Uint8Array, change: Damage): Uint8Array {
  if (change.kind === 'truncate') return bytes.subarray(0, change.to % (bytes.length + 1));
  if (bytes.length === 0) return bytes;
  switch (change.kind) {
    case 'flip': {
      const flipped = Uint8Array.from(bytes);
      const at = change.at % bytes.length;
      flipped[at] = flipped[at]! ^ (1 << change.bit);
      return flipped;
    }
    case 'duplicate': {
      const from = change.from % bytes.length;
      return spliced(bytes, from, 0, bytes.subarray(from, from + change.length));
    }
    case 'insert':
      return spliced(bytes, change.at % bytes.length, 0, change.bytes);
    case 'overwrite':
      return spliced(bytes, change.at % bytes.length, change.bytes.length, change.bytes);
  }
}

const spliced = (bytes: Uint8Array, at: number, remove: number, insert: Uint8Array): Uint8Array =>
  Uint8Array.from([...bytes.subarray(0, at), ...insert, ...bytes.subarray(at + remove)]);

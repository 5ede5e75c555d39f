/** Values that an attacker sends, and their places in a message that is otherwise well formed. */
import fc from 'fast-check';

/** Arrays in arrays, or objects in objects. */
export function nested(depth: number, wrap: (inner: unknown) => unknown = (inner) => [inner]): unknown {
  let value: unknown = 0;
  for (let i = 0; i < depth; i++) value = wrap(value);
  return value;
}

/** An object with an own field under a name that every object inherits. */
const trap = (name: string, value: unknown): object =>
  Object.defineProperty({}, name, { value, enumerable: true, configurable: true, writable: true });

const TRAPS = ['__proto__', 'constructor', 'prototype', 'toString', 'toJSON', 'then', 'length'];
const NUMBERS = [0, -0, -1, 0.5, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1, 2 ** 53, 2 ** 64, 1e308];
const WRONG_NUMBERS = [...NUMBERS, -(2 ** 53), Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
const TEXTS = [
  '',
  '\0',
  '/',
  '\u{1f600}',
  'é'.repeat(700),
  'x'.repeat(5000),
  '\ud800',
  '../../etc',
  '{}',
  '[]',
  'null',
];

/** Plain values that both JSON and MessagePack carry. */
export const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, ...WRONG_NUMBERS, ...TEXTS, ...TRAPS),
  fc.constantFrom<unknown>([], {}, [[]], [null], ...TRAPS.map((name) => trap(name, { admin: true }))),
  fc.integer({ min: 1, max: 300 }).map((depth) => nested(depth)),
  fc.integer({ min: 1, max: 300 }).map((depth) => nested(depth, (inner) => ({ a: inner }))),
  fc.array(fc.nat({ max: 3 }), { minLength: 10, maxLength: 2000, size: 'max' }),
  fc.anything({ maxDepth: 3 }),
);

/** Index of the part to replace, modulo the number of parts. */
export const place: fc.Arbitrary<number> = fc.nat({ max: 1 << 20 });

/** A copy of a plain value with one part replaced; the part may be the whole. */
export function replaced(value: unknown, at: number, by: (old: unknown) => unknown): unknown {
  const paths = [...pathsOf(value)];
  return replacedAt(value, paths[at % paths.length]!, by);
}

type Path = readonly (string | number)[];

/** Every part of a value, the whole first. */
function* pathsOf(value: unknown, path: Path = []): Generator<Path> {
  yield path;
  if (Array.isArray(value)) for (let i = 0; i < value.length; i++) yield* pathsOf(value[i], [...path, i]);
  if (!isPlainObject(value)) return;
  for (const [name, inner] of Object.entries(value)) yield* pathsOf(inner, [...path, name]);
}

function replacedAt(value: unknown, [first, ...rest]: Path, by: (old: unknown) => unknown): unknown {
  if (first === undefined) return by(value);
  if (Array.isArray(value)) {
    return value.map((inner: unknown, i) => (i === first ? replacedAt(inner, rest, by) : inner));
  }
  const object = value as Record<string, unknown>;
  return { ...object, [first]: replacedAt(object[first], rest, by) };
}

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** A value as JSON, without the parts that JSON cannot carry. */
export const jsonOf = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? Number(part) : part)) ?? 'null';

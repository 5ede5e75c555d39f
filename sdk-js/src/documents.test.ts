import { DEFAULT_LIMITS } from '@isochron/core/limits';
import { documents } from '../../test/vectors/pure/documents.js';
import { applyMergePatch, encodeDocument } from './documents.js';

const stored = (document: unknown) => encodeDocument(document, DEFAULT_LIMITS);
const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);

class Account {
  owner = 'ann';
}

describe('a document', () => {
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  it.each<[string, unknown, string]>([
    ['NaN', Number.NaN, 'document: NaN'],
    ['infinity in a list', { a: [1, Number.POSITIVE_INFINITY] }, 'document/a/1: Infinity'],
    ['a Map', { tags: new Map([['a', 1]]) }, 'document/tags: Map'],
    ['a Set', [new Set([1])], 'document/0: Set'],
    ['a Blob', { file: new Blob(['x']) }, 'document/file: Blob'],
    ['an object of a class', { a: new Account() }, 'document/a: Account'],
    ['an error', { e: new TypeError('x') }, 'document/e: TypeError'],
    ['a promise', Promise.resolve(1), 'document: Promise'],
    ['a regular expression', /x/, 'document: RegExp'],
    ['a date that is none', { at: new Date(Number.NaN) }, 'document/at: NaN'],
    ['half a surrogate pair', { a: ['x', '\ud800'] }, 'document/a/1: half a surrogate pair'],
    ['half a surrogate pair in a name', { 'a/b': { '\udc00': 1 } }, 'document/a~1b: half a surrogate pair'],
    ['undefined', undefined, 'document: undefined'],
    ['undefined in a list', { a: [undefined] }, 'document/a/0: undefined'],
    ['a hole in a list', Object.assign([1], { length: 2 }), 'document/1: undefined'],
    ['a function', { f: () => 1 }, 'document/f: Function'],
    ['a symbol', { s: Symbol('s') }, 'document/s: Symbol'],
    ['a bigint', { n: 1n }, 'document/n: BigInt'],
    ['bytes inside of it', { bytes: new Uint8Array(2) }, 'document/bytes: Uint8Array'],
    ['a Buffer inside of it', { bytes: Buffer.from('x') }, 'document/bytes: Buffer'],
    ['an ArrayBuffer inside of it', { bytes: new ArrayBuffer(2) }, 'document/bytes: ArrayBuffer'],
    ['itself inside of it', cyclic, '/self: more than 128 levels'],
    ['129 lists in each other', nested(129), '/0: more than 128 levels'],
  ])('a document with %s is refused, with its place', (_name, document, what) => {
    expect(() => stored(document)).toThrow(
      expect.objectContaining({ code: 'VALUE_INVALID', message: expect.stringContaining(what) as string }),
    );
  });

  it('a document may have every JSON value, and values with a toJSON method', () => {
    const plain = { a: [1, 'x', true, null, -0.5], b: { c: {} } };
    expect(stored(plain)).toBe(JSON.stringify(plain));
    expect(stored(structuredClone(plain))).toBe(JSON.stringify(plain));
    expect(stored(Object.assign(Object.create(null), { a: 1 }))).toBe('{"a":1}');
    expect(stored({ at: new Date(0) })).toBe('{"at":"1970-01-01T00:00:00.000Z"}');
    expect(stored({ toJSON: () => ({ a: 1 }) })).toBe('{"a":1}');
    expect(stored(nested(128))).toBe(`${'['.repeat(128)}1${']'.repeat(128)}`);
  });

  it('a document has no member where its member is undefined', () => {
    expect(stored({ a: undefined, b: 1 })).toBe('{"b":1}');
  });

  it.each<[string, unknown]>([
    ['Uint8Array', Uint8Array.of(9, 1, 2, 9).subarray(1, 3)],
    ['Buffer', Buffer.from([1, 2])],
    ['ArrayBuffer', Uint8Array.of(1, 2).buffer],
    ['SharedArrayBuffer', new Uint8Array(new SharedArrayBuffer(2)).fill(1).buffer],
    ['DataView', new DataView(Uint8Array.of(9, 1, 2).buffer, 1)],
    ['Uint16Array', new Uint16Array(Uint8Array.of(1, 2).buffer)],
    ['Float32Array', new Float32Array(Uint8Array.of(1, 2, 3, 4).buffer)],
  ])('a document of the type %s is stored as a copy of its bytes', (name, document) => {
    const expected = { SharedArrayBuffer: [1, 1], Float32Array: [1, 2, 3, 4] }[name] ?? [1, 2];
    const value = stored(document) as Uint8Array;
    expect([...value]).toEqual(expected);
    const { buffer = document } = document as { buffer?: unknown };
    expect(value.buffer).not.toBe(buffer);
    expect(value.length).toBe(value.buffer.byteLength);
  });

  it('a document of bytes is no patch', () => {
    expect(() => applyMergePatch('{}', new ArrayBuffer(1), DEFAULT_LIMITS)).toThrow('bytes cannot be patched');
  });

  it('a document is refused in a patch as in a write', () => {
    expect(() => applyMergePatch('{}', { a: { b: Number.NaN } }, DEFAULT_LIMITS)).toThrow('document/a/b: NaN');
  });

  it('documents are stored and refused as in the test vectors', () => {
    const { documents: cases } = documents(1) as { documents: readonly object[] };
    expect(cases.filter((one) => 'path' in one).length).toBeGreaterThan(5);
    expect(cases.filter((one) => 'stored' in one).length).toBeGreaterThan(5);
  });
});

import { HLC_EPOCH_MS, HLC_TICKS_PER_MS } from '../hlc.js';
import type { Value } from '../ids.js';
import { Fold, MAX_FOLDED_BYTES } from './fold.js';
import type { Operation } from './operations.js';
import { Update } from './update.js';

const at = (n: number) => ({ ts: n * HLC_TICKS_PER_MS + 7, txId: `tx-${n}` });
const update = (...operations: Operation[]): Update => new Update(JSON.stringify(operations));

function folded(base: Value | null, ...operations: Operation[]): Value | null {
  const fold = new Fold(base);
  fold.apply(update(...operations), at(1));
  return fold.result();
}

/** Document, operation, document. */
const CASES: readonly (readonly [string | null, Operation, string | null])[] = [
  // set
  [null, { op: 'set', path: '', value: { a: 1 } }, '{"a":1}'],
  [null, { op: 'set', path: '/a/b', value: 1 }, '{"a":{"b":1}}'],
  ['{"a":1,"b":2}', { op: 'set', path: '/a', value: null }, '{"a":null,"b":2}'],
  ['{"a":1}', { op: 'set', path: '/a/b', value: 2 }, '{"a":{"b":2}}'],
  ['[1]', { op: 'set', path: '', value: 'x' }, '"x"'],
  ['"text"', { op: 'set', path: '/a', value: 1 }, '{"a":1}'],
  ['{}', { op: 'set', path: '/', value: 1 }, '{"":1}'],
  ['{}', { op: 'set', path: '/a~1b/~0', value: 1 }, '{"a/b":{"~":1}}'],
  ['{}', { op: 'set', path: '/~01', value: 1 }, '{"~1":1}'],
  ['{"b":1,"a":2}', { op: 'set', path: '/10', value: 3 }, '{"10":3,"b":1,"a":2}'],
  // remove
  ['{"a":1,"b":2}', { op: 'remove', path: '/a' }, '{"b":2}'],
  ['{"a":1}', { op: 'remove', path: '/a' }, '{}'],
  ['{"a":1}', { op: 'remove', path: '/b/c' }, '{"a":1}'],
  ['{"a":1}', { op: 'remove', path: '/a/b' }, '{"a":1}'],
  ['{"a":1}', { op: 'remove', path: '' }, null],
  [null, { op: 'remove', path: '/a' }, null],
  [null, { op: 'remove', path: '' }, null],
  // arrays on the way
  ['{"a":[1,2,3]}', { op: 'set', path: '/a/1', value: 9 }, '{"a":[1,9,3]}'],
  ['{"a":[1,2,3]}', { op: 'remove', path: '/a/1' }, '{"a":[1,3]}'],
  ['{"a":[{"n":1}]}', { op: 'increment', path: '/a/0/n', by: 1 }, '{"a":[{"n":2}]}'],
  ['{"a":[1]}', { op: 'set', path: '/a/0/b', value: 1 }, '{"a":[{"b":1}]}'],
  ['{"a":[1]}', { op: 'set', path: '/a/1', value: 9 }, '{"a":[1]}'],
  ['{"a":[1]}', { op: 'set', path: '/a/-', value: 9 }, '{"a":[1]}'],
  ['{"a":[1,2]}', { op: 'set', path: '/a/01', value: 9 }, '{"a":[1,2]}'],
  ['{"a":[1]}', { op: 'set', path: '/a/length', value: 9 }, '{"a":[1]}'],
  ['{"a":[1]}', { op: 'increment', path: '/a/x/y', by: 9 }, '{"a":[1]}'],
  ['[[1],[2]]', { op: 'append', path: '/1', items: [3] }, '[[1],[2,3]]'],
  // mergePatch
  ['{"a":1,"b":{"c":2,"d":3}}', { op: 'mergePatch', path: '', patch: { a: null, b: { c: 4 } } }, '{"b":{"c":4,"d":3}}'],
  ['{"a":{"b":1}}', { op: 'mergePatch', path: '/a', patch: { c: 2 } }, '{"a":{"b":1,"c":2}}'],
  ['{}', { op: 'mergePatch', path: '/a/b', patch: { c: { d: null } } }, '{"a":{"b":{"c":{}}}}'],
  [null, { op: 'mergePatch', path: '', patch: { a: 1, b: null } }, '{"a":1}'],
  ['{"a":1}', { op: 'mergePatch', path: '', patch: null }, 'null'],
  ['{"a":1}', { op: 'mergePatch', path: '/a', patch: null }, '{"a":null}'],
  ['[1,2]', { op: 'mergePatch', path: '', patch: {} }, '{}'],
  // increment
  ['{"n":1}', { op: 'increment', path: '/n', by: -3 }, '{"n":-2}'],
  ['{"n":0.1}', { op: 'increment', path: '/n', by: 0.2 }, '{"n":0.30000000000000004}'],
  ['{"n":"1"}', { op: 'increment', path: '/n', by: 2 }, '{"n":2}'],
  ['{"n":null}', { op: 'increment', path: '/n', by: 2 }, '{"n":2}'],
  [null, { op: 'increment', path: '/n', by: 2 }, '{"n":2}'],
  ['5', { op: 'increment', path: '', by: 2 }, '7'],
  ['{"n":1.7e+308}', { op: 'increment', path: '/n', by: 1.7e308 }, '{"n":1.7e+308}'],
  ['{"n":1.7e+308}', { op: 'increment', path: '/n', by: -1.7e308 }, '{"n":0}'],
  ['{"n":9007199254740990}', { op: 'increment', path: '/n', by: 1 }, '{"n":9007199254740991}'],
  ['{"n":9007199254740990}', { op: 'increment', path: '/n', by: 2 }, '{"n":9007199254740990}'],
  ['{"n":-9007199254740991}', { op: 'increment', path: '/n', by: -1 }, '{"n":-9007199254740991}'],
  ['{"n":9007199254740991}', { op: 'increment', path: '/n', by: 0.5 }, '{"n":9007199254740992}'],
  ['{"n":1e+21}', { op: 'increment', path: '/n', by: 1 }, '{"n":1e+21}'],
  ['{"n":1e+21}', { op: 'increment', path: '/n', by: 1e21 }, '{"n":2e+21}'],
  ['{"n":0}', { op: 'increment', path: '/n', by: -0 }, '{"n":0}'],
  // max, min
  ['{"n":1}', { op: 'max', path: '/n', value: 2 }, '{"n":2}'],
  ['{"n":3}', { op: 'max', path: '/n', value: 2 }, '{"n":3}'],
  ['{"n":1}', { op: 'min', path: '/n', value: 2 }, '{"n":1}'],
  ['{"n":[]}', { op: 'min', path: '/n', value: 2 }, '{"n":2}'],
  // arrays as sets
  ['{"t":["a","b"]}', { op: 'arrayUnion', path: '/t', items: ['b', 'c', 'c'] }, '{"t":["a","b","c"]}'],
  [
    '{"t":[1,{"x":1,"y":[2]}]}',
    { op: 'arrayUnion', path: '/t', items: [1.0, { y: [2], x: 1 }] },
    '{"t":[1,{"x":1,"y":[2]}]}',
  ],
  [
    '{"t":[1,"1",null,false,[]]}',
    { op: 'arrayUnion', path: '/t', items: [0, true, {}, ''] },
    '{"t":[1,"1",null,false,[],0,true,{},""]}',
  ],
  ['{"t":["a","a"]}', { op: 'arrayUnion', path: '/t', items: ['a'] }, '{"t":["a","a"]}'],
  ['{"t":5}', { op: 'arrayUnion', path: '/t', items: ['a', 'a'] }, '{"t":["a"]}'],
  [null, { op: 'arrayUnion', path: '/t', items: [] }, '{"t":[]}'],
  ['{"t":["a","b","a",{"x":1,"y":2}]}', { op: 'arrayRemove', path: '/t', items: ['a', { y: 2, x: 1 }] }, '{"t":["b"]}'],
  ['{"t":"a"}', { op: 'arrayRemove', path: '/t', items: ['a'] }, '{"t":[]}'],
  ['{"t":["a"]}', { op: 'arrayRemove', path: '/u', items: ['a'] }, '{"t":["a"]}'],
  [null, { op: 'arrayRemove', path: '/t', items: ['a'] }, null],
  ['{"t":[1]}', { op: 'append', path: '/t', items: [1, 1] }, '{"t":[1,1,1]}'],
  ['{"t":{}}', { op: 'append', path: '/t', items: [1] }, '{"t":[1]}'],
  [null, { op: 'append', path: '', items: [1] }, '[1]'],
  // serverTimestamp, init
  [null, { op: 'serverTimestamp', path: '/at' }, `{"at":${HLC_EPOCH_MS + 1}}`],
  [null, { op: 'init', value: { by: 'a' } }, '{"by":"a"}'],
  ['{"by":"b"}', { op: 'init', value: { by: 'a' } }, '{"by":"b"}'],
  ['null', { op: 'init', value: 1 }, 'null'],
  // names
  ['{}', { op: 'set', path: '/__proto__/x', value: 1 }, '{"__proto__":{"x":1}}'],
  ['{"__proto__":{"x":1}}', { op: 'increment', path: '/__proto__/x', by: 1 }, '{"__proto__":{"x":2}}'],
  ['{"__proto__":1}', { op: 'remove', path: '/__proto__' }, '{}'],
  ['{}', { op: 'remove', path: '/toString' }, '{}'],
  ['{}', { op: 'append', path: '/constructor', items: [1] }, '{"constructor":[1]}'],
  // the normal form
  ['{"2":2,"b":1}', { op: 'set', path: '/1', value: 4 }, '{"1":4,"2":2,"b":1}'],
  ['{"b":1}', { op: 'set', path: '/4294967295', value: 5 }, '{"b":1,"4294967295":5}'],
  ['{"e":"e400 1e400 \\\\ud800"}', { op: 'remove', path: '/x' }, '{"e":"e400 1e400 \\\\ud800"}'],
];

describe('the fold', () => {
  it.each(CASES)('the fold of %s and %j is %s', (base, operation, result) => {
    expect(folded(base, operation)).toBe(result);
  });

  it('the fold without an update is the base, byte by byte', () => {
    expect(new Fold(' {"b":1} ').result()).toBe(' {"b":1} ');
    expect(new Fold(null).result()).toBeNull();
  });

  it('members that every object inherits stay as they are', () => {
    folded('{}', { op: 'set', path: '/__proto__/polluted', value: 1 });
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  it.each<[Value]>([
    [new Uint8Array([1, 2])],
    ['no JSON'],
    ['['.repeat(129) + ']'.repeat(129)],
    ['{"n":1e400}'],
    ['{"a":1,"a":2}'],
    ['{"a":"\\ud800"}'],
    ['{"n":9007199254740993}'],
    [' {}'],
  ])('the fold keeps a base that is no document until an operation replaces it', (base) => {
    expect(folded(base, { op: 'remove', path: '/a' }, { op: 'init', value: 1 })).toEqual(base);
    expect(folded(base, { op: 'set', path: '/a', value: 1 })).toBe('{"a":1}');
    expect(folded(base, { op: 'mergePatch', path: '', patch: { a: 1 } })).toBe('{"a":1}');
    expect(folded(base, { op: 'increment', path: '', by: 1 })).toBe('1');
    expect(folded(base, { op: 'remove', path: '' })).toBeNull();
  });

  it('the fold goes on after its result was taken', () => {
    const fold = new Fold('{"n":1}');
    for (const expected of ['{"n":2}', '{"n":3}']) {
      fold.apply(update({ op: 'increment', path: '/n', by: 1 }));
      expect(fold.result()).toBe(expected);
    }
  });

  it('the time of the server is null before the commit', () => {
    const fold = new Fold(null);
    fold.apply(update({ op: 'serverTimestamp', path: '/at' }));
    expect(fold.result()).toBe('{"at":null}');
  });

  it.each([
    '',
    'null',
    '[]',
    '[{}]',
    '[{"op":"unknown"}]',
    '[{"op":"increment","path":"","by":1e999}]',
    ' [{"op":"remove","path":""}]',
  ])('operations that are not valid have no effect: %s', (operations) => {
    const fold = new Fold('{"a":1}');
    fold.apply(new Update(operations), at(1));
    expect(fold.result()).toBe('{"a":1}');
  });
});

describe('the origin of a document', () => {
  const origin = (base: Value | null, ...updates: Update[]) => {
    const fold = new Fold(base, at(0));
    for (const [i, one] of updates.entries()) fold.apply(one, at(i + 1));
    return fold.origin;
  };
  const increment = update({ op: 'increment', path: '/n', by: 1 });
  const init = update({ op: 'init', value: {} });

  it('the origin is the put, whatever updates follow it', () => {
    expect(origin('{}', increment, init)).toEqual(at(0));
  });

  it('the origin is the first init where there is no document', () => {
    expect(origin(null, init, init, increment)).toEqual(at(1));
  });

  it('the origin is the first update that makes a document, whatever its operation', () => {
    expect(origin(null, update({ op: 'remove', path: '/n' }), increment, init)).toEqual(at(2));
  });

  it('the origin is the last set of the whole document', () => {
    expect(origin('{}', increment, update({ op: 'set', path: '', value: 1 }), init)).toEqual(at(2));
  });

  it('an absent document has no origin', () => {
    expect(origin(null)).toBeUndefined();
    expect(origin('{}', update({ op: 'remove', path: '' }))).toBeUndefined();
    expect(origin('{}', update({ op: 'remove', path: '' }), init)).toEqual(at(2));
  });
});

describe('the limit of a folded document', () => {
  const filled = (bytes: number, rest = ''): string => `{"a":"${'x'.repeat(bytes - 8 - rest.length)}"${rest}}`;
  const limit = MAX_FOLDED_BYTES;

  it('an operation may fill a document to the limit, and has no effect beyond it', () => {
    const base = filled(limit - 6);
    expect(folded(base, { op: 'set', path: '/b', value: 1 })).toHaveLength(limit);
    expect(folded(base, { op: 'set', path: '/b', value: 10 })).toBe(base);
  });

  it('the limit counts bytes of UTF-8', () => {
    const base = filled(limit - 10);
    expect(folded(base, { op: 'set', path: '/b', value: '\u20ac' })).toHaveLength(limit - 2);
    expect(folded(base, { op: 'set', path: '/b', value: '\u20acx' })).toBe(base);
  });

  it('an operation without effect does not keep the others from theirs', () => {
    const base = filled(limit - 6, ',"n":1');
    expect(
      folded(
        base,
        { op: 'append', path: '/l', items: ['xxxx'] },
        { op: 'increment', path: '/n', by: 1 },
        { op: 'remove', path: '/a' },
        { op: 'append', path: '/l', items: ['xxxx'] },
      ),
    ).toBe('{"n":2,"l":["xxxx"]}');
  });

  it('a document above the limit can shrink, and change without growing', () => {
    const base = filled(limit + 100, ',"n":1');
    expect(folded(base, { op: 'increment', path: '/n', by: 1 })).toBe(base.replace('"n":1', '"n":2'));
    expect(folded(base, { op: 'increment', path: '/n', by: 9 })).toBe(base);
  });

  it('a whole document may be larger, as a put may', () => {
    const large = 'x'.repeat(limit + 1);
    expect(folded('{}', { op: 'set', path: '', value: large })).toHaveLength(limit + 3);
    expect(folded(null, { op: 'init', value: large })).toHaveLength(limit + 3);
    expect(folded('{}', { op: 'set', path: '/a', value: large })).toBe('{}');
  });
});

import { dependent, prepared, v } from '@isochron/testing/storage/suite-fixtures';
import { LOGGED, openAs, openHead, openSegment, PREPARED, seal, sealAs, sealHead, sealSegment } from './records.js';

const KEY = 'v0003/a';
const head = (...versions: ReturnType<typeof v>[]) => ({ first: 1, last: 2, tailCount: 20, versions });
const plain = [10, 'tx10', 'virginia', '"10"'];
const writes = [
  ['a', '1'],
  ['b', null],
];
const tx = {
  writes: [
    { key: 'a', value: '1' },
    { key: 'b', value: null },
  ],
};
/** A copy: the next sealed record may use the same memory. */
const bytes = (sealed: Buffer): Buffer => Buffer.from(sealed);

describe('records of what has one timestamp', () => {
  it('records with one timestamp have no element for dependencies', () => {
    expect(bytes(sealHead(head(v(10)), 0, KEY))).toEqual(bytes(seal([1, 2, 20, ...plain], KEY)));
    expect(bytes(sealSegment([v(10)], KEY))).toEqual(bytes(seal(plain, KEY)));
    expect(bytes(sealAs(LOGGED, tx, KEY))).toEqual(bytes(seal(writes, KEY)));
    const { pt, home, attempt, sentAfter, map, cohorts, digest, coordinator } = prepared;
    const fields = [
      pt,
      home,
      attempt,
      sentAfter,
      map,
      cohorts,
      digest,
      coordinator,
      [
        ['a', '{"a":1}'],
        ['b', null],
      ],
    ];
    expect(bytes(sealAs(PREPARED, prepared, KEY))).toEqual(bytes(seal(fields, KEY)));
  });

  it('records with one timestamp open without dependencies', () => {
    expect(openHead(bytes(seal([1, 2, 20, ...plain], KEY)), KEY)).toStrictEqual(head(v(10)));
    expect(openAs(LOGGED, bytes(seal(writes, KEY)), KEY)).toStrictEqual(tx);
    expect(openAs(LOGGED, bytes(seal([], KEY)), KEY)).toStrictEqual({ writes: [] });
    expect(openAs(PREPARED, bytes(sealAs(PREPARED, prepared, KEY)), KEY)).toStrictEqual(prepared);
  });
});

describe('a prepare', () => {
  it('a prepare keeps the regions that its attempt avoids, with dependencies and without', () => {
    for (const record of [
      { ...prepared, avoid: ['oregon'] },
      { ...prepared, deps: [1, 2], avoid: ['ireland', 'oregon'] },
    ])
      expect(openAs(PREPARED, bytes(sealAs(PREPARED, record, KEY)), KEY)).toEqual(record);
  });
});

describe('records with dependencies', () => {
  it('records with dependencies take one element more for each version that has some', () => {
    const versions = [v(10), dependent(20, [5, 2 ** 52]), v(30), dependent(40, [0])];
    const sealed = bytes(sealSegment(versions, KEY));
    expect(openSegment(sealed, KEY)).toStrictEqual(versions);
    expect(openHead(bytes(sealHead(head(...versions), 1, KEY)), KEY)).toStrictEqual(head(...versions.slice(1)));
  });

  it('dependencies that name keys stand behind those that are numbers', () => {
    const depends = [
      { key: 'k', source: 2, ts: 2 ** 52, near: true },
      { key: 'l', source: 0, ts: 1 },
    ];
    const versions = [{ ...v(10), depends }, { ...dependent(20, [5]), depends }, v(30)];
    expect(openSegment(bytes(sealSegment(versions, KEY)), KEY)).toStrictEqual(versions);
    for (const all of [
      { ...tx, depends },
      { ...tx, deps: [5, 6], depends },
      { writes: [], depends },
    ]) {
      expect(openAs(LOGGED, bytes(sealAs(LOGGED, all, KEY)), KEY)).toStrictEqual(all);
    }
    expect(openAs(LOGGED, bytes(sealAs(LOGGED, { ...tx, depends: [] }, KEY)), KEY)).toStrictEqual(tx);
  });

  it('records hold the time of a late write before everything else, and nothing of other writes (F9)', () => {
    const versions = [
      { ...v(10), at: 5 },
      { ...dependent(20, [5]), at: 6, siblings: [3] },
    ];
    expect(bytes(sealSegment([versions[0]!], KEY))).toEqual(bytes(seal([...plain, [null, 5]], KEY)));
    expect(openSegment(bytes(sealSegment(versions, KEY)), KEY)).toStrictEqual(versions);
    for (const logged of [
      { ...tx, at: 5 },
      { ...tx, deps: [5], siblings: [4], at: 6, attempt: 2, needs: [{ node: 1 }] },
    ])
      expect(openAs(LOGGED, bytes(sealAs(LOGGED, logged, KEY)), KEY)).toEqual(logged);
    const damaged = seal([...plain, [null, 'never']], KEY);
    expect(() => openSegment(bytes(damaged), KEY)).toThrow(/time is malformed/);
    const record = { ...prepared, first: 5 };
    expect(openAs(PREPARED, bytes(sealAs(PREPARED, record, KEY)), KEY)).toEqual(record);
  });

  it('records hold siblings behind dependencies that are numbers', () => {
    const depends = [{ key: 'k', source: 2, ts: 5, near: true }];
    const versions = [
      { ...v(10), siblings: [0, 7] },
      { ...dependent(20, [5]), siblings: [3], depends },
      v(30),
      { ...v(40), depends },
    ];
    expect(openSegment(bytes(sealSegment(versions, KEY)), KEY)).toStrictEqual(versions);
    for (const all of [
      { ...tx, siblings: [0, 4] },
      { ...tx, deps: [5], siblings: [4], depends },
      { ...tx, siblings: [4], attempt: 0 },
      { writes: [], attempt: 3 },
      { ...tx, deps: [1], attempt: 2, needs: [{ node: 2 }, { ct: 8 }] },
    ])
      expect(openAs(LOGGED, bytes(sealAs(LOGGED, all, KEY)), KEY)).toStrictEqual(all);
    expect(openAs(PREPARED, bytes(sealAs(PREPARED, { ...prepared, repeatable: true }, KEY)), KEY)).toStrictEqual({
      ...prepared,
      repeatable: true,
    });
  });

  it('records with dependencies keep an empty list as none', () => {
    expect(openSegment(bytes(sealSegment([dependent(10, [])], KEY)), KEY)).toStrictEqual([v(10)]);
    expect(openAs(LOGGED, bytes(sealAs(LOGGED, { ...tx, deps: [] }, KEY)), KEY)).toStrictEqual(tx);
  });
});

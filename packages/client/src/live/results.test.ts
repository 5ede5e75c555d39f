import type { QualifiedKey, Value } from '@isochron/core/ids';
import fc from 'fast-check';
import { Decoder } from './decoder.js';
import { differencesOf, type ResultChange } from './differences.js';
import type { LiveDocument } from './observer.js';
import { type Condition, type Order, parseQuery, type Query } from './query.js';
import { QueryResults, type ResultDocument } from './results.js';

/** The documents of one scope, as the machine keeps them. */
class World {
  readonly documents = new Map<QualifiedKey, LiveDocument>();
  #changed = new Set<QualifiedKey>();

  set(id: string, value: Value | null, pending = false): void {
    const key = `default/${id}`;
    this.#changed.add(key);
    if (value === null) this.documents.delete(key);
    else this.documents.set(key, { key, value, pending });
  }

  put(id: string, document: unknown, pending = false): void {
    this.set(id, JSON.stringify(document), pending);
  }

  view() {
    const changed = this.#changed;
    this.#changed = new Set();
    return { documents: this.documents, changed };
  }
}

const keys = { nameOf: (key: QualifiedKey) => key.slice('default/'.length) };
const resultsOf = (query: Query, decoder = new Decoder()) => new QueryResults(parseQuery(query), keys, decoder);
const idsOf = (documents: readonly ResultDocument[]) => documents.map(({ key }) => key);

/** The ids of a query's result over documents, from an empty state. */
function found(query: Query, documents: Readonly<Record<string, unknown>>): readonly string[] {
  const world = new World();
  for (const [id, document] of Object.entries(documents))
    if (document instanceof Uint8Array) world.set(id, document);
    else world.put(id, document);
  const results = resultsOf(query);
  results.update(world.view());
  return idsOf(results.documents);
}

describe('conditions', () => {
  const documents = {
    a: { n: 1, tags: ['x'] },
    b: { n: 2, tags: ['x', { deep: [1, 2] }] },
    c: { n: '2' },
    d: { n: null },
    e: { n: true },
    f: { other: 1 },
    g: new Uint8Array([110]),
    h: { n: { q: 1, p: [2] } },
  };
  it.each<[Condition['op'], unknown, string]>([
    ['==', 2, 'b'],
    ['==', '2', 'c'],
    ['==', null, 'd'],
    ['==', { p: [2], q: 1 }, 'h'],
    ['!=', 2, 'acdeh'],
    ['<', 2, 'a'],
    ['<=', 2, 'ab'],
    ['>', 1, 'b'],
    ['>=', 1, 'ab'],
    ['>=', '1', 'c'],
    ['>=', false, 'e'],
    ['in', [1, '2', { q: 1, p: [2] }], 'ach'],
  ])('a condition n %s %j is met by fields of its type alone, and never without the field', (op, value, expected) => {
    expect(found({ where: [{ path: '/n', op, value }] }, documents).join('')).toBe(expected);
  });

  it('a condition array-contains compares items by their content', () => {
    const where = (value: unknown): Query => ({ where: [{ path: '/tags', op: 'array-contains', value }] });
    expect(found(where('x'), documents)).toEqual(['a', 'b']);
    expect(found(where({ deep: [1, 2] }), documents)).toEqual(['b']);
    expect(found(where({ deep: [2, 1] }), documents)).toEqual([]);
  });

  it('all conditions of a query have to hold', () => {
    const tags: Condition = { path: '/tags', op: 'array-contains', value: 'x' };
    expect(found({ where: [tags, { path: '/n', op: '>', value: 1 }] }, documents)).toEqual(['b']);
  });

  it('a path leads through arrays and names with escapes, and finds own members only', () => {
    const nested = { a: { 'x/y': [{ '~': 1 }] }, b: { 'x/y': [] }, c: {} };
    expect(found({ where: [{ path: '/x~1y/0/~0', op: '==', value: 1 }] }, nested)).toEqual(['a']);
    expect(found({ where: [{ path: '/constructor', op: '!=', value: 1 }] }, nested)).toEqual([]);
  });

  it('the empty path is the document itself', () => {
    expect(found({ where: [{ path: '', op: '>', value: 1 }] }, { a: 1, b: 2, c: '2', d: new Uint8Array(3) })).toEqual([
      'b',
    ]);
  });
});

describe('the order', () => {
  const mixed = {
    a: { v: 'ü' },
    b: { v: 3 },
    c: {},
    d: { v: null },
    e: { v: {} },
    f: { v: false },
    g: { v: '\u{1f600}' },
  };

  it('the order across types is null, boolean, number, text, other, and documents without the field come last', () => {
    expect(found({ orderBy: [{ path: '/v' }] }, mixed).join('')).toBe('dfbagec');
    expect(found({ orderBy: [{ path: '/v', direction: 'desc' }] }, mixed).join('')).toBe('egabfdc');
  });

  it('reverse turns the whole order around, before the limit', () => {
    expect(found({ orderBy: [{ path: '/v' }], reverse: true, limit: 3 }, mixed).join('')).toBe('ega');
    expect(found({ reverse: true, limit: 2 }, mixed).join('')).toBe('gf');
  });

  it('texts and keys are in the order of their UTF-8 bytes, as listings have them', () => {
    expect(found({}, { '\u{1f600}': 1, '\uffee': 1 })).toEqual(['\uffee', '\u{1f600}']);
    expect(found({ orderBy: [{ path: '' }] }, { a: '\u{1f600}', b: '\uffee' })).toEqual(['b', 'a']);
  });

  it('the first order that distinguishes two documents counts, then the keys', () => {
    const documents = { a: { x: 1, y: 1 }, b: { x: 0, y: 1 }, c: { x: 1, y: 2 }, d: { x: 1, y: 2 } };
    const orderBy: Order[] = [{ path: '/x' }, { path: '/y', direction: 'desc' }];
    expect(found({ orderBy }, documents).join('')).toBe('bcda');
  });

  it('named keys come in the order in which the query names them', () => {
    const world = new World();
    for (const id of ['a', 'b', 'c']) world.put(id, 1);
    const order = new Map(['default/c', 'default/a', 'default/x'].map((key, i) => [key, i]));
    world.documents.delete('default/b');
    const results = new QueryResults({}, { ...keys, order }, new Decoder());
    results.update(world.view());
    expect(idsOf(results.documents)).toEqual(['c', 'a']);
  });
});

describe('a result that is kept up to date', () => {
  it('a change of one of 10,000 documents decodes that one only, and leaves the others the same objects', () => {
    const world = new World();
    for (let i = 0; i < 10_000; i++) world.put(String(i).padStart(5, '0'), { i });
    const decoder = new Decoder();
    const results = resultsOf({ where: [{ path: '/i', op: '>=', value: 0 }], orderBy: [{ path: '/i' }] }, decoder);
    results.update(world.view());
    const before = results.documents;
    world.put('00017', { i: 9_998.5 });
    const parse = jest.spyOn(JSON, 'parse');
    expect(results.update(world.view())).toBe(true);
    expect(parse).toHaveBeenCalledTimes(1);
    parse.mockRestore();
    const after = results.documents;
    expect(after).toHaveLength(10_000);
    expect(after.at(-2)).toEqual({ key: '00017', value: { i: 9_998.5 }, pending: false });
    const kept = new Set(before);
    expect(after.filter((document) => !kept.has(document))).toHaveLength(1);
    expect(differencesOf(before, after)).toEqual([
      { type: 'changed', key: '00017', value: { i: 9_998.5 }, oldIndex: 17, newIndex: 9_998 },
    ]);
  });

  it('a document that is no longer pending is a new object with the same value, decoded once', () => {
    const world = new World();
    world.put('a', { n: 1 }, true);
    const results = resultsOf({});
    results.update(world.view());
    const [pending] = results.documents;
    world.put('a', { n: 1 }, false);
    expect(results.update(world.view())).toBe(true);
    expect(pending).toEqual({ key: 'a', value: { n: 1 }, pending: true });
    expect(results.documents).toEqual([{ key: 'a', value: { n: 1 }, pending: false }]);
    expect(results.documents[0]!.value).toBe(pending!.value);
  });

  it('two queries share the value of a document', () => {
    const world = new World();
    world.put('a', { n: 1 });
    const decoder = new Decoder();
    const [one, other] = [resultsOf({}, decoder), resultsOf({ reverse: true }, decoder)];
    const view = world.view();
    one.update(view);
    other.update(view);
    expect(one.documents[0]!.value).toBe(other.documents[0]!.value);
  });

  it('a change outside of the conditions or behind the limit changes no result', () => {
    const world = new World();
    for (const [id, n] of Object.entries({ a: 1, b: 2, c: 3, d: -1 })) world.put(id, { n });
    const results = resultsOf({ where: [{ path: '/n', op: '>', value: 0 }], limit: 2 });
    results.update(world.view());
    const before = results.documents;
    world.put('c', { n: 4 });
    world.put('d', { n: -2 });
    expect(results.update(world.view())).toBe(false);
    expect(results.documents).toBe(before);
    world.set('a', null);
    expect(results.update(world.view())).toBe(true);
    expect(idsOf(results.documents)).toEqual(['b', 'c']);
  });

  it('documents of a result cannot be changed by one of those that share them', () => {
    const world = new World();
    world.put('a', { list: [{ n: 1 }] });
    const results = resultsOf({});
    results.update(world.view());
    const { value } = results.documents[0] as ResultDocument<{ list: { n: number }[] }>;
    expect(() => {
      value.list[0]!.n = 2;
    }).toThrow(TypeError);
    expect(() => value.list.push({ n: 2 })).toThrow(TypeError);
  });

  it('a stored text that is not JSON is FRAME_INVALID', () => {
    const world = new World();
    world.set('a', '{');
    expect(() => resultsOf({}).update(world.view())).toThrow(expect.objectContaining({ code: 'FRAME_INVALID' }));
  });
});

// The naive evaluation: everything is decoded, filtered and sorted anew each time, in words of its own.

const SCALARS = [null, false, true, -1, 0, 1, 2, '', 'a', 'b', 'ü', '\u{1f600}', '\uffee', [1], { x: 1 }];
const scalar = fc.constantFrom(...SCALARS);
const document = fc.oneof(
  fc.record({ a: scalar, b: scalar }, { requiredKeys: [] }),
  fc.record({ a: fc.record({ deep: scalar }) }),
  scalar,
);
const path = fc.constantFrom('/a', '/b', '/a/deep', '');
const condition = fc.oneof(
  fc.record({
    path,
    op: fc.constantFrom('==', '!=', 'array-contains') as fc.Arbitrary<Condition['op']>,
    value: scalar,
  }),
  fc.record({
    path,
    op: fc.constantFrom('<', '<=', '>', '>=') as fc.Arbitrary<Condition['op']>,
    value: fc.constantFrom(true, false, 0, 1, 'a', 'ü', '\uffee'),
  }),
  fc.record({ path, op: fc.constant<Condition['op']>('in'), value: fc.array(scalar, { maxLength: 3 }) }),
);
const order: fc.Arbitrary<Order> = fc.record(
  { path, direction: fc.constantFrom('asc', 'desc') as fc.Arbitrary<'asc' | 'desc'> },
  { requiredKeys: ['path'] },
);
const query: fc.Arbitrary<Query> = fc.record(
  {
    where: fc.array(condition, { maxLength: 2 }),
    orderBy: fc.array(order, { maxLength: 2 }),
    limit: fc.integer({ min: 1, max: 6 }),
    reverse: fc.boolean(),
  },
  { requiredKeys: [] },
);
const edit = fc.record({
  id: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'ü', '\u{1f600}', '\uffee'),
  value: fc.oneof({ weight: 1, arbitrary: fc.constant(undefined) }, { weight: 4, arbitrary: document }),
  pending: fc.boolean(),
});

const text = (value: unknown): string =>
  Array.isArray(value)
    ? `[${value.map(text)}]`
    : JSON.stringify(value, value === null ? [] : Object.keys(Object(value)).sort());
const utf8 = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

function naiveField(value: unknown, at: string): unknown {
  let found = value;
  for (const name of at.split('/').slice(1))
    found = typeof found === 'object' && found !== null ? (found as Record<string, unknown>)[name] : undefined;
  return found;
}

function naiveType(value: unknown): number {
  return ['null', 'boolean', 'number', 'string', 'object', 'undefined'].indexOf(value === null ? 'null' : typeof value);
}

function naiveCompare(a: unknown, b: unknown): number {
  if (naiveType(a) !== naiveType(b)) return naiveType(a) - naiveType(b);
  if (typeof a === 'string') return utf8(a, String(b));
  if (typeof a === 'number' || typeof a === 'boolean') return Number(a) - Number(b);
  return 0;
}

function naiveHolds(value: unknown, { path: at, op, value: wanted }: Condition): boolean {
  const field = naiveField(value, at);
  if (field === undefined) return false;
  const isEqual = (other: unknown) => text(field) === text(other);
  const ordered = naiveType(field) === naiveType(wanted) ? naiveCompare(field, wanted) : Number.NaN;
  switch (op) {
    case '==':
      return isEqual(wanted);
    case '!=':
      return !isEqual(wanted);
    case 'in':
      return (wanted as unknown[]).some(isEqual);
    case 'array-contains':
      return Array.isArray(field) && field.some((item) => text(item) === text(wanted));
    case '<':
      return ordered < 0;
    case '<=':
      return ordered <= 0;
    case '>':
      return ordered > 0;
    case '>=':
      return ordered >= 0;
  }
}

function naive(
  state: ReadonlyMap<string, { value: unknown; pending: boolean }>,
  { where, orderBy, limit, reverse }: Query,
) {
  const rows = [...state].filter(([, { value }]) => (where ?? []).every((one) => naiveHolds(value, one)));
  rows.sort(([a, { value: x }], [b, { value: y }]) => {
    for (const { path: at, direction } of orderBy ?? []) {
      const [left, right] = [naiveField(x, at), naiveField(y, at)];
      if (left === undefined || right === undefined) {
        if (left !== right) return left === undefined ? 1 : -1;
      } else if (naiveCompare(left, right) !== 0)
        return naiveCompare(left, right) * ((direction === 'desc') === (reverse === true) ? 1 : -1);
    }
    return reverse ? utf8(b, a) : utf8(a, b);
  });
  return rows.slice(0, limit).map(([key, { value, pending }]) => ({ key, value, pending }));
}

/** Makes the new result of the old one, as the changes describe. */
function applied(
  before: readonly ResultDocument[],
  changes: readonly ResultChange[],
  after: readonly ResultDocument[],
) {
  const result = [...before];
  const indexes = changes.flatMap((change) => ('oldIndex' in change ? [change.oldIndex] : []));
  for (const index of indexes.sort((a, b) => b - a)) result.splice(index, 1);
  for (const change of changes)
    if (change.type !== 'removed') result.splice(change.newIndex, 0, after[change.newIndex]!);
  return result;
}

describe('the naive evaluation', () => {
  it('a result that is kept up to date is the naive evaluation after every change, and its changes lead from one to the next', () => {
    fc.assert(
      fc.property(
        query,
        fc.array(fc.array(edit, { minLength: 1, maxLength: 4 }), { maxLength: 12 }),
        (asked, steps) => {
          const world = new World();
          const state = new Map<string, { value: unknown; pending: boolean }>();
          const results = resultsOf(asked);
          for (const edits of steps) {
            for (const { id, value, pending } of edits) {
              if (value === undefined) {
                world.set(id, null);
                state.delete(id);
              } else {
                world.put(id, value, pending);
                state.set(id, { value, pending });
              }
            }
            const before = results.documents;
            const hasChanged = results.update(world.view());
            const after = results.documents;
            expect(after).toEqual(naive(state, asked));
            expect(hasChanged).toBe(after !== before);
            expect(applied(before, differencesOf(before, after), after)).toEqual(after);
            const touched = new Set<string>(edits.map(({ id }) => id));
            const old = new Map(before.map((one) => [one.key, one]));
            for (const one of after) if (!touched.has(one.key) && old.has(one.key)) expect(one).toBe(old.get(one.key));
          }
        },
      ),
      { numRuns: 2000 },
    );
  });
});

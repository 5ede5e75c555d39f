import type { QualifiedKey } from '@isochron/core/ids';
import { Update } from '@isochron/core/updates/update';
import { World } from '@isochron/testing/client/world';
import { memoryNodes } from '@isochron/testing/nodes/memory-node';
import { Decoder } from './decoder.js';
import type { ScopeView } from './observer.js';
import type { Query } from './query.js';
import { QueryResults } from './results.js';

const stamped = new Update(JSON.stringify([{ op: 'serverTimestamp', path: '/at' }]));
const KEYS = { nameOf: (key: QualifiedKey) => key.slice('default/'.length) };

/** A client that watches documents with times of commits: of others, and of its own writes. */
function scene(query: Query) {
  const [node] = memoryNodes('east');
  const { cluster } = node;
  cluster.hold();
  const world = new World([node]);
  /** Another client stamps a document, which is stable at once. */
  const other = (key: string): void => {
    cluster.write({ [`default/${key}`]: { operations: stamped.operations } });
    cluster.stabilise();
    world.run(30);
  };
  for (const key of ['m', 'n']) other(key);
  world.ask({ f: 'connect' });
  const results = new QueryResults(query, KEYS, new Decoder());
  const next = (_: number, views: readonly ScopeView[]): void => {
    results.update(views[0]!);
  };
  world.watch({ next, failed: () => {} }, { start: 'default/', end: 'default0' });
  world.run(30);
  const shown = (): string => results.documents.map(({ key, pending }) => (pending ? `${key}*` : key)).join(' ');
  const stamp = (key: string): void => {
    world.call({ f: 'write', key: `default/${key}`, value: stamped });
  };
  return { world, other, shown, stamp, results };
}

const NEWEST_FIRST: Query = { orderBy: [{ path: '/at', direction: 'desc' }] };

describe('a pending server time', () => {
  it.each([
    ['without a limit', NEWEST_FIRST, 'z* n m'],
    ['with a limit', { ...NEWEST_FIRST, limit: 2 }, 'z* n'],
    ['turned around', { orderBy: [{ path: '/at' }], reverse: true }, 'z* n m'],
    ['oldest first', { orderBy: [{ path: '/at' }] }, 'm n z*'],
  ] satisfies [string, Query, string][])(
    'a document with a pending server time stands behind all known ones at once, %s (LQ2)',
    (_, query, expected) => {
      const { world, shown, stamp } = scene(query);
      stamp('z');
      expect(shown()).toBe(expected);
      world.run(50);
      expect(shown()).toBe(expected);
    },
  );

  it('a document with a pending server time meets the conditions that its final time will meet', () => {
    const { results, stamp, shown, other } = scene({ where: [{ path: '/at', op: '>', value: 0 }] });
    stamp('z');
    expect(shown()).toBe('m n z*');
    expect(results.documents.map(({ value }) => typeof (value as { at: unknown }).at)).toEqual(Array(3).fill('number'));
    other('o');
    expect(shown()).toMatch(/^m n o z/);
  });

  it('pending server times of one session stand in the order of their writes, also behind its committed ones', () => {
    const { world, shown, stamp } = scene(NEWEST_FIRST);
    stamp('x');
    world.run(5);
    stamp('y');
    world.run(5);
    stamp('z');
    expect(shown()).toMatch(/^z\* y\* x\*/);
    world.run(50);
    expect(shown()).toMatch(/^z\* y\* x\*/);
  });
});

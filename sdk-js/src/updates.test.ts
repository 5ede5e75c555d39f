import { all, client, closeAll, codeOf, type MemoryCluster, PATCHES_READ, server } from '../testing/harness.js';
import type { MemoryServer } from '../testing/memory-server.js';
import {
  append,
  applyOperations,
  arrayRemove,
  arrayUnion,
  connect,
  type IsochronClient,
  increment,
  init,
  max,
  mergePatch,
  min,
  type Operation,
  remove,
  serverTimestamp,
  set,
} from './index.js';

let fake: MemoryServer;
let app: IsochronClient;
let cluster: MemoryCluster;
beforeEach(async () => {
  fake = await server();
  cluster = fake.cluster;
  app = await client([fake]);
});
afterEach(closeAll);

const operationsOf = (i = -1): unknown => {
  const { value } = fake.received('commit').at(i)!.writes[0]!;
  return JSON.parse((value as { operations: string }).operations);
};

describe('an update', () => {
  it('a merge patch is sent as an operation, and nothing is read', async () => {
    cluster.seed('default/a', { title: 'x', tags: [1] });
    await app.update('a', { title: null, done: true });
    expect(operationsOf()).toEqual([{ op: 'mergePatch', path: '', patch: { title: null, done: true } }]);
    expect(fake.received('read')).toEqual([]);
    expect(await app.get('a')).toEqual({ tags: [1], done: true });
  });

  it('an operation alone is a list of one, in updates and in transactions', async () => {
    await app.update('a', increment('/n'));
    expect(operationsOf()).toEqual([{ op: 'increment', path: '/n', by: 1 }]);
    await app.transaction((tx) => tx.update('a', increment('/n', 2)));
    expect(operationsOf()).toEqual([{ op: 'increment', path: '/n', by: 2 }]);
  });

  it('an operation inside of a patch, a document or another operation is refused, with its path, and never stored', async () => {
    const inside = { likes: increment('/n') };
    const refused = { code: 'VALUE_INVALID', message: expect.stringMatching(/likes.*operation/) as unknown };
    await expect(app.update('a', inside)).rejects.toMatchObject(refused);
    await expect(app.update('a', [set('/b', inside as never)])).rejects.toMatchObject(refused);
    await expect(app.set('a', { deep: [inside] })).rejects.toMatchObject(refused);
    await expect(app.claim('a', inside)).rejects.toMatchObject(refused);
    await expect(app.transaction((tx) => tx.set('a', inside))).rejects.toMatchObject(refused);
    await expect(app.transaction((tx) => tx.update('a', inside))).rejects.toMatchObject(refused);
    expect(await codeOf(app.set('a', increment('/n')))).toBe('VALUE_INVALID');
    expect(fake.received('commit')).toEqual([]);
  });

  it('a patch that only looks like an operation is a patch', async () => {
    const patch = { op: 'increment', path: '/n', by: 1 };
    await app.update('a', patch);
    expect(operationsOf()).toEqual([{ op: 'mergePatch', path: '', patch }]);
  });

  it('operations are sent as the functions make them', async () => {
    const operations: Operation[] = [
      set('/a/b', { c: 1 }),
      remove('/x'),
      mergePatch('/m', { y: null }),
      increment('/n'),
      increment('/n', -2),
      max('/n', 7),
      min('/n', 3),
      arrayUnion('/tags', 'x', { y: 1 }),
      arrayRemove('/tags', 'x'),
      append('/log', 1, 2),
      serverTimestamp('/at'),
      init({}),
    ];
    await app.update('a', operations);
    expect(operationsOf()).toEqual([
      { op: 'set', path: '/a/b', value: { c: 1 } },
      { op: 'remove', path: '/x' },
      { op: 'mergePatch', path: '/m', patch: { y: null } },
      { op: 'increment', path: '/n', by: 1 },
      { op: 'increment', path: '/n', by: -2 },
      { op: 'max', path: '/n', value: 7 },
      { op: 'min', path: '/n', value: 3 },
      { op: 'arrayUnion', path: '/tags', items: ['x', { y: 1 }] },
      { op: 'arrayRemove', path: '/tags', items: ['x'] },
      { op: 'append', path: '/log', items: [1, 2] },
      { op: 'serverTimestamp', path: '/at' },
      { op: 'init', value: {} },
    ]);
  });

  it('two clients that update different fields keep both edits', async () => {
    cluster.seed('default/a', { title: 'x' });
    const other = await client([fake]);
    await Promise.all([app.update('a', { done: true }), other.update('a', { owner: 'ann' })]);
    cluster.stabilise();
    const both = { title: 'x', done: true, owner: 'ann' };
    expect([await app.get('a'), await other.get('a')]).toEqual([both, both]);
  });

  it('a session sees its own updates over a document that others have changed, before they are stable', async () => {
    cluster.seed('default/a', { n: 1 });
    const elsewhere = await server(cluster, { region: 'oregon' });
    const roaming = await client([fake], { endpoints: [fake.url, elsewhere.url] });
    const [home, other] = roaming.status.region === 'virginia' ? [fake, elsewhere] : [elsewhere, fake];
    cluster.write({ 'default/a': '{"n":5}' });
    cluster.stabilise(other.region);
    await roaming.update('a', [increment('/n', 10)]);
    expect(await roaming.get('a')).toEqual({ n: 11 });
    // Where the client goes on, the other change is stable, and its own update is not.
    await home.close();
    await roaming.update('a', [increment('/n', 100)]);
    expect(await roaming.get('a')).toEqual({ n: 115 });
    // The snapshot contains them now: they are not laid over it again.
    cluster.stabilise();
    expect(await roaming.get('a')).toEqual({ n: 115 });
    expect(roaming.session.export().writes).toEqual([]);
  });

  it('a transaction reads its own updates, which are applied in their order and sent as one', async () => {
    cluster.seed('default/a', { n: 1 });
    const { result } = await app.transaction(async (tx) => {
      void tx.update('a', [increment('/n')]);
      void tx.update('a', [increment('/n', 5), set('/x', 1)]);
      const first = await tx.get('a');
      tx.set('b', { n: 7 });
      void tx.update('b', { m: 1 });
      tx.delete('c');
      void tx.update('c', { fresh: true });
      return [first, ...(await tx.getMany(['b', 'c']))];
    });
    expect(result).toEqual([{ n: 7, x: 1 }, { n: 7, m: 1 }, { fresh: true }]);
    expect(
      fake
        .received('commit')
        .at(-1)!
        .writes.map(({ key }) => key),
    ).toEqual(['default/a', 'default/b', 'default/c']);
    cluster.stabilise();
    expect(await app.getMany(['a', 'b', 'c'])).toEqual(result);
  });

  it('a listing has own updates laid over it, of documents that it has and of those that they make', async () => {
    cluster.seed('default/l/1', { n: 1 });
    cluster.seed('default/l/2', { n: 2 });
    await app.update('l/1', [increment('/n', 10)]);
    await app.update('l/3', { made: true });
    await app.update('l/2', [remove('')]);
    const found = await all(app.list({ prefix: 'l/' }));
    expect(found.map(({ key, value }) => [key, value])).toEqual([
      ['l/1', { n: 11 }],
      ['l/3', { made: true }],
    ]);
  });

  it('an exported session sees its own updates on another client', async () => {
    cluster.seed('default/a', { n: 1 });
    await app.set('b', { n: 1 });
    await app.update('b', [increment('/n')]);
    await app.update('a', [increment('/n')]);
    await app.update('a', [increment('/n')]);
    const exported = JSON.stringify(app.session.export());
    const next = await connect({ endpoints: [fake.url], session: exported });
    expect(await next.getMany(['a', 'b'])).toEqual([{ n: 3 }, { n: 2 }]);
    await next.close();
    const damaged = exported.replace('increment', 'boil');
    expect(await codeOf(connect({ endpoints: [fake.url], session: damaged }))).toBe('TOKEN_INVALID');
  });

  it.each<[string, unknown, string]>([
    ['an operation of an unknown kind', [{ op: 'boil', path: '' }], 'UPDATE_INVALID'],
    ['a path that is no pointer', [set('a', 1)], 'UPDATE_INVALID'],
    ['no operations', [], 'UPDATE_INVALID'],
    ['a number that JSON has not', [increment('/n', Number.NaN)], 'VALUE_INVALID'],
    ['a value that JSON has not', [set('/a', new Map() as never)], 'VALUE_INVALID'],
    ['bytes as a patch', Uint8Array.of(1), 'VALUE_INVALID'],
    ['a patch that is too large', { text: 'x'.repeat(2 ** 20) }, 'VALUE_TOO_LARGE'],
  ])('an update with %s is refused, and nothing of its transaction is sent', async (_what, change, code) => {
    expect(await codeOf(app.update('a', change as never))).toBe(code);
    const run = app.transaction((tx) => {
      tx.set('b', 1);
      void tx.update('a', change as never);
    });
    expect(await codeOf(run)).toBe(code);
    expect(fake.received('commit')).toEqual([]);
  });

  it('the update that exceeds 1,000 operations of a key in one transaction is refused, and nothing is sent', async () => {
    const many = (length: number) => Array.from({ length }, () => increment('/n'));
    const run = (last: number) =>
      app.transaction(async (tx) => {
        tx.set('b', 1);
        await tx.update('a', many(600));
        await tx.update('a', many(last));
      });
    expect(await codeOf(run(401))).toBe('UPDATE_INVALID');
    expect(fake.received('commit')).toEqual([]);
    await run(400);
    expect(await app.get('a')).toEqual({ n: 1000 });
  });
});

describe('a claim', () => {
  it('the first claim of a key wins, and each one returns its document', async () => {
    const other = await client([fake]);
    fake.script = (frame) => {
      if (frame.type === 'stable') cluster.stabiliseEverywhere();
      return undefined;
    };
    expect(await app.claim('names/ann', { user: 1 })).toEqual({ won: true, value: { user: 1 } });
    expect(await other.claim('names/ann', { user: 2 })).toEqual({ won: false, value: { user: 1 } });
    await app.delete('names/ann');
    expect(await other.collection('names').claim('ann', { user: 2 })).toEqual({ won: true, value: { user: 2 } });
  });

  it('a decided claim keeps its decision with its id after its snapshot has been collected', async () => {
    let isCollected = false;
    fake.script = (frame) => {
      if (frame.type === 'stable') cluster.stabiliseEverywhere();
      return isCollected && frame.type === 'origin'
        ? { type: 'error', id: frame.id, code: 'SNAPSHOT_TOO_OLD', detail: '', retryable: false }
        : undefined;
    };
    const first = await app.claim('names/eve', { user: 1 }, { id: 'eve' });
    isCollected = true;
    expect(await app.claim('names/eve', { user: 1 }, { id: 'eve' })).toEqual(first);
    expect(await codeOf(app.claim('names/eve', { user: 1 }, { id: 'other' }))).toBe('SNAPSHOT_TOO_OLD');
  });

  it('a claim that is not decided in time rejects, and is the same claim when it is repeated with its id', async () => {
    const options = { id: 'sign-up', timeoutMs: 20 };
    expect(await codeOf(app.claim('names/bob', { user: 1 }, options))).toBe('STABLE_TIMEOUT');
    cluster.stabiliseEverywhere();
    expect(await app.claim('names/bob', { user: 1 }, options)).toEqual({ won: true, value: { user: 1 } });
    expect(fake.received('commit')).toHaveLength(1);
  });
});

describe('under a protocol without updates', () => {
  it('a patch reads and writes, and operations and claims are refused', async () => {
    const plain = await server(undefined, PATCHES_READ);
    plain.cluster.seed('default/a', { n: 1 });
    const old = await client([plain]);
    await old.update('a', { m: 2 });
    expect(plain.received('commit').at(-1)!.writes).toEqual([{ key: 'default/a', value: '{"n":1,"m":2}' }]);
    const refused = [
      old.update('a', [increment('/n')]),
      old.claim('b', 1),
      old.transaction((tx) => tx.update('a', [increment('/n')])),
    ];
    expect(await Promise.all(refused.map(codeOf))).toEqual(refused.map(() => 'NOT_SUPPORTED_BY_PROTOCOL'));
  });
});

describe('applyOperations', () => {
  it('operations of the feed make the document that the store has', async () => {
    const operations = [increment('/left', -1), arrayUnion('/tags', 'green'), serverTimestamp('/at')];
    const { timestamp } = await app.update('tea', operations);
    const document = applyOperations(undefined, operations, timestamp);
    expect(document).toEqual({ left: -1, tags: ['green'], at: expect.any(Number) });
    expect(applyOperations(document, [increment('/left', 3), remove('/at')], timestamp + 1)).toEqual({
      left: 2,
      tags: ['green'],
    });
  });

  it('a copy that has no document gets none from a removal, and keeps bytes that no operation replaces', () => {
    expect(applyOperations(undefined, [remove('')], 1)).toBeUndefined();
    expect(applyOperations({ a: 1 }, [remove('')], 1)).toBeUndefined();
    expect(applyOperations(new Uint8Array([1, 2]), [remove('/x')], 1)).toEqual(new Uint8Array([1, 2]));
  });

  it('operations that nodes refuse have no effect on a copy', () => {
    expect(applyOperations({ a: 1 }, [{ op: 'increment', path: 'a', by: 1 }], 1)).toEqual({ a: 1 });
  });
});

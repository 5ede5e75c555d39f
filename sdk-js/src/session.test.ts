import {
  all,
  client,
  closeAll,
  clusterOf,
  codeOf,
  deferred,
  PATCHES_READ,
  server,
  UNCHAINED,
} from '../testing/harness.js';

afterEach(closeAll);

describe('a session', () => {
  it('a session reads its own write before it is stable', async () => {
    const node = await server();
    const app = await client([node]);
    const { timestamp } = await app.set('a', { n: 1 });
    expect(node.cluster.ust).toBeLessThan(timestamp);
    expect(await app.get('a')).toEqual({ n: 1 });
    await app.delete('a');
    expect(await app.get('a')).toBeUndefined();
  });

  it('a session does not show its own write to another session before it is stable', async () => {
    const node = await server();
    const [writer, reader] = [await client([node]), await client([node])];
    const write = await writer.set('a', 1);
    expect(await reader.get('a')).toBeUndefined();
    expect(await codeOf(write.stable({ timeoutMs: 5 }))).toBe('STABLE_TIMEOUT');
    node.cluster.stabiliseEverywhere();
    await write.stable();
    expect(await reader.get('a')).toBe(1);
  });

  it("stable() asks a node although the stable time of the session's own node has passed the write", async () => {
    const node = await server();
    const app = await client([node]);
    const write = await app.set('a', 1);
    node.cluster.stabiliseEverywhere();
    expect(await app.get('a')).toBe(1);
    expect(app.status.ust).toBeGreaterThanOrEqual(write.timestamp);
    node.script = (frame) =>
      frame.type === 'stable'
        ? { type: 'error', id: frame.id, code: 'STABLE_TIMEOUT', detail: '', retryable: true }
        : undefined;
    expect(await codeOf(write.stable({ timeoutMs: 5 }))).toBe('STABLE_TIMEOUT');
    node.script = () => undefined;
    await write.stable();
    const asked = node.received('stable').length;
    await write.stable();
    expect(node.received('stable')).toHaveLength(asked);
  });

  it('a session drops a cached write once the snapshot holds it, so that a newer write of another session shows', async () => {
    const node = await server();
    const app = await client([node]);
    await app.set('a', 'mine');
    node.cluster.seed('default/a', 'theirs');
    expect(await app.get('a')).toBe('theirs');
    expect(app.session.export().writes).toEqual([]);
  });

  it('a session returns a fresh copy from every read, and stores the document as it was at the call', async () => {
    const app = await client([await server()]);
    const document = { list: [1] };
    const writing = app.set('a', document);
    document.list.push(2);
    await writing;
    const first = await app.get<typeof document>('a');
    first?.list.push(3);
    expect(await app.get('a')).toEqual({ list: [1] });
  });

  it('a session keeps bytes as bytes, in and out, and copies them', async () => {
    const node = await server();
    const app = await client([node]);
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
    await app.set('b', bytes);
    bytes.fill(7);
    const read = await app.get<Uint8Array>('b');
    expect(read?.[255]).toBe(255);
    read?.fill(9);
    node.cluster.stabilise();
    expect((await app.get<Uint8Array>('b'))?.[3]).toBe(3);
  });

  it('a session distinguishes a stored null from no value', async () => {
    const app = await client([await server()]);
    await app.set('null', null);
    expect(await app.getMany(['null', 'none'])).toEqual([null, undefined]);
  });

  it('a session is exported with its cache, and continued under another session id that reads its writes', async () => {
    const cluster = clusterOf();
    const [east, west] = [await server(cluster), await server(cluster, { region: 'oregon' })];
    const first = await client([east]);
    await first.set('a', { n: 1 });
    await first.set('b', new Uint8Array([1, 2]));
    await first.delete('c');
    const second = await client([west], { session: JSON.stringify(first.session.export()) });
    expect(west.received('hello')[0]?.token).toBe(first.session.token);
    expect(await second.getMany(['a', 'b', 'c'])).toEqual([{ n: 1 }, new Uint8Array([1, 2]), undefined]);
    await second.set('d', 1);
    const ids = [east, west].map((node) => node.received('commit')[0]?.tx.split('.')[0]);
    expect(ids[0]).not.toBe(ids[1]);
    // Its commits lie above everything that the first one saw and wrote.
    expect(west.received('commit')[0]?.hwt).toBe(first.session.export().hwt);
  });

  it('a session refuses a damaged exported session before it connects', async () => {
    const node = await server();
    const app = await client([node]);
    const good = app.session.export();
    const damaged = ['{', '[]', 'null', { ...good, ust: -1 }, { ...good, version: 2 }, { ...good, writes: [['k', 1]] }];
    for (const session of damaged)
      expect(await codeOf(client([node], { session: session as string }))).toBe('TOKEN_INVALID');
    expect(node.received('hello').length).toBe(1);
  });

  it('a session applies a merge patch, on what it wrote itself too', async () => {
    const node = await server(undefined, PATCHES_READ);
    const app = await client([node]);
    const people = app.collection<{ name?: string; address?: { city?: string; zip?: string } }>('people');
    await people.set('1', { name: 'Ann', address: { city: 'Rome', zip: '1' } });
    await people.update('1', { name: null, address: { zip: '2' } });
    expect(await people.get('1')).toEqual({ address: { city: 'Rome', zip: '2' } });
    await people.update('new', { name: 'Bob' });
    expect(await people.get('new')).toEqual({ name: 'Bob' });
    await app.set('bytes', new Uint8Array(1));
    expect(await codeOf(app.update('bytes', { a: 1 }))).toBe('VALUE_INVALID');
  });

  it('a session releases its snapshot when an update is aborted between its read and its commit', async () => {
    const node = await server(undefined, PATCHES_READ);
    const app = await client([node]);
    await app.set('own', 1);
    const controller = new AbortController();
    // The patch is read after the answer, right before the commit.
    const patch = {
      get n() {
        controller.abort(new Error('enough'));
        return 1;
      },
    };
    await expect(app.update('a', patch, { signal: controller.signal })).rejects.toThrow('enough');
    expect(node.received('commit')).toHaveLength(1);
    node.cluster.stabilise();
    await app.get('a');
    expect(app.session.export().writes).toEqual([]);
  });

  it('a session patches a member called __proto__ as data', async () => {
    const app = await client([await server(undefined, PATCHES_READ)]);
    await app.update('a', JSON.parse('{"__proto__": {"polluted": true}, "b": 1}'));
    expect(Object.keys((await app.get<object>('a')) ?? {})).toEqual(['__proto__', 'b']);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it('a session sends one commit at a time, in the order of the calls (P8)', async () => {
    const node = await server(undefined, UNCHAINED);
    const app = await client([node]);
    const held = deferred();
    node.script = (frame) =>
      frame.type === 'commit' && frame.writes[0]?.key === 'default/a' ? held.promise : undefined;
    const writes = [app.set('a', 1), app.set('b', 2)];
    await node.until(() => node.received('commit').length === 1);
    expect(app.status.pendingCommits).toBe(2);
    await app.get('x');
    expect(node.received('commit').length).toBe(1);
    held.resolve();
    const [a, b] = await Promise.all(writes);
    expect(b!.timestamp).toBeGreaterThan(a!.timestamp);
    expect(node.received('commit')[1]?.hwt).toBe(a!.timestamp);
  });
});

describe('listings', () => {
  it('listings go through all pages of one snapshot, with own writes and without own deletions', async () => {
    const node = await server();
    for (const id of ['a', 'b', 'c', 'd', 'e']) node.cluster.seed(`default/todos/${id}`, id);
    const app = await client([node]);
    const todos = app.collection<string>('todos');
    await todos.set('aa', 'own');
    await todos.set('c', 'changed');
    await todos.delete('d');
    await todos.set('z', 'last');
    await app.set('other', 1);
    const entries = await all(todos.list({ pageSize: 2 }));
    expect(entries.map(({ key, value }) => `${key}=${value}`)).toEqual([
      'a=a',
      'aa=own',
      'b=b',
      'c=changed',
      'e=e',
      'z=last',
    ]);
    const [start, ...more] = node.received('start');
    expect(more).toEqual([]);
    expect(node.received('list').map(({ tx }) => tx)).toEqual([start!.tx, start!.tx, start!.tx]);
    await node.until(() => node.received('abort').some(({ tx }) => tx === start!.tx));
  });

  it('listings stay in their snapshot while others write', async () => {
    const node = await server();
    for (const id of ['a', 'b', 'c']) node.cluster.seed(`default/${id}`, id);
    const app = await client([node]);
    const listing = app.list({ pageSize: 1 });
    const first = await listing.page();
    node.cluster.seed('default/b2', 'new');
    const rest = [await listing.page(), await listing.page()];
    expect([first, ...rest].flatMap(({ entries }) => entries.map(({ key }) => key))).toEqual(['a', 'b', 'c']);
    expect(rest[1]?.more).toBe(false);
    expect((await listing.page()).entries).toEqual([]);
    expect(rest[1]?.timestamp).toBe(first.timestamp);
  });

  it('listings keep to prefix, start and limit', async () => {
    const node = await server();
    for (const id of ['a1', 'a2', 'a3', 'b1']) node.cluster.seed(`default/${id}`, 1);
    const app = await client([node]);
    const keys = async (options: object) => (await all(app.list(options))).map(({ key }) => key);
    expect(await keys({ prefix: 'a' })).toEqual(['a1', 'a2', 'a3']);
    expect(await keys({ prefix: 'a', start: 'a2' })).toEqual(['a2', 'a3']);
    expect(await keys({ limit: 2 })).toEqual(['a1', 'a2']);
    expect(await keys({ limit: 0 })).toEqual([]);
    expect(() => app.list({ pageSize: 0 })).toThrow('pageSize');
  });

  it('listings release the cache when a loop is left early', async () => {
    const node = await server();
    for (const id of ['a', 'b', 'c']) node.cluster.seed(`default/${id}`, id);
    const app = await client([node]);
    await app.set('own', 1);
    for await (const _ of app.list({ pageSize: 1 })) break;
    node.cluster.stabilise();
    await app.get('a');
    expect(app.session.export().writes).toEqual([]);
  });

  it('listings order keys by their UTF-8 bytes when own writes are laid over', async () => {
    const app = await client([await server()]);
    await app.set('\u{1f600}', 1);
    await app.set('\uffee', 2);
    expect((await all(app.list())).map(({ key }) => key)).toEqual(['\uffee', '\u{1f600}']);
  });

  it('a collection lists its own documents, and with deep those of its inner collections; a keyspace lists all', async () => {
    const node = await server();
    const app = await client([node]);
    const boards = app.collection('boards');
    for (const key of ['boards/1', 'boards/1/cards/1', 'boards/2', 'lists/1']) node.cluster.seed(`default/${key}`, key);
    await app.collection('boards/2/cards').set('own', 'own');
    await boards.set('3', 'own');
    const keys = async (listing: AsyncIterable<{ readonly key: string }>) => (await all(listing)).map(({ key }) => key);
    expect(await keys(boards.list())).toEqual(['1', '2', '3']);
    expect(await keys(boards.list({ deep: true }))).toEqual(['1', '1/cards/1', '2', '2/cards/own', '3']);
    expect(await keys(app.collection('boards/1/cards').list())).toEqual(['1']);
    expect(await keys(app.list({ prefix: 'boards/1' }))).toEqual(['boards/1', 'boards/1/cards/1']);
    expect(await keys(app.list({ deep: false }))).toEqual([]);
    await app.transaction(async (tx) => {
      tx.set('boards/1/cards/2', 'own');
      expect(await keys(tx.collection('boards').list())).toEqual(['1', '2', '3']);
    });
    expect(await codeOf(boards.list({ prefix: '1/cards/' }).page())).toBe('INVALID_REQUEST');
    expect(await codeOf(boards.list({ deep: 'yes' as never }).page())).toBe('INVALID_REQUEST');
  });
});

/** The client of protocols of single operations, against a scripted node. */
import { type FakeServer, FakeStore, refusal } from '../testing/fake-server.js';
import { client, closeAll, codeOf, deferred, server } from '../testing/harness.js';

afterEach(closeAll);

const OKAPI = { protocol: 'okapi', capabilities: ['operations', 'rot', 'stable', 'snapshots'] };

/** Types of the received frames, without those of every connection. */
const asked = ({ frames }: FakeServer) =>
  frames.map(({ type }) => type).filter((type) => type !== 'hello' && type !== 'ping');

describe('a session of single operations', () => {
  it('a session of single operations does one at a time, in the order of the calls, and sends its state with each', async () => {
    const store = new FakeStore();
    const node = await server(store, OKAPI);
    const app = await client([node]);
    const { promise, resolve } = deferred();
    node.script = (frame) => (frame.type === 'put' ? promise : undefined);
    const all = [app.set('a', 1), app.get('a'), app.getMany(['a', 'b']), app.delete('a'), app.get('a')];
    expect(app.status.pendingCommits).toBe(2);
    await node.until(() => node.received('put').length === 1);
    expect(asked(node)).toEqual(['put']);
    resolve();
    const [, first, both, , last] = await Promise.all(all);
    expect([first, both, last]).toEqual([1, [1, undefined], undefined]);
    expect(asked(node)).toEqual(['put', 'get', 'rot', 'put', 'get']);
    const here = { region: 'virginia' };
    expect(node.received('put')).toMatchObject([
      { key: 'default/a', value: '1', seen: [], ...here, sentAfter: 1000, attemptRegions: ['virginia'] },
      { key: 'default/a', value: null, seen: [1001, 0], ...here },
    ]);
    expect(node.received('get')).toMatchObject([
      { key: 'default/a', seen: [1001, 0], ...here },
      { seen: [1002, 0], ...here },
    ]);
    expect(app.status.pendingCommits).toBe(0);
  });

  it('a session of single operations repeats a write under its id until its outcome is known', async () => {
    const node = await server(new FakeStore(), OKAPI);
    const app = await client([node]);
    let sendings = 0;
    node.script = (frame) => {
      if (frame.type !== 'put') return undefined;
      sendings++;
      if (sendings === 1) return 'apply-and-close';
      return sendings === 2 ? refusal(frame.id, 'OUTCOME_PENDING', true) : undefined;
    };
    const { timestamp, txId } = await app.set('a', 1);
    expect([timestamp, node.store.outcomes.get(txId)]).toEqual([1001, 1001]);
    const { id: _id, ...first } = node.received('put')[0]!;
    for (const { id: _again, ...frame } of node.received('put')) expect(frame).toEqual(first);
    expect(sendings).toBe(3);
  });

  it('a write that was durably given up begins anew, as another attempt under the same id', async () => {
    const node = await server(new FakeStore(), OKAPI);
    const app = await client([node]);
    node.script = (frame) =>
      frame.type === 'put' && frame.attemptRegions.length === 1
        ? refusal(frame.id, 'TRANSACTION_ABORTED', false)
        : undefined;
    await app.set('a', 1);
    const [one, two] = node.received('put');
    expect([one!.attemptRegions, two!.attemptRegions]).toEqual([['virginia'], ['virginia', 'virginia']]);
    expect(two!.tx).toBe(one!.tx);
  });

  it("a write refused because a region lacks the session's dependencies begins anew in another region", async () => {
    const store = new FakeStore();
    const west = await server(store, { ...OKAPI, region: 'oregon' });
    const east = await server(store, { ...OKAPI, regions: [{ id: 'oregon', endpoints: [west.url] }] });
    const app = await client([east]);
    east.script = (frame) => (frame.type === 'put' ? refusal(frame.id, 'SNAPSHOT_UNAVAILABLE', true) : undefined);
    await app.set('a', 1);
    // It has had no effect there: this is its first attempt.
    expect(west.received('put')).toMatchObject([{ attemptRegions: ['oregon'] }]);
  });

  it('a write ends with OUTCOME_UNKNOWN while the client resolves it, and later operations wait', async () => {
    const node = await server(new FakeStore(), OKAPI);
    const app = await client([node], { requestTimeoutMs: 100, commitTimeoutMs: 150 });
    node.script = (frame) => (frame.type === 'put' ? 'drop' : undefined);
    expect(await codeOf(app.set('a', 1))).toBe('OUTCOME_UNKNOWN');
    expect(await codeOf(app.get('a'))).toBe('SESSION_BLOCKED');
    node.script = () => undefined;
    await node.until(() => node.store.outcomes.size === 1);
    expect(await app.get('a')).toBe(1);
  });

  it('a session of single operations goes on in another region with what it has seen in the first', async () => {
    const store = new FakeStore();
    const west = await server(store, { ...OKAPI, region: 'oregon' });
    const east = await server(store, { ...OKAPI, regions: [{ id: 'oregon', endpoints: [west.url] }] });
    const app = await client([east]);
    await app.set('a', 1);
    await east.close();
    expect(await app.get('a')).toBe(1);
    await app.set('a', 2);
    expect(west.received('get')).toMatchObject([{ seen: [1001, 0], region: 'virginia' }]);
    expect(west.received('put')).toMatchObject([{ seen: [1001, 0], region: 'oregon', attemptRegions: ['oregon'] }]);
  });

  it('a read is sent again where the session has moved to, under way or not', async () => {
    const store = new FakeStore();
    const west = await server(store, { ...OKAPI, region: 'oregon' });
    const east = await server(store, { ...OKAPI, regions: [{ id: 'oregon', endpoints: [west.url] }] });
    const app = await client([east]);
    store.seed('default/a', 1);
    east.script = (frame) => (frame.type === 'get' ? 'drop' : undefined);
    const reading = app.get('a');
    await east.until(() => east.received('get').length === 1);
    await east.close();
    expect(await reading).toBe(1);
    expect(app.status.region).toBe('oregon');
  });

  it('a session of single operations goes on when a read is cancelled', async () => {
    const node = await server(new FakeStore(), OKAPI);
    const app = await client([node]);
    node.script = (frame) => (frame.type === 'get' ? 'drop' : undefined);
    const controller = new AbortController();
    const reading = app.get('a', { signal: controller.signal });
    await node.until(() => node.received('get').length === 1);
    controller.abort(new Error('enough'));
    await expect(reading).rejects.toThrow('enough');
    node.script = () => undefined;
    await app.set('a', 1);
    expect(await app.get('a')).toBe(1);
  });

  it('a session of single operations is exported with all that it has seen, and goes on elsewhere', async () => {
    const store = new FakeStore();
    const [east, west] = [await server(store, OKAPI), await server(store, { ...OKAPI, region: 'oregon' })];
    const app = await client([east]);
    await app.set('a', 1);
    const exported = app.session.export();
    expect(exported).toMatchObject({ protocol: 'okapi', hwt: 0, writes: [] });
    expect(exported.seen).toEqual({ seen: [1001, 0], region: 'virginia' });
    const there = await client([west], { session: JSON.stringify(exported) });
    await there.get('a');
    expect(west.received('get')).toMatchObject([{ seen: [1001, 0], region: 'virginia' }]);
  });

  it('a session of single operations goes on from a token, as the node reads it', async () => {
    const node = await server(new FakeStore(), OKAPI);
    node.seen = { seen: [900, 7], region: 'oregon' };
    const app = await client([node], { token: 'of an HTTP answer' });
    await app.get('a');
    expect(node.received('get')).toMatchObject([{ seen: [900, 7], region: 'oregon' }]);
  });

  it.each([
    ['a session of this protocol without it', undefined],
    ['no object', 7],
    ['no list', { seen: 7, region: 'virginia' }],
    ['no region', { seen: [] }],
    ['damaged dependencies', { seen: [], region: 'virginia', depends: [{ key: 'a' }] }],
  ])('a session of single operations does not go on from %s', async (_what, seen) => {
    const node = await server(new FakeStore(), OKAPI);
    const session = { version: 1, token: 't', protocol: 'okapi', ust: 0, hwt: 0, writes: [], seen } as never;
    expect(await codeOf(client([node], { session }))).toBe('TOKEN_INVALID');
  });

  it.each([
    ['of the wrong type', { type: 'pong' }],
    ['with another number of values', { type: 'got', values: [], seen: [], ust: 0 }],
    ['that has seen no timestamps', { type: 'got', values: [null], seen: [-1], ust: 0 }],
    ['without stable time', { type: 'got', values: [null], seen: [] }],
    ['with damaged dependencies', { type: 'got', values: [null], seen: [], ust: 0, depends: [7] }],
  ])('a session of single operations takes an answer %s for a damaged frame', async (_what, answer) => {
    const node = await server(new FakeStore(), OKAPI);
    const app = await client([node], { requestTimeoutMs: 300 });
    node.script = (frame) => (frame.type === 'get' ? ({ id: frame.id, ...answer } as never) : undefined);
    expect(await codeOf(app.get('a'))).toBe('FRAME_INVALID');
  });
});

describe('what single operations cannot do', () => {
  it('transactions, snapshots and listings are refused before anything is sent under protocols of single operations', async () => {
    const node = await server(new FakeStore(), OKAPI);
    const app = await client([node]);
    for (const attempt of [
      () => app.transaction((tx) => tx.set('a', 1)),
      () => app.update('a', { b: 1 }),
      () => app.snapshot({ at: 1 }),
      () => app.list().page(),
      () => app.transactionStatus('abcdefghijklmnopqrstuv.0'),
    ]) {
      await expect(attempt()).rejects.toMatchObject({
        code: 'NOT_SUPPORTED_BY_PROTOCOL',
        message: expect.stringContaining('okapi'),
      });
    }
    expect(asked(node)).toEqual([]);
  });

  it('more than one key at a time is refused where there are no read-only transactions', async () => {
    const node = await server(new FakeStore(), { protocol: 'eventual', capabilities: ['operations', 'stable'] });
    const app = await client([node]);
    expect(await codeOf(app.getMany(['a', 'b']))).toBe('NOT_SUPPORTED_BY_PROTOCOL');
    expect(await app.getMany(['a'])).toEqual([undefined]);
    expect(await app.getMany([])).toEqual([]);
  });
});

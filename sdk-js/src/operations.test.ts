/** The client of protocols of single operations. */
import { client, closeAll, clusterOf, codeOf, deferred, refusal, server } from '../testing/harness.js';
import type { MemoryServer } from '../testing/memory-server.js';

afterEach(closeAll);

const okapi = () => clusterOf({ protocol: 'okapi', held: false });

/** Types of the received frames, without those of every connection. */
const asked = ({ frames }: MemoryServer) =>
  frames.map(({ type }) => type).filter((type) => type !== 'hello' && type !== 'ping');

describe('a session of single operations', () => {
  it('a session of single operations does one at a time, in the order of the calls, and sends its state with each', async () => {
    const cluster = okapi();
    const node = await server(cluster);
    const app = await client([node]);
    const sentAfter = cluster.ust;
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
    const [one, two] = node.answers('written').map(({ seen }) => seen);
    const [, rot] = node.answers('got').map(({ seen }) => seen);
    expect(one).not.toEqual(two);
    expect(node.received('put')).toMatchObject([
      { key: 'default/a', value: '1', seen: [], ...here, sentAfter, attemptRegions: ['virginia'] },
      { key: 'default/a', value: null, seen: rot, ...here },
    ]);
    expect(node.received('get')).toMatchObject([
      { key: 'default/a', seen: one, ...here },
      { seen: two, ...here },
    ]);
    expect(app.status.pendingCommits).toBe(0);
  });

  it('a session of single operations repeats a write under its id until its outcome is known', async () => {
    const node = await server(okapi());
    const app = await client([node]);
    let sendings = 0;
    node.script = (frame) => {
      if (frame.type !== 'put') return undefined;
      sendings++;
      if (sendings === 1) return 'apply-and-close';
      return sendings === 2 ? refusal(frame.id, 'OUTCOME_PENDING', true) : undefined;
    };
    const { timestamp, txId } = await app.set('a', 1);
    expect([...node.cluster.outcomes]).toEqual([[txId, timestamp]]);
    const { id: _id, ...first } = node.received('put')[0]!;
    for (const { id: _again, ...frame } of node.received('put')) expect(frame).toEqual(first);
    expect(sendings).toBe(3);
  });

  it('a write that was durably given up begins anew, as another attempt under the same id', async () => {
    const node = await server(okapi());
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
    const cluster = okapi();
    const west = await server(cluster, { region: 'oregon' });
    const east = await server(cluster, { regions: [{ id: 'oregon', endpoints: [west.url] }] });
    const app = await client([east]);
    east.script = (frame) => (frame.type === 'put' ? refusal(frame.id, 'SNAPSHOT_UNAVAILABLE', true) : undefined);
    await app.set('a', 1);
    // It has had no effect there: this is its first attempt.
    expect(west.received('put')).toMatchObject([{ attemptRegions: ['oregon'] }]);
  });

  it('a write ends with OUTCOME_UNKNOWN while the client resolves it, and later operations wait', async () => {
    const node = await server(okapi());
    const app = await client([node], { requestTimeoutMs: 100, commitTimeoutMs: 150 });
    node.script = (frame) => (frame.type === 'put' ? 'drop' : undefined);
    expect(await codeOf(app.set('a', 1))).toBe('OUTCOME_UNKNOWN');
    expect(await codeOf(app.get('a'))).toBe('SESSION_BLOCKED');
    node.script = () => undefined;
    await node.until(() => node.cluster.outcomes.size === 1);
    expect(await app.get('a')).toBe(1);
  });

  it('a session of single operations goes on in another region with what it has seen in the first', async () => {
    const cluster = okapi();
    const west = await server(cluster, { region: 'oregon' });
    const east = await server(cluster, { regions: [{ id: 'oregon', endpoints: [west.url] }] });
    const app = await client([east]);
    await app.set('a', 1);
    await east.close();
    expect(await app.get('a')).toBe(1);
    await app.set('a', 2);
    expect(west.received('get')).toMatchObject([{ seen: east.answers('written')[0]!.seen, region: 'virginia' }]);
    const { seen } = west.answers('got')[0]!;
    expect(west.received('put')).toMatchObject([{ seen, region: 'oregon', attemptRegions: ['oregon'] }]);
  });

  it('a read is sent again where the session has moved to, under way or not', async () => {
    const cluster = okapi();
    const west = await server(cluster, { region: 'oregon' });
    const east = await server(cluster, { regions: [{ id: 'oregon', endpoints: [west.url] }] });
    const app = await client([east]);
    cluster.seed('default/a', 1);
    east.script = (frame) => (frame.type === 'get' ? 'drop' : undefined);
    const reading = app.get('a');
    await east.until(() => east.received('get').length === 1);
    await east.close();
    expect(await reading).toBe(1);
    expect(app.status.region).toBe('oregon');
  });

  it('a session of single operations goes on when a read is cancelled', async () => {
    const node = await server(okapi());
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
    const cluster = okapi();
    const [east, west] = [await server(cluster), await server(cluster, { region: 'oregon' })];
    const app = await client([east]);
    await app.set('a', 1);
    const exported = app.session.export();
    expect(exported).toMatchObject({ protocol: 'okapi', hwt: 0, writes: [] });
    const { seen } = east.answers('written')[0]!;
    expect(exported.seen).toEqual({ seen, region: 'virginia' });
    const there = await client([west], { session: JSON.stringify(exported) });
    await there.get('a');
    expect(west.received('get')).toMatchObject([{ seen, region: 'virginia' }]);
  });

  it('a session of single operations goes on from a token, as the node reads it', async () => {
    const cluster = okapi();
    const [node, west] = [await server(cluster), await server(cluster, { region: 'oregon' })];
    const first = await client([west]);
    await first.set('a', 1);
    const app = await client([node], { token: first.session.token });
    await app.get('a');
    const { seen } = west.answers('written')[0]!;
    expect(node.received('get')).toMatchObject([{ seen, region: 'oregon' }]);
  });

  it.each([
    ['a session of this protocol without it', undefined],
    ['no object', 7],
    ['no list', { seen: 7, region: 'virginia' }],
    ['no region', { seen: [] }],
    ['damaged dependencies', { seen: [], region: 'virginia', depends: [{ key: 'a' }] }],
  ])('a session of single operations does not go on from %s', async (_what, seen) => {
    const node = await server(okapi());
    const exported = (await client([node])).session.export();
    const session = { ...exported, seen } as never;
    expect(await codeOf(client([node], { session }))).toBe('TOKEN_INVALID');
  });

  it.each([
    ['of the wrong type', { type: 'pong' }],
    ['with another number of values', { type: 'got', values: [], seen: [], ust: 0 }],
    ['that has seen no timestamps', { type: 'got', values: [null], seen: [-1], ust: 0 }],
    ['without stable time', { type: 'got', values: [null], seen: [] }],
    ['with damaged dependencies', { type: 'got', values: [null], seen: [], ust: 0, depends: [7] }],
  ])('a session of single operations takes an answer %s for a damaged frame', async (_what, answer) => {
    const node = await server(okapi());
    const app = await client([node], { requestTimeoutMs: 300 });
    node.script = (frame) => (frame.type === 'get' ? ({ id: frame.id, ...answer } as never) : undefined);
    expect(await codeOf(app.get('a'))).toBe('FRAME_INVALID');
  });
});

describe('what single operations cannot do', () => {
  it('transactions, snapshots and listings are refused before anything is sent under protocols of single operations', async () => {
    const node = await server(okapi());
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
    const node = await server(clusterOf({ protocol: 'orbe-cleaning' }));
    const app = await client([node]);
    expect(await codeOf(app.getMany(['a', 'b']))).toBe('NOT_SUPPORTED_BY_PROTOCOL');
    expect(await app.getMany(['a'])).toEqual([undefined]);
    expect(await app.getMany([])).toEqual([]);
  });
});

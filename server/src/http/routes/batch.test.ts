import { SessionNetwork, startApi, type TestApi } from '../../../testing/test-api.js';
import { TestCluster } from '../../../testing/test-cluster.js';

const KEYS = '/v1/keyspaces/default/keys';
const refs = (...keys: string[]) => keys.map((key) => ({ keyspace: 'default', key }));
const session = (answer: { headers: Record<string, unknown> }) => ({
  'isochron-session': String(answer.headers['isochron-session']),
});
let network: SessionNetwork;
let cluster: TestCluster;
let api: TestApi;

beforeEach(async () => {
  network = new SessionNetwork();
  cluster = new TestCluster();
  api = await startApi({ cluster, network });
});
afterEach(() => api.close());

describe('POST /v1/read', () => {
  it('POST /v1/read answers in the order of the keys, in one snapshot, documents as they were written', async () => {
    const a = cluster.put('default/a', '{"x":1e+21}');
    const b = cluster.put('default/b', new Uint8Array([1, 2]));
    cluster.put('default/gone', null);
    cluster.stabilise();
    const answer = await api.call('POST', '/v1/read', { body: { keys: refs('b', 'none', 'a', 'gone') } });
    expect(answer.text).toBe(
      `{"snapshot":${cluster.ust},"values":[{"timestamp":${b},"bytes":"AQI="},null,{"timestamp":${a},"value":{"x":1e+21}},null]}`,
    );
    expect(answer.headers['isochron-snapshot']).toBe(String(cluster.ust));
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  });

  it('POST /v1/read of no keys has a snapshot and no values', async () => {
    cluster.put('default/a', '1');
    cluster.stabilise();
    const answer = await api.call('POST', '/v1/read', { body: { keys: [] } });
    expect(answer.text).toBe(`{"snapshot":${cluster.ust},"values":[]}`);
  });

  it('POST /v1/read lays the session’s own writes over the snapshot', async () => {
    cluster.put('default/a', '1');
    cluster.put('default/b', '1');
    cluster.stabilise();
    const body = {
      writes: [
        { ...refs('a')[0], value: 2 },
        { ...refs('b')[0], delete: true },
      ],
    };
    const wrote = await api.call('POST', '/v1/commit', { body });
    const answer = await api.call('POST', '/v1/read', { body: { keys: refs('a', 'b') }, headers: session(wrote) });
    expect(answer.json()).toMatchObject({ values: [{ value: 2, timestamp: wrote.json().timestamp }, null] });
  });

  it('POST /v1/read reads the past with at', async () => {
    cluster.stabilise();
    const at = cluster.ust;
    cluster.put('default/a', '1');
    cluster.stabilise();
    const answer = await api.call('POST', '/v1/read', { body: { keys: refs('a'), at } });
    expect(answer.json()).toEqual({ snapshot: at, values: [null] });
  });
});

describe('POST /v1/commit', () => {
  it('POST /v1/commit writes documents, bytes and deletions at one timestamp', async () => {
    const writes = [
      { keyspace: 'default', key: 'a', value: { x: [1, null, 'é'] } },
      { keyspace: 'default', key: 'n', value: null },
      { keyspace: 'eu', key: 'b', bytes: 'AQI=' },
      { keyspace: 'default', key: 'c', delete: true },
    ];
    const { timestamp: ts } = (await api.call('POST', '/v1/commit', { body: { writes } })).json();
    expect(Object.fromEntries(cluster.stored())).toEqual({
      'default/a': [expect.objectContaining({ ts, value: '{"x":[1,null,"é"]}' })],
      'default/n': [expect.objectContaining({ ts, value: 'null' })],
      'eu/b': [expect.objectContaining({ ts, value: new Uint8Array([1, 2]) })],
      'default/c': [expect.objectContaining({ ts, value: null })],
    });
  });
});

describe('a listing', () => {
  const list = async (query: string, headers: Record<string, string> = {}) => {
    const answer = await api.call('GET', `${KEYS}?${query}`, { headers });
    expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
    return answer.json() as { snapshot: number; entries: { key: string; value: unknown }[]; cursor: string | null };
  };
  const all = async (query: string, headers: Record<string, string> = {}) => {
    const keys: string[][] = [];
    let page = await list(query, headers);
    for (;;) {
      keys.push(page.entries.map(({ key }) => key));
      if (page.cursor === null) return keys;
      page = await list(`cursor=${page.cursor}&limit=2`, headers);
    }
  };

  it('a listing of at most no entries, and one that starts behind all keys, are empty and have no cursor', async () => {
    cluster.put('default/a', '1');
    cluster.stabilise();
    for (const query of ['limit=0', 'start=b', 'prefix=a&start=b']) {
      const { status, text } = await api.call('GET', `${KEYS}?${query}`);
      expect([query, status, JSON.parse(text)]).toMatchObject([query, 200, { entries: [] }]);
      expect(JSON.parse(text).cursor ?? null).toBeNull();
    }
  });

  it('a listing is in order, under the prefix, from the start on', async () => {
    for (const key of ['b/2', 'a', 'b/1', 'b/10', 'c', 'é', '日']) cluster.put(`default/${key}`, '1');
    cluster.stabilise();
    expect(await all('limit=2')).toEqual([['a', 'b/1'], ['b/10', 'b/2'], ['c', 'é'], ['日']]);
    expect(await all('prefix=b/')).toEqual([['b/1', 'b/10', 'b/2']]);
    expect(await all('prefix=b/&start=b/10')).toEqual([['b/10', 'b/2']]);
    expect(await all('start=c&limit=1')).toEqual([['c'], ['é', '日']]);
  });

  it('a listing stays in the snapshot of its first page', async () => {
    for (const key of ['a', 'b', 'c']) cluster.put(`default/${key}`, '1');
    cluster.stabilise();
    const first = await list('limit=1');
    cluster.put('default/aa', '1');
    cluster.put('default/c', null);
    cluster.stabilise();
    const second = await list(`cursor=${first.cursor}`);
    expect(second.entries.map(({ key }) => key)).toEqual(['b', 'c']);
    expect(second.snapshot).toBe(first.snapshot);
  });

  it('a listing shows own writes on every page, also when they became stable meanwhile', async () => {
    for (const key of ['b', 'd', 'f', 'h']) cluster.put(`default/${key}`, '1');
    cluster.stabilise();
    const value = 1;
    const writes = [...refs('a', 'e', 'z').map((ref) => ({ ...ref, value })), { ...refs('h')[0], delete: true }];
    const wrote = await api.call('POST', '/v1/commit', { body: { writes } });
    expect((await all('limit=2', session(wrote))).flat()).toEqual(['a', 'b', 'd', 'e', 'f', 'z']);
    const first = await list('limit=2', session(wrote));
    cluster.stabilise();
    const second = await list(`cursor=${first.cursor}&limit=10`, session(wrote));
    expect([...first.entries, ...second.entries].map(({ key }) => key)).toEqual(['a', 'b', 'd', 'e', 'f', 'z']);
  });

  it('a listing reports when its own writes are kept on another node', async () => {
    for (const key of ['a', 'b']) cluster.put(`default/${key}`, '1');
    cluster.stabilise();
    const wrote = await api.call('PUT', `${KEYS}/z`, { body: {} });
    const { cursor } = await list('limit=1', session(wrote));
    const other = await startApi({ cluster, network, id: 'virginia-2' });
    const answer = await other.call('GET', `${KEYS}?cursor=${cursor}`, { headers: session(wrote) });
    await other.close();
    expect(answer.json()).toMatchObject({ code: 'CURSOR_INVALID' });
  });
});

describe('an interactive transaction', () => {
  let second: TestApi;
  beforeEach(async () => {
    second = await startApi({ cluster, network, id: 'virginia-2' });
  });
  afterEach(() => second.close());

  const start = async (headers: Record<string, string> = {}) => {
    const answer = await api.call('POST', '/v1/transactions', { headers });
    expect(answer.status).toBe(201);
    return { path: String(answer.headers.location), answer };
  };

  it('an interactive transaction reads one snapshot and commits the writes of its commit', async () => {
    cluster.put('default/a', '1');
    cluster.stabilise();
    const { path, answer } = await start();
    expect(answer.json()).toEqual({
      id: expect.stringMatching(/@virginia-1@[0-9a-z]+$/),
      snapshot: cluster.ust,
      expiresAt: new Date(api.node.now() + 30_000).toISOString(),
    });
    cluster.put('default/a', '2');
    cluster.stabilise();
    const seen = await api.call('POST', `${path}/read`, { body: { keys: refs('a') } });
    expect(seen.json()).toMatchObject({ values: [{ value: 1 }] });
    expect((await api.call('GET', path)).json()).toMatchObject({ status: 'open', timestamp: answer.json().snapshot });
    const done = await api.call('POST', `${path}/commit`, { body: { writes: [{ ...refs('a')[0], value: 3 }] } });
    expect(api.node.calls.at(-1)?.request).toMatchObject({
      snapshot: null,
      sentAfter: answer.json().snapshot,
      attemptRegions: ['virginia'],
    });
    expect((await api.call('GET', path)).json()).toMatchObject({
      status: 'committed',
      timestamp: done.json().timestamp,
    });
    const txId = String(done.json().transaction);
    expect((await api.call('GET', `/v1/transactions/${txId}`)).json()).toMatchObject({ id: txId, status: 'committed' });
  });

  it('an interactive transaction is served by any node of the region, own earlier writes included', async () => {
    const wrote = await api.call('PUT', `${KEYS}/a`, { body: { mine: true } });
    const { path } = await start(session(wrote));
    cluster.stabilise();
    for (const node of [second, api]) {
      const seen = await node.call('POST', `${path}/read`, { body: { keys: refs('a', 'b') } });
      expect(seen.json()).toMatchObject({ values: [{ value: { mine: true } }, null] });
    }
    expect(second.node.calls.at(-1)).toMatchObject({ request: { type: 'ReadReq' }, coordinator: 'virginia-1' });
    const done = await second.call('POST', `${path}/commit`, { body: { writes: [{ ...refs('a')[0], value: 2 }] } });
    expect(second.node.calls.at(-1)).toMatchObject({
      coordinator: 'virginia-1',
      request: { hwt: wrote.json().timestamp },
    });
    expect((await second.call('GET', `${KEYS}/a`, { headers: session(done) })).text).toBe('2');
  });

  it('an interactive transaction does not see writes of the session from after its start', async () => {
    const wrote = await api.call('PUT', `${KEYS}/a`, { body: '1', headers: { 'content-type': 'application/json' } });
    const { path } = await start(session(wrote));
    await api.call('PUT', `${KEYS}/a`, {
      body: '2',
      headers: { 'content-type': 'application/json', ...session(wrote) },
    });
    const seen = await api.call('POST', `${path}/read`, { body: { keys: refs('a') } });
    expect(seen.json()).toMatchObject({ values: [{ value: 1 }] });
  });

  it('the writes of an interactive transaction go to the session that opened it if the commit names none', async () => {
    const wrote = await api.call('PUT', `${KEYS}/a`, { body: {} });
    const { path } = await start(session(wrote));
    const done = await api.call('POST', `${path}/commit`, { body: { writes: [{ ...refs('b')[0], value: 1 }] } });
    expect((await api.call('GET', `${KEYS}/a`, { headers: session(done) })).status).toBe(200);
    expect((await api.call('GET', `${KEYS}/b`, { headers: session(done) })).status).toBe(200);
  });

  it('an interactive transaction ends without a commit, and repeated requests to end it succeed', async () => {
    const { path } = await start();
    expect(await api.call('DELETE', path)).toMatchObject({ status: 204, text: '' });
    expect((await second.call('DELETE', path)).status).toBe(204);
    const seen = await api.call('POST', `${path}/read`, { body: { keys: refs('a') } });
    expect(seen.json()).toMatchObject({ code: 'TRANSACTION_FINISHED' });
  });

  it('an interactive transaction may be opened in the past', async () => {
    const at = cluster.ust;
    cluster.stabilise();
    const answer = await api.call('POST', '/v1/transactions', { body: { at } });
    expect(answer.json()).toMatchObject({ snapshot: at });
    const wrong = await api.call('POST', '/v1/transactions', { body: { when: at } });
    expect(wrong.json()).toMatchObject({ code: 'INVALID_REQUEST' });
  });
});

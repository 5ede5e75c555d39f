import { SessionClient } from '../../../testing/session-client.js';
import { SessionNetwork, startApi, type TestApi } from '../../../testing/test-api.js';
import { TestCluster } from '../../../testing/test-cluster.js';

const KEYS = '/v1/keyspaces/default/keys';
const TX_ID = 'abcdefghijklmnopqrstuv.0';
const refs = (...keys: string[]) => keys.map((key) => ({ keyspace: 'default', key }));
/** No test depends on these times: each step ends long before. */
const BOUNDS = { sessionsMs: 20_000, requestsMs: 20_000, stableMs: 20_000 };

let network: SessionNetwork;
let cluster: TestCluster;
let api: TestApi;
beforeEach(async () => {
  network = new SessionNetwork();
  cluster = new TestCluster();
  api = await startApi({ cluster, network });
});
afterEach(() => api.close());

async function greeted(target: TestApi): Promise<SessionClient> {
  const client = await SessionClient.open(target.url);
  await client.hello();
  return client;
}

describe('a node that drains', () => {
  it('a node that drains is not ready first, then sends sessions elsewhere and serves them meanwhile', async () => {
    const client = await greeted(api);
    const draining = api.app.drain(BOUNDS);
    const { reason, delayMs } = await client.next(({ type }) => type === 'goaway');
    expect([reason, delayMs]).toEqual([expect.any(String), expect.any(Number)]);
    expect((await api.call('GET', '/readyz')).json()).toMatchObject({ code: 'NOT_READY', status: 503 });
    expect((await api.call('GET', '/livez')).status).toBe(200);
    client.send({ type: 'start', id: 1, tx: TX_ID });
    client.send({ type: 'read', id: 2, tx: TX_ID, keys: ['default/a'] });
    expect(await client.answer(2)).toMatchObject({ type: 'values' });
    // Requests without sessions are served, too, as long as there are sessions.
    expect((await api.call('GET', `${KEYS}/a`)).status).toBe(404);
    client.close();
    await draining;
    expect((await api.call('GET', `${KEYS}/a`)).status).toBe(503);
  });

  it('a node that drains refuses new sessions, with a request to come back', async () => {
    const client = await greeted(api);
    const draining = api.app.drain(BOUNDS);
    const late = await SessionClient.open(api.url);
    expect(await late.hello()).toMatchObject({ type: 'error', code: 'NOT_READY', retryable: true });
    expect(await late.closed).toBe(1012);
    client.close();
    await draining;
  });

  it('a node that drains cuts off the sessions that stay beyond their time', async () => {
    const client = await greeted(api);
    const silent = await SessionClient.open(api.url);
    await api.app.drain({ ...BOUNDS, sessionsMs: 10 });
    expect(await client.closed).toBe(1012);
    expect(await silent.closed).toBe(1012);
    // A socket without a hello receives the reason, as a later one does.
    expect(silent.frames).toMatchObject([{ type: 'error', code: 'NOT_READY' }]);
  });

  it('a node that drains refuses new requests with 503 and Retry-After, and finishes the others', async () => {
    const { headers } = await api.call('POST', '/v1/transactions');
    const path = String(headers.location);
    await api.app.drain(BOUNDS);
    for (const [method, url, body] of [
      ['GET', `${KEYS}/a`, undefined],
      ['PUT', `${KEYS}/a`, {}],
      ['POST', '/v1/read', { keys: refs('a') }],
      ['POST', '/v1/transactions', undefined],
      ['GET', '/v1/stable?ts=1', undefined],
    ] as const) {
      const answer = await api.call(method, url, { body });
      expect(answer.json()).toMatchObject({ code: 'NOT_READY', retryable: true });
      const { 'retry-after': retryAfter, connection } = answer.headers;
      expect([answer.status, retryAfter, connection]).toEqual([503, '1', 'close']);
    }
    expect((await api.call('POST', `${path}/read`, { body: { keys: refs('a') } })).status).toBe(200);
    const done = await api.call('POST', `${path}/commit`, { body: { writes: [{ ...refs('a')[0], value: 1 }] } });
    expect(done.status).toBe(200);
    expect((await api.call('GET', path)).json()).toMatchObject({ status: 'committed' });
    expect((await api.call('GET', '/v1/cluster')).status).toBe(200);
    expect((await api.call('GET', '/v1/clock')).status).toBe(200);
  });

  it('a node that drains waits for requests that are being answered', async () => {
    let proceed: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      proceed = resolve;
    });
    const reading = new Promise<void>((begun) => {
      api.node.handlers.ReadReq = (request, done) => {
        begun();
        delete api.node.handlers.ReadReq;
        held.then(() => api.node.port.ask(request, done));
      };
    });
    const answer = api.call('GET', `${KEYS}/a`);
    await reading;
    let drained = false;
    const draining = api.app.drain(BOUNDS).then(() => {
      drained = true;
    });
    // New ones are refused while that one is still in progress.
    let late = await api.call('GET', `${KEYS}/b`);
    while (late.status !== 503) late = await api.call('GET', `${KEYS}/b`);
    expect(drained).toBe(false);
    proceed();
    expect((await answer).status).toBe(404);
    await draining;
  });

  it('a node that drains cuts off requests that take too long', async () => {
    const reading = new Promise<void>((begun) => {
      api.node.handlers.ReadReq = () => begun();
    });
    const answer = api.call('GET', `${KEYS}/a`);
    answer.catch(() => undefined);
    await reading;
    await api.app.drain({ ...BOUNDS, requestsMs: 10 });
    await expect(answer).rejects.toThrow('socket hang up');
  });

  it('a node that drains ends requests that wait for stable time: they are to wait elsewhere', async () => {
    const ts = cluster.put('default/a', '1');
    const client = await greeted(api);
    client.send({ type: 'stable', id: 1, ts, timeoutMs: 60_000 });
    client.send({ type: 'ping', id: 2 });
    await client.answer(2);
    const waiting = api.call('GET', `/v1/stable?ts=${ts}&timeout=60000`);
    // Its answer proves that the request before it was received.
    await api.call('GET', '/v1/clock');
    const draining = api.app.drain(BOUNDS);
    expect(await client.answer(1)).toMatchObject({ code: 'NOT_READY', retryable: true });
    client.close();
    expect((await waiting).json()).toMatchObject({ code: 'NOT_READY', status: 503 });
    await draining;
  });
});

describe('a node that is not ready yet', () => {
  it('a node that is not ready yet takes neither sessions nor requests', async () => {
    api.node.isReady = false;
    const client = await SessionClient.open(api.url);
    expect(await client.hello()).toMatchObject({ type: 'error', code: 'NOT_READY', retryable: true });
    const answer = await api.call('GET', `${KEYS}/a`);
    expect(answer.json()).toMatchObject({ code: 'NOT_READY' });
    api.node.isReady = true;
    expect((await api.call('GET', `${KEYS}/a`)).status).toBe(404);
  });
});

describe('the caches of HTTP sessions (D13)', () => {
  const tokenOf = (answer: { headers: Record<string, unknown> }) => ({
    'isochron-session': String(answer.headers['isochron-session']),
    prefer: 'wait=0',
  });
  let neighbour: TestApi;
  let abroad: TestApi;
  beforeEach(async () => {
    neighbour = await startApi({ cluster, network, id: 'virginia-2' });
    abroad = await startApi({ cluster, network, id: 'oregon-1' });
  });
  afterEach(() => Promise.all([neighbour.close(), abroad.close()]));

  it('the caches of HTTP sessions are not handed over once their writes are stable', async () => {
    const wrote = await api.call('PUT', `${KEYS}/a`, { body: { n: 1 } });
    const draining = api.app.drain(BOUNDS);
    const timer = setInterval(() => cluster.stabilise(), 5);
    await draining;
    clearInterval(timer);
    network.silent.add('virginia-1');
    expect((await abroad.call('GET', `${KEYS}/a`, { headers: tokenOf(wrote) })).text).toBe('{"n":1}');
    expect(neighbour.sessions.store.size).toBe(0);
  });

  it('the caches of HTTP sessions go to a node of the region while their writes are not stable', async () => {
    const wrote = await api.call('PUT', `${KEYS}/a`, { body: { n: 1 } });
    await api.app.drain({ ...BOUNDS, stableMs: 1 });
    network.silent.add('virginia-1');
    expect(neighbour.sessions.store.size).toBe(1);
    for (const target of [neighbour, abroad])
      expect((await target.call('GET', `${KEYS}/a`, { headers: tokenOf(wrote) })).text).toBe('{"n":1}');
    // The next write continues from the cache on that node.
    const more = await abroad.call('PUT', `${KEYS}/b`, { body: { n: 2 }, headers: tokenOf(wrote) });
    expect((await neighbour.call('GET', `${KEYS}/b`, { headers: tokenOf(more) })).text).toBe('{"n":2}');
  });

  it('the caches of HTTP sessions are found again by the node itself after its restart', async () => {
    const wrote = await api.call('PUT', `${KEYS}/a`, { body: { n: 1 } });
    await api.app.drain({ ...BOUNDS, stableMs: 1 });
    await api.close();
    api = await startApi({ cluster, network });
    expect((await api.call('GET', `${KEYS}/a`, { headers: tokenOf(wrote) })).text).toBe('{"n":1}');
  });

  it('the caches of HTTP sessions are handed over with the views of open transactions', async () => {
    const wrote = await api.call('PUT', `${KEYS}/a`, { body: { n: 1 } });
    const { headers } = await api.call('POST', '/v1/transactions', { headers: tokenOf(wrote) });
    await api.app.drain({ ...BOUNDS, stableMs: 1 });
    network.silent.add('virginia-1');
    cluster.loseTransactions();
    cluster.put('default/a', '"newer"');
    cluster.stabilise();
    for (const target of [neighbour, abroad]) {
      const seen = await target.call('POST', `${headers.location}/read`, { body: { keys: refs('a') } });
      expect(seen.json()).toMatchObject({ values: [{ value: { n: 1 } }] });
    }
  });

  it('caches of HTTP sessions that no node takes leave a gap, which is reported', async () => {
    const wrote = await api.call('PUT', `${KEYS}/a`, { body: { n: 1 } });
    for (const node of ['virginia-2', 'oregon-1']) network.silent.add(node);
    await api.app.drain({ ...BOUNDS, stableMs: 1 });
    network.silent.clear();
    network.silent.add('virginia-1');
    const answer = await neighbour.call('GET', `${KEYS}/a`, { headers: tokenOf(wrote) });
    expect(answer.json()).toMatchObject({ code: 'SESSION_GAP', retryable: true });
    cluster.stabilise();
    expect((await neighbour.call('GET', `${KEYS}/a`, { headers: tokenOf(wrote) })).text).toBe('{"n":1}');
  });
});

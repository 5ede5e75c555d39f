import { SessionClient } from '../testing/session-client.js';
import { startApi, type TestApi } from '../testing/test-api.js';

let api: TestApi;
afterEach(() => api.close());

/** A client that has sent its hello. */
async function greeted(): Promise<SessionClient> {
  const client = await SessionClient.open(api.url);
  expect(await client.hello()).toMatchObject({ type: 'welcome' });
  return client;
}

it('a session that sends more pings than allowed is ended, and one that sends fewer gets its answers', async () => {
  api = await startApi({ limits: { pingsPerSecond: 5 } });
  const [polite, flood] = [await greeted(), await greeted()];
  let pongs = 0;
  polite.socket.on('pong', () => pongs++);
  for (let i = 0; i < 5; i++) polite.socket.ping();
  for (let i = 0; i < 6; i++) flood.socket.ping();
  expect(await flood.closed).toBe(1006);
  while (pongs < 5) await new Promise((resolve) => setTimeout(resolve, 5));
  polite.close();
});

it('a session has a bounded number of open transactions, and room again for each that ends', async () => {
  api = await startApi({ limits: { openTransactions: 3, openTransactionsPerClient: 2 } });
  const client = await greeted();
  const tx = (i: number) => `${'a'.repeat(22)}.${i}`;
  for (const id of [1, 2, 3]) client.send({ type: 'start', id, tx: tx(id) });
  expect(await client.answer(2)).toMatchObject({ type: 'started' });
  expect(await client.answer(3)).toMatchObject({ type: 'error', code: 'OVERLOADED', retryable: true });
  const opened = await api.call('POST', '/v1/transactions');
  expect(opened.json()).toMatchObject({ code: 'OVERLOADED', status: 503 });
  client.send({ type: 'abort', id: 4, tx: tx(1) });
  expect(await client.answer(4)).toMatchObject({ type: 'aborted' });
  const path = String((await api.call('POST', '/v1/transactions')).headers.location);
  expect((await api.call('POST', '/v1/transactions')).status).toBe(503);
  expect((await api.call('DELETE', path)).status).toBe(204);
  expect((await api.call('POST', '/v1/transactions')).status).toBe(201);
  client.close();
});

it('requests that wait for stable time are limited', async () => {
  api = await startApi({ limits: { waits: 2, waitsPerClient: 2 } });
  const { timestamp } = (await api.call('PUT', '/v1/keyspaces/default/keys/a', { body: {} })).json();
  const client = await greeted();
  for (const id of [1, 2, 3]) client.send({ type: 'stable', id, ts: timestamp, timeoutMs: 60_000 });
  expect(await client.answer(3)).toMatchObject({ type: 'error', code: 'OVERLOADED' });
  expect((await api.call('GET', `/v1/stable?ts=${timestamp}`)).json()).toMatchObject({ code: 'OVERLOADED' });
  const timer = setInterval(() => api.cluster.stabilise(), 5);
  expect(await client.answer(2)).toMatchObject({ type: 'stable' });
  expect((await api.call('GET', `/v1/stable?ts=${timestamp}`)).status).toBe(200);
  clearInterval(timer);
  client.close();
});

import { SessionClient } from '../../testing/session-client.js';
import { startApi, type TestApi } from '../../testing/test-api.js';

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

it('a session whose client has used most of its share is served in parts, in order, and others in between', async () => {
  api = await startApi({ apiKeys: ['greedy', 'quiet'], limits: { requestsPerSecondPerClient: 4000 } });
  const [greedy, quiet] = [await SessionClient.open(api.url), await SessionClient.open(api.url)];
  await greedy.hello({ credentials: 'greedy' });
  await quiet.hello({ credentials: 'quiet' });
  const order: string[] = [];
  greedy.socket.on('message', (data) => order.push(`greedy ${String(data).split('"type":"values"').length - 1}`));
  quiet.socket.on('message', () => order.push('quiet'));
  // Half of the second and a little more.
  const keys = Array.from({ length: 100 }, (_, i) => `default/${i}`);
  const frames = (first: number, count: number, read: readonly string[]) =>
    Array.from({ length: count }, (_, i) => ({ type: 'read', id: first + i, keys: read }));
  // No share comes back meanwhile, however slow the machine is.
  const now = api.node.steady();
  api.node.steady = () => now;
  greedy.sendRaw(JSON.stringify(frames(1, 25, keys)));
  await greedy.answer(25);
  greedy.sendRaw(JSON.stringify(frames(100, 128, ['default/a'])));
  greedy.sendRaw(JSON.stringify(frames(300, 128, ['default/a'])));
  quiet.send({ type: 'read', id: 1, keys: ['default/a'] });
  await quiet.answer(1);
  await greedy.answer(427);
  // The answers of one or two turns leave in a message.
  const sizes = order.slice(1).flatMap((one) => (one === 'quiet' ? [] : [Number(one.split(' ')[1])]));
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(256);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(64);
  expect(order.indexOf('quiet')).toBeLessThan(order.length - 1);
  greedy.close();
  quiet.close();
});

it('a session that goes on in spite of its refusals is read from slowly, and other clients are served at once', async () => {
  api = await startApi({
    apiKeys: ['greedy', 'quiet'],
    limits: { requestsPerSecondPerClient: 50, refusalsPerSecondPerClient: 100 },
  });
  const flood = await SessionClient.open(api.url);
  await flood.hello({ credentials: 'greedy' });
  const quiet = await SessionClient.open(api.url);
  await quiet.hello({ credentials: 'quiet' });
  const frames = (first: number) =>
    Array.from({ length: 256 }, (_, i) => ({ type: 'read', id: first + i, keys: ['default/a'] }));
  for (let i = 0; i < 4; i++) flood.sendRaw(JSON.stringify(frames(1 + 256 * i)));
  for (let id = 1; id <= 20; id++) {
    quiet.send({ type: 'read', id, keys: ['default/a'] });
    expect(await quiet.answer(id)).toMatchObject({ type: 'values' });
  }
  expect(await flood.answer(256)).toMatchObject({ code: 'RATE_LIMITED', retryAfterMs: expect.any(Number) });
  const begun = performance.now();
  await flood.answer(256 * 4);
  expect(performance.now() - begun).toBeGreaterThan(400);
  flood.close();
  quiet.close();
});

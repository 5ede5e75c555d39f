import { SessionClient } from '../../testing/session-client.js';
import { startApi, type TestApi } from '../../testing/test-api.js';

let api: TestApi;
afterEach(() => api.close());

it('connections without a hello are limited, and make room when they have sent a hello or ended', async () => {
  api = await startApi({ limits: { strangers: 2, strangersPerAddress: 2, strangerBytes: 10_000 } });
  const [first, second] = [await SessionClient.open(api.url), await SessionClient.open(api.url)];
  expect(await (await SessionClient.open(api.url)).closed).toBe(1013);
  expect(await first.hello()).toMatchObject({ type: 'welcome' });
  const third = await SessionClient.open(api.url);
  expect(await third.hello()).toMatchObject({ type: 'welcome' });
  second.close();
  await second.closed;
  expect(await (await SessionClient.open(api.url)).hello()).toMatchObject({ type: 'welcome' });
});

it('connections of one address leave room for others', async () => {
  api = await startApi({ limits: { strangers: 100, strangersPerAddress: 1, strangerBytes: 10_000 } });
  const first = await SessionClient.open(api.url);
  expect(await (await SessionClient.open(api.url)).closed).toBe(1013);
  expect(await first.hello()).toMatchObject({ type: 'welcome' });
});

it('a connection that sends more than a hello before its hello is ended, and may send more afterwards', async () => {
  api = await startApi({ limits: { strangers: 2, strangersPerAddress: 2, strangerBytes: 10_000 } });
  const stranger = await SessionClient.open(api.url);
  stranger.sendRaw('x'.repeat(1_000_000));
  expect(await stranger.closed).toBe(1006);
  const known = await SessionClient.open(api.url);
  await known.hello();
  known.send({ type: 'read', id: 1, tx: null, keys: ['default/a'], padding: 'x'.repeat(50_000) });
  expect(await known.answer(1)).toBeDefined();
});

it.each(['heapBytes', 'rssBytes'])(
  'a node above %s answers OVERLOADED, and still reports that it is alive',
  async (limit) => {
    api = await startApi({ limits: { [limit]: 1 } });
    let answer = await api.call('GET', '/v1/clock');
    while (answer.status === 200) answer = await api.call('GET', '/v1/clock');
    expect(answer.json()).toMatchObject({ code: 'OVERLOADED', status: 503 });
    expect((await api.call('GET', '/livez')).status).toBe(200);
  },
);

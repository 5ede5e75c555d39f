import { SESSION_SUBPROTOCOLS } from '@isochron/wire/session-frames';
import { SessionClient } from '../../../testing/session-client.js';
import { startApi, type TestApi } from '../../../testing/test-api.js';
import { TestCluster, testConfig } from '../../../testing/test-cluster.js';
import { DEFAULT_SETTINGS } from '../../config/schema.js';
import { codecOf } from '../../ws/codec.js';

const KEYS = '/v1/keyspaces/default/keys';
const VALUE_BYTES = 1000;
/** The smallest limits that a cluster file may have: an answer holds 4,096 bytes of values. */
const limits = { ...DEFAULT_SETTINGS.limits, maxValueBytes: VALUE_BYTES + 2, maxRequestBytes: 1024 };
const config = { ...testConfig(), settings: { ...testConfig().settings, limits } };
const names = (count: number) => Array.from({ length: count }, (_, i) => `k${i}`);

let api: TestApi;
beforeEach(async () => {
  const cluster = new TestCluster(config);
  for (const name of names(10)) cluster.put(`default/${name}`, JSON.stringify('x'.repeat(VALUE_BYTES)));
  cluster.stabilise();
  api = await startApi({ cluster });
});
afterEach(() => api.close());

describe('an answer', () => {
  it('an answer over HTTP holds a bounded number of bytes of values', async () => {
    const read = (count: number) =>
      api.call('POST', '/v1/read', { body: { keys: names(count).map((key) => ({ keyspace: 'default', key })) } });
    expect((await read(4)).status).toBe(200);
    expect((await read(5)).json()).toMatchObject({ code: 'TOO_MANY_KEYS', status: 413 });
  });

  it.each(Object.values(SESSION_SUBPROTOCOLS))(
    'an answer over %s holds a bounded number of bytes of values',
    async (protocol) => {
      const client = await SessionClient.open(api.url, protocol);
      await client.hello();
      for (const [i, count] of [4, 5].entries())
        client.send({ type: 'read', id: i + 1, keys: names(count).map((name) => `default/${name}`) });
      expect(await client.answer(1)).toMatchObject({ type: 'values' });
      expect(await client.answer(2)).toMatchObject({ type: 'error', code: 'TOO_MANY_KEYS' });
      client.close();
    },
  );

  it('a page of a listing ends at the bound of its bytes, and the next page continues from there', async () => {
    const seen: string[] = [];
    let query = '?limit=100';
    for (;;) {
      const page = (await api.call('GET', `${KEYS}${query}`)).json() as { entries: { key: string }[]; cursor: string };
      expect(page.entries.length).toBeLessThanOrEqual(4);
      seen.push(...page.entries.map(({ key }) => key));
      if (page.cursor === null) break;
      query = `?cursor=${page.cursor}`;
    }
    expect(seen).toEqual(names(10));
    const client = await SessionClient.open(api.url);
    await client.hello();
    client.send({ type: 'list', id: 1, keyspace: 'default', limit: 100 });
    expect(await client.answer(1)).toMatchObject({ type: 'listed', next: 'k4' });
    client.close();
  });
});

describe('a client that does not read', () => {
  it('answers to a client that does not read wait unencoded, and all arrive when it reads', async () => {
    const big = await startApi();
    const value = JSON.stringify('x'.repeat(1_000_000));
    const names4 = names(4);
    for (const name of names4) big.cluster.put(`default/${name}`, value);
    big.cluster.stabilise();
    const encoded = jest.spyOn(codecOf(SESSION_SUBPROTOCOLS.json)!, 'values');
    const client = await SessionClient.open(big.url);
    await client.hello();
    client.socket.pause();
    const keys = names4.map((name) => `default/${name}`);
    const requests = Array.from({ length: 24 }, (_, i) => ({ type: 'read', id: i + 1, keys }));
    client.send(requests);
    while (big.node.calls.length < requests.length) await big.call('GET', '/livez');
    for (let i = 0; i < 10; i++) await big.call('GET', '/livez');
    // Only as much as the operating system buffers for the client: not 96 MB.
    expect(encoded.mock.calls.length).toBeLessThan(12);
    client.socket.resume();
    for (const { id } of requests) expect((await client.answer(id)).type).toBe('values');
    expect(encoded.mock.calls.length).toBe(requests.length);
    client.close();
    await big.close();
  });
});

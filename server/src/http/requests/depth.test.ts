import { SessionClient } from '../../../testing/session-client.js';
import { startApi, type TestApi } from '../../../testing/test-api.js';

const PATH = '/v1/keyspaces/default/keys/a';
const DEEPEST = '['.repeat(128) + ']'.repeat(128);
const TOO_DEEP = `[${DEEPEST}]`;
/** Not even closed: parsing it takes long. */
const ENDLESS = '['.repeat(500_000);

let api: TestApi;
beforeEach(async () => {
  api = await startApi();
});
afterEach(() => api.close());

const json = { 'content-type': 'application/json' };
const commitOf = (text: string): string => `{"writes":[{"keyspace":"default","key":"a","value":${text}}]}`;

/** Every way in which a document arrives over HTTP. */
const WAYS: readonly { way: string; send: (text: string) => Promise<{ status: number; json(): unknown }> }[] = [
  { way: 'PUT', send: (body) => api.call('PUT', PATH, { headers: json, body }) },
  { way: 'PATCH', send: (body) => api.call('PATCH', PATH, { headers: json, body }) },
  { way: 'commit', send: (text) => api.call('POST', '/v1/commit', { headers: json, body: commitOf(text) }) },
  {
    way: 'commit of an open transaction',
    send: async (text) => {
      const { id } = (await api.call('POST', '/v1/transactions')).json();
      return api.call('POST', `/v1/transactions/${id}/commit`, { headers: json, body: commitOf(text) });
    },
  },
];

it.each(WAYS)(
  'a document of 128 levels is taken by $way, a deeper one is refused before it is parsed',
  async ({ send }) => {
    expect((await send(DEEPEST)).status).toBe(200);
    const parse = jest.spyOn(JSON, 'parse');
    for (const text of [TOO_DEEP, ENDLESS]) {
      const answer = await send(text);
      const parsed = parse.mock.calls.filter(([source]) => source.includes(TOO_DEEP.slice(0, 129)));
      expect(parsed).toEqual([]);
      expect(answer.json()).toMatchObject({ code: 'VALUE_INVALID', detail: expect.stringContaining('128 levels') });
    }
    parse.mockRestore();
  },
);

it('a session refuses a deeper document, and closes on a message that is nested without end', async () => {
  const client = await SessionClient.open(api.url);
  await client.hello();
  const common = {
    type: 'commit',
    snapshot: api.node.ust(),
    hwt: 0,
    sentAfter: api.node.ust(),
    attemptRegions: ['virginia'],
  };
  const commit = (id: number, value: string) => {
    client.send({ ...common, id, tx: `abcdefghijklmnopqrstuv.${id}`, writes: [{ key: 'default/a', value }] });
    return client.answer(id);
  };
  expect(await commit(1, DEEPEST)).not.toMatchObject({ type: 'error' });
  expect(await commit(2, TOO_DEEP)).toMatchObject({ type: 'error', code: 'VALUE_INVALID' });
  client.sendRaw(ENDLESS);
  expect(await client.closed).toBe(4400);
});

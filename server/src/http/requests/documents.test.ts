/** Documents mean the same in every door of a node (F8, a document has one form). */
import { Update } from '@isochron/core';
import { SessionClient } from '../../../testing/session-client.js';
import { startApi, type TestApi } from '../../../testing/test-api.js';

const PATH = '/v1/keyspaces/default/keys/a';
const json = { 'content-type': 'application/json' };
const operations = { 'content-type': 'application/vnd.isochron.operations+json' };
const commitOf = (field: string): string => `{"writes":[{"keyspace":"default","key":"a",${field}}]}`;
const setOf = (text: string): string => `[{"op":"set","path":"/x","value":${text}}]`;

let api: TestApi;
beforeEach(async () => {
  api = await startApi();
});
afterEach(() => api.close());

interface Taken {
  readonly code?: string;
  readonly detail?: string;
}

const http = async (method: string, path: string, body: string, headers: object): Promise<Taken> =>
  (await api.call(method, path, { headers: { ...headers }, body })).json() as Taken;

async function overSession(value: unknown): Promise<Taken> {
  const client = await SessionClient.open(api.url);
  await client.hello();
  const now = api.node.ust();
  const order = { type: 'commit', id: 1, snapshot: now, hwt: 0, sentAfter: now, attemptRegions: ['virginia'] };
  client.send({ ...order, tx: 'abcdefghijklmnopqrstuv.1', writes: [{ key: 'default/a', value }] });
  const { code, detail } = (await client.answer(1)) as Taken;
  return { ...(code === undefined ? {} : { code }), ...(detail === undefined ? {} : { detail }) };
}

/** Every door: its way of sending a document, the place of the document in messages, and what is stored. */
const DOORS: readonly {
  readonly door: string;
  readonly send: (text: string) => Promise<Taken>;
  readonly place: string;
  readonly stored: (normal: string) => unknown;
}[] = [
  { door: 'PUT', send: (text) => http('PUT', PATH, text, json), place: 'document', stored: (normal) => normal },
  {
    door: 'PATCH with a merge patch',
    send: (text) => http('PATCH', PATH, text, json),
    place: 'document',
    stored: (normal) => new Update(`[{"op":"mergePatch","path":"","patch":${normal}}]`),
  },
  {
    door: 'PATCH with operations',
    send: (text) => http('PATCH', PATH, setOf(text), operations),
    place: 'operations/0/value',
    stored: (normal) => new Update(setOf(normal)),
  },
  {
    door: 'a claim',
    send: (text) => http('POST', `${PATH}/claim`, text, json),
    place: 'document',
    stored: (normal) => new Update(`[{"op":"init","value":${normal}}]`),
  },
  {
    door: 'a commit with a value',
    send: (text) => http('POST', '/v1/commit', commitOf(`"value":${text}`), json),
    place: 'body/writes/0/value',
    stored: (normal) => normal,
  },
  {
    door: 'a commit with operations',
    send: (text) => http('POST', '/v1/commit', commitOf(`"operations":${setOf(text)}`), json),
    place: 'body/writes/0/operations/0/value',
    stored: (normal) => new Update(setOf(normal)),
  },
  {
    door: 'the commit of an open transaction',
    send: async (text) => {
      const { id } = (await api.call('POST', '/v1/transactions')).json();
      return http('POST', `/v1/transactions/${id}/commit`, commitOf(`"value":${text}`), json);
    },
    place: 'body/writes/0/value',
    stored: (normal) => normal,
  },
  { door: 'a session', send: overSession, place: 'document', stored: (normal) => normal },
  {
    door: 'a session with operations',
    send: (text) => overSession({ operations: setOf(text) }),
    place: 'operations/0/value',
    stored: (normal) => new Update(setOf(normal)),
  },
];

const REFUSED = [
  ['{"owner":"ann","owner":"eve"}', '/owner'],
  ['{"n":[0,1e400]}', '/n/1'],
  ['{"id":9007199254740993}', '/id'],
  ['{"t":{"u":"\\ud800"}}', '/t/u'],
] as const;

describe.each(DOORS)('a document through $door', ({ send, place, stored }) => {
  it.each(REFUSED)('the document %s is refused with its place, and nothing is stored', async (text, pointer) => {
    const refusal = await send(text);
    expect(refusal).toMatchObject({ code: 'VALUE_INVALID' });
    expect(refusal.detail).toMatch(`${place}${pointer}: `);
    expect(api.cluster.stored().size).toBe(0);
  });

  it('a document is stored in its normal form', async () => {
    await send('{ "b" : 1.0,\n "a":"\\u0041\\/", "2":-0,\r"n":1E2 }');
    const [version] = api.cluster.stored().get('default/a') ?? [];
    expect(version?.value).toEqual(stored('{"2":0,"b":1,"a":"A/","n":100}'));
  });
});

it('a body that is no JSON is an invalid request, and one with a field twice names the field', async () => {
  expect(await http('POST', '/v1/read', '{"keys":', json)).toMatchObject({ code: 'INVALID_REQUEST' });
  const twice = await http('POST', '/v1/read', '{"keys":[],"keys":[]}', json);
  expect(twice).toMatchObject({ code: 'VALUE_INVALID', detail: expect.stringContaining('body/keys: ') });
});

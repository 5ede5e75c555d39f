/** What callers learn over each route of documents that access rules hide from them (AR1 to AR5). */
import { Policy, type Policy as Rules } from '@isochron/sessions';
import { startApi, type TestAnswer, type TestApi, type TestRequest } from '../../testing/test-api.js';
import { encodeChangesCursor } from './cursors/changes-cursor.js';

const HIDDEN = 'hidden-text';
const SECRET_KEY = '/v1/keyspaces/default/keys/secret%2F1';
const ABSENT_KEY = '/v1/keyspaces/default/keys/secret%2F2';

/** Everything below `open/` is allowed, and nothing else. */
const policy: Rules = new Policy(
  [{ name: 'open', match: 'default/open/{x=**}', allow: ['get', 'list', 'create', 'update', 'delete'] }],
  ['default'],
);

let api: TestApi;
let refusals: number;
let outcomes: number;
beforeEach(async () => {
  refusals = 0;
  api = await startApi({ access: { policy, refused: () => void refusals++ } });
  api.cluster.put('default/secret/1', JSON.stringify({ text: HIDDEN }));
  api.cluster.put('default/open/1', '{"text":"seen"}');
  api.cluster.stabilise();
  outcomes = api.cluster.outcomes.size;
});
afterEach(() => api.close());

type Ask = (key: string) => Promise<TestAnswer>;

const call =
  (method: string, path: (key: string) => string, request: (key: string) => TestRequest = () => ({})): Ask =>
  (key) =>
    api.call(method, path(key), request(key));

const keyPath = (key: string): string => `/v1/keyspaces/default/keys/${encodeURIComponent(key)}`;
const ref = (key: string) => ({ keyspace: 'default', key });

async function transaction(): Promise<string> {
  const { json } = await api.call('POST', '/v1/transactions');
  return String(json().transaction ?? json().id);
}

/** How each operation of the API that concerns documents asks for one. */
const ASKED: Readonly<Record<string, Ask>> = {
  getKey: call('GET', keyPath),
  putKey: call('PUT', keyPath, () => ({ body: { text: 'mine' } })),
  patchKey: call('PATCH', keyPath, () => ({
    body: '{"text":"mine"}',
    headers: { 'content-type': 'application/merge-patch+json' },
  })),
  deleteKey: call('DELETE', keyPath),
  claimKey: call(
    'POST',
    (key) => `${keyPath(key)}/claim`,
    () => ({ body: { text: 'mine' } }),
  ),
  read: call(
    'POST',
    () => '/v1/read',
    (key) => ({ body: { keys: [ref('open/1'), ref(key)] } }),
  ),
  commit: call(
    'POST',
    () => '/v1/commit',
    (key) => ({
      body: {
        writes: [
          { ...ref('open/2'), value: 1 },
          { ...ref(key), value: 1 },
        ],
      },
    }),
  ),
  listKeys: call('GET', (key) => `/v1/keyspaces/default/keys?prefix=${encodeURIComponent(`${key.split('/')[0]}/`)}`),
  getChanges: call('GET', (key) => {
    const scope = { keyspace: 'default', prefix: `${key.split('/')[0]}/` };
    const cursor = encodeChangesCursor(api.cluster.config.cluster, { ...scope, ts: 1 });
    return `/v1/changes?keyspace=default&prefix=${encodeURIComponent(scope.prefix)}&since=${cursor}&values=true&before=true`;
  }),
  readInTransaction: async (key) =>
    api.call('POST', `/v1/transactions/${await transaction()}/read`, { body: { keys: [ref(key)] } }),
  commitTransaction: async (key) =>
    api.call('POST', `/v1/transactions/${await transaction()}/commit`, {
      body: { writes: [{ ...ref(key), value: 1 }] },
    }),
};

/** Operations whose answers do not depend on any document. */
const WITHOUT_DOCUMENTS = [
  ...['isAlive', 'isReady', 'getClock', 'waitStable', 'getCluster', 'getLosses', 'acknowledgeLosses', 'drain'],
  'orderNodes',
  ...['startTransaction', 'endTransaction', 'getTransactionStatus'],
];

/** What of an answer does not differ from request to request. */
const outline = ({ status, text, headers }: TestAnswer) => ({
  status,
  text: text.replaceAll(/"(?:instance|transaction|detail)":"[^"]*"/g, '').replaceAll('secret/2', 'secret/1'),
  headers: Object.keys(headers).sort(),
});

describe('documents that access rules hide', () => {
  it('each operation of the API is one of those that these tests ask, or has no documents', async () => {
    const { paths } = (await api.call('GET', '/openapi.json')).json() as {
      paths: Record<string, Record<string, { operationId: string }>>;
    };
    const operations = Object.values(paths).flatMap((methods) =>
      Object.values(methods).map(({ operationId }) => operationId),
    );
    expect([...Object.keys(ASKED), ...WITHOUT_DOCUMENTS].sort()).toEqual(operations.sort());
  });

  it.each(Object.entries(ASKED))(
    '%s is refused for a hidden document, and shows nothing of it (AR1, AR2)',
    async (_, ask) => {
      const answer = await ask('secret/1');
      expect(answer.status).toBe(403);
      expect(answer.json()).toMatchObject({ code: 'PERMISSION_DENIED' });
      expect(answer.text).not.toContain(HIDDEN);
      expect(answer.headers.etag).toBeUndefined();
      expect(refusals).toBe(1);
      expect(api.cluster.outcomes.size).toBe(outcomes);
    },
  );

  it.each(Object.entries(ASKED))(
    '%s is answered alike whether a hidden document is there or not (AR5)',
    async (_, ask) => {
      expect(outline(await ask('secret/2'))).toEqual(outline(await ask('secret/1')));
    },
  );

  it.each(Object.entries(ASKED))('%s is served for a document that a rule allows', async (_, ask) => {
    // A claim is answered once it is stable.
    const timer = setInterval(() => api.cluster.stabilise(), 5);
    const { status } = await ask('open/1').finally(() => clearInterval(timer));
    expect(status).toBeLessThan(300);
  });

  it.each([
    ['GET', { 'if-none-match': '"0"' }],
    ['GET', { 'if-none-match': '*' }],
    ['HEAD', {}],
    ['HEAD', { 'if-none-match': '*' }],
  ])(
    'a conditional or bodiless %s of a hidden document is refused like that of an absent one: %j',
    async (method, headers) => {
      const [there, absent] = await Promise.all(
        [SECRET_KEY, ABSENT_KEY].map((path) => api.call(method, path, { headers })),
      );
      expect(there!.status).toBe(403);
      expect(outline(there!)).toEqual(outline(absent!));
    },
  );

  it('a hidden document is refused in a snapshot of the past, too', async () => {
    const answer = await api.call('GET', `${SECRET_KEY}?at=${api.cluster.ust}`);
    expect(answer.json()).toMatchObject({ code: 'PERMISSION_DENIED' });
  });
});

/** Writes over HTTP under access rules: no old snapshot permits them (AR8), and they see each other (AR9). */
import { Policy } from '@isochron/sessions';
import { startApi, type TestApi } from '../../../testing/test-api.js';

const policy = new Policy(
  [
    { name: 'make', match: 'default/albums/{album}', allow: ['create'], when: "incoming.by == 'me'" },
    { name: 'edit', match: 'default/albums/{album}', allow: ['get', 'update', 'delete'], when: "document.by == 'me'" },
    {
      name: 'add',
      match: 'default/photos/{album}/{photo}',
      allow: ['create'],
      when: "getAfter('default/albums/' + album).by == 'me'",
    },
  ],
  ['default'],
);
const MINE = { by: 'me' };
const keyPath = (key: string): string => `/v1/keyspaces/default/keys/${encodeURIComponent(key)}`;
const write = (key: string, value: unknown) => ({ keyspace: 'default', key, value });

let api: TestApi;
beforeEach(async () => {
  api = await startApi({ access: { policy, refused: () => {} } });
  api.cluster.put('default/other', '1');
  api.cluster.stabilise();
});
afterEach(() => api.close());

const commit = (...writes: object[]) => api.call('POST', '/v1/commit', { body: { writes } });

it('a transaction at a time before an album existed cannot create the album over it (AR8)', async () => {
  const before = api.cluster.ust;
  api.cluster.put('default/albums/7', '{"by":"ann"}');
  api.cluster.stabilise();
  const { json } = await api.call('POST', '/v1/transactions', { body: { at: before } });
  const id = String(json().transaction ?? json().id);
  const answer = await api.call('POST', `/v1/transactions/${id}/commit`, {
    body: { writes: [write('albums/7', MINE)] },
  });
  expect([answer.status, answer.json().code]).toEqual([403, 'PERMISSION_DENIED']);
});

it('a one-shot write, a batch, an update and a claim over a document that is not stable yet are refused (AR8)', async () => {
  api.cluster.put('default/albums/7', '{"by":"ann"}');
  const patch = { body: '{"by":"me"}', headers: { 'content-type': 'application/merge-patch+json' } };
  const answers = [
    await api.call('PUT', keyPath('albums/7'), { body: MINE }),
    await commit(write('albums/8', MINE), write('albums/7', MINE)),
    await api.call('PATCH', keyPath('albums/7'), patch),
    await api.call('POST', `${keyPath('albums/7')}/claim`, { body: MINE }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
});

it('what only the newest versions permit is answered with 503, to be repeated (AR8)', async () => {
  api.cluster.put('default/albums/7', '{"by":"me"}');
  const first = await api.call('PUT', keyPath('photos/7/1'), { body: {} });
  expect([first.status, first.json().code]).toEqual([503, 'SNAPSHOT_UNAVAILABLE']);
  api.cluster.stabilise();
  expect((await api.call('PUT', keyPath('photos/7/1'), { body: {} })).status).toBeLessThan(300);
});

it('an album and its photos are created at once, one-shot and in an open transaction (AR9)', async () => {
  expect((await commit(write('photos/7/1', {}))).status).toBe(403);
  const both = (album: string) => [write(`albums/${album}`, MINE), write(`photos/${album}/1`, {})];
  expect((await commit(...both('7'))).status).toBeLessThan(300);
  const { json } = await api.call('POST', '/v1/transactions');
  const id = String(json().transaction ?? json().id);
  const answer = await api.call('POST', `/v1/transactions/${id}/commit`, { body: { writes: both('8') } });
  expect(answer.status).toBeLessThan(300);
});

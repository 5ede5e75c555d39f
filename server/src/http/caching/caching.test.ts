import { startApi, type TestApi } from '../../../testing/test-api.js';

const KEYS = '/v1/keyspaces/default/keys';
const ORIGIN = 'http://localhost:3000';

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
  api.cluster.put('default/a', '1');
  api.cluster.stabilise();
});
afterAll(() => api.close());

const names = (vary: unknown): string[] => String(vary).split(', ').sort();

describe('caches', () => {
  it.each([
    ['GET', `${KEYS}/a`, undefined],
    ['GET', KEYS, undefined],
    ['POST', '/v1/read', { keys: [{ keyspace: 'default', key: 'a' }] }],
  ])(
    'caches keep the answers to %s %s apart by session and caller, and revalidate them',
    async (method, path, body) => {
      const { status, headers } = await api.call(method, path, { body });
      expect(status).toBe(200);
      expect(names(headers.vary)).toEqual(['Authorization', 'Isochron-Session']);
      expect(headers['cache-control']).toBe('private, no-cache');
    },
  );

  it('caches keep answers to pages of other origins apart as well', async () => {
    for (const path of [`${KEYS}/a`, KEYS]) {
      const { headers } = await api.call('GET', path, { headers: { origin: ORIGIN } });
      expect(names(headers.vary)).toEqual(['Authorization', 'Isochron-Session', 'Origin']);
      expect(headers['access-control-allow-origin']).toBe(ORIGIN);
      expect(headers['cache-control']).toBe('private, no-cache');
    }
  });

  it.each([
    ['GET', `${KEYS}/a`, undefined, 200],
    ['GET', KEYS, undefined, 200],
    ['PUT', `${KEYS}/b`, {}, 200],
    ['POST', '/v1/commit', { writes: [{ keyspace: 'default', key: 'b', value: 1 }] }, 200],
    ['POST', '/v1/transactions', undefined, 201],
  ])(
    'web pages get the answers of other callers to %s %s, and the headers of CORS',
    async (method, path, body, status) => {
      const [other, page] = [{}, { origin: ORIGIN }].map((headers) => api.call(method, path, { body, headers }));
      const [plain, shown] = [await other!, await page!];
      expect([plain.status, shown.status]).toEqual([status, status]);
      const added = Object.keys(shown.headers).filter((name) => !(name in plain.headers));
      expect(added.filter((name) => name !== 'vary')).toEqual([
        'access-control-allow-origin',
        'access-control-expose-headers',
      ]);
      expect(Object.keys(plain.headers).filter((name) => !(name in shown.headers))).toEqual([]);
      expect(shown.headers['content-type']).toBe(plain.headers['content-type']);
    },
  );

  it('caches receive the same headers with an answer 304', async () => {
    const { etag } = (await api.call('GET', `${KEYS}/a`)).headers;
    const answer = await api.call('GET', `${KEYS}/a`, { headers: { 'if-none-match': String(etag) } });
    expect(answer.status).toBe(304);
    expect(names(answer.headers.vary)).toEqual(['Authorization', 'Isochron-Session']);
    expect(answer.headers['cache-control']).toBe('private, no-cache');
  });

  it('caches keep no problem and no answer that changes by itself', async () => {
    for (const path of [`${KEYS}/none`, '/v1/none', '/v1/clock', '/v1/cluster', '/v1/losses'])
      expect([path, (await api.call('GET', path)).headers['cache-control']]).toEqual([path, 'no-store']);
  });
});

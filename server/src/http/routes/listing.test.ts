/** Lists of a caller that has a snapshot already: `known`. */
import { startApi, type TestApi } from '../../../testing/test-api.js';

const KEYS = '/v1/keyspaces/default/keys';
let api: TestApi;
beforeEach(async () => {
  api = await startApi();
});
afterEach(() => api.close());

interface Page {
  readonly entries: readonly object[];
  readonly cursor: string;
  readonly code?: string;
}
const listed = async (query: string): Promise<Page> => {
  const page: unknown = (await api.call('GET', `${KEYS}?${query}`)).json();
  return page as Page;
};

it('a document at or below "known" is listed without its value, on every page (LQ8)', async () => {
  const [a, b, c] = ['a', 'b', 'c'].map((key) => api.cluster.put(`default/${key}`, `"${key}"`));
  api.cluster.stabilise();
  const first = await listed(`known=${b}&limit=1`);
  expect(first).toMatchObject({ entries: [{ key: 'a', timestamp: a }], cursor: expect.any(String) });
  const rest = await listed(`known=${b}&cursor=${encodeURIComponent(first.cursor)}`);
  expect([first.entries[0], ...rest.entries]).toEqual([
    { key: 'a', timestamp: a },
    { key: 'b', timestamp: b },
    { key: 'c', timestamp: c, value: 'c' },
  ]);
});

it('an own write above "known" is listed with its value, also before it is stable (LQ8)', async () => {
  const a = api.cluster.put('default/a', '"a"');
  api.cluster.stabilise();
  const body = { body: '"mine"', headers: { 'content-type': 'application/json' } };
  const written = await api.call('PUT', `${KEYS}/a`, body);
  const headers = { 'isochron-session': String(written.headers['isochron-session']) };
  const { entries } = (await api.call('GET', `${KEYS}?known=${a}`, { headers })).json();
  expect(entries).toMatchObject([{ key: 'a', value: 'mine' }]);
});

it('"known" that is no timestamp, or one of the future, is refused', async () => {
  const codes: unknown[] = [];
  for (const known of ['x', '-1', '1.5', String(api.node.ust() + 2 ** 45)])
    codes.push((await listed(`known=${known}`)).code);
  expect(codes).toEqual(['INVALID_REQUEST', 'INVALID_REQUEST', 'INVALID_REQUEST', 'TIMESTAMP_IN_FUTURE']);
});

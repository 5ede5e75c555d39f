import { startApi, type TestApi } from '../../../testing/test-api.js';

let api: TestApi;
beforeEach(async () => {
  api = await startApi();
});
afterEach(() => api.close());

const drain = async (body: unknown) => (await api.call('POST', '/v1/drain', { body })).json() as unknown;

describe('the drain of a node', () => {
  it('a node that has left is no member, and becomes one again when the drain ends', async () => {
    api.node.staying = undefined;
    expect(await drain({})).toEqual({ node: 'virginia-1', member: false, why: null });
    expect(await drain({ end: true })).toEqual({ node: 'virginia-1', member: true, why: 'returns' });
    expect(api.node.staying).toBe('returns');
  });

  it.each(['only-replica', 'another-leaves', 'late', 'no-members'] as const)(
    'a node that cannot leave stays a member, with the reason: %s',
    async (why) => {
      api.node.staying = why;
      expect(await drain({})).toEqual({ node: 'virginia-1', member: true, why });
    },
  );

  it.each([{ end: false }, { end: 1 }, [], null])(
    'a drain with a body that it does not know is refused: %j',
    async (body) => {
      expect(await drain(body)).toMatchObject({ status: 400, code: 'INVALID_REQUEST' });
    },
  );

  it('a drain needs the role of an operator', async () => {
    const closed = await startApi({ apiKeys: ['a key that is long enough'] });
    expect((await closed.call('POST', '/v1/drain', { body: {} })).status).toBe(401);
    await closed.close();
  });
});
